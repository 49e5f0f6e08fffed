"""A question that lost an image, or waits for one: listed with why, not drawn, and never frozen without a word."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import Image, QuestionBank, User
from readerstudy.conducting.lifecycle import open_study
from readerstudy.design.case_selection import draw_cases, list_cases
from readerstudy.design.checking import notes_of, problems_of
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.questions import candidates_of
from readerstudy.models import ReaderStudy, ShownImage
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.pages import markup
from tests.readerstudy.design.made import REASON, make_questions, plan_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> QuestionBank:
    return make_questions(4)


def lose_a_view(bank: QuestionBank, number: int, by: User) -> None:
    image = Image.objects.filter(exam__questions__bank=bank, exam__questions__number=number)[0]
    quarantine_image(image, reason="a name", actor=by, at=NOON)
    remove(Image.objects.get(pk=image.pk), reason="a name at the edge", actor=by, at=NOON)


def draft_of(bank: QuestionBank) -> ReaderStudy:
    return create_study(plan_for(bank, 1), actor=None, at=NOON)


def test_it_is_not_drawn_even_with_a_reason_for_what_is_not_reviewed(
    bank: QuestionBank, dina: User, cora: User
) -> None:
    lose_a_view(bank, 2, dina)
    held = Image.objects.filter(exam__questions__bank=bank, exam__questions__number=3)[0]
    quarantine_image(held, reason="a name?", actor=dina, at=NOON)
    assert [one.number for one in candidates_of(bank)] == [1, 4]
    study = draft_of(bank)
    with pytest.raises(StudyRefused):
        draw_cases(study, DrawRequest(n=3), actor=None, at=NOON, accepted_because=REASON)
    draw_cases(study, DrawRequest(n=2), actor=None, at=NOON, accepted_because=REASON)
    assert set(study.cases.values_list("revision__question__number", flat=True)) == {1, 4}
    client = Client()
    client.force_login(cora)
    page = markup(client.get(reverse("study-cases", args=[study.slug])))
    assert "2 questions of the bank are left out" in page, "the pool says what it leaves out, before drawing"


def test_it_can_be_listed_with_a_reason_that_the_checklist_repeats(bank: QuestionBank, dina: User, cora: User) -> None:
    lose_a_view(bank, 2, dina)
    study = draft_of(bank)
    list_cases(study, [1, 2], actor=None, at=NOON)
    why = "Images of these cases were removed: 2 (PA removed: a name at the edge)."
    assert any(why in sentence for sentence in problems_of(study))
    list_cases(study, [1, 2], actor=None, at=NOON, accepted_because="the lateral shows it")
    assert problems_of(study) == []
    assert any("2 (PA removed: a name at the edge)" in note for note in notes_of(study, at=NOON))
    open_study(freeze_study(study, actor=cora, at=NOON), actor=cora, at=NOON)
    shown = ShownImage.objects.filter(case__study=study, case__number=2)
    assert [bool(one.frozen["renditions"]) for one in shown] == [False, True]


def test_a_reason_that_was_given_before_an_image_went_does_not_cover_it(bank: QuestionBank, dina: User) -> None:
    study = create_study(plan_for(bank, 3), actor=None, at=NOON)
    assert problems_of(study) == []
    lose_a_view(bank, 2, dina)
    with pytest.raises(StudyRefused, match=r"removed: 2 \(PA removed: a name at the edge\)"):
        freeze_study(study, actor=None, at=NOON)


def test_a_study_without_its_images_is_not_frozen_but_for_readings_made_elsewhere(cora: User) -> None:
    study = create_study(plan_for(make_questions(3, pixels=False), 3), actor=None, at=NOON)
    client = Client()
    client.force_login(cora)
    page = client.get(reverse("study-freeze", args=[study.slug])).content.decode()
    assert "3 of 3 cases lack an image that may be shown (missing or not released): 1, 2, 3" in page
    assert "Nothing. The design can be frozen." not in page
    client.post(reverse("study-freeze", args=[study.slug]))
    assert ReaderStudy.objects.get().state == "draft"
    client.post(reverse("study-freeze", args=[study.slug]), {"read_elsewhere": "on"})
    frozen = ReaderStudy.objects.get()
    assert frozen.state == "frozen"
    assert '"read_elsewhere":true' in frozen.protocol
    with pytest.raises(StudyRefused, match="3 of 3 cases lack an image"):
        open_study(frozen, actor=cora, at=NOON)


def test_the_question_page_says_which_image_was_removed_and_why(bank: QuestionBank, dina: User, cora: User) -> None:
    lose_a_view(bank, 2, dina)
    client = Client()
    client.force_login(cora)
    page = markup(client.get(reverse("question", args=[bank.slug, 2])))
    assert "removed: <bdi>a name at the edge</bdi>" in page
