"""Images that a question lost, or that do not count for it: listed, not drawn, never frozen without a word."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from msgspec.structs import replace

from annotation.enums import ImageState
from annotation.ingest.quarantine import quarantine_image, remove
from annotation.models import AuditEvent, Image, QuestionBank, Revision, User
from annotation.questionbank.editing import current_revision, revise, wording_of
from readerstudy.conducting.lifecycle import open_study
from readerstudy.design.case_selection import draw_cases, list_cases
from readerstudy.design.checking import notes_of, problems_of
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.documents import VoidingRow
from readerstudy.design.kernels.drawing import DrawRequest
from readerstudy.design.questions import candidates_of
from readerstudy.design.shown import hash_of, is_as_hashed, shown_as_frozen
from readerstudy.design.voiding import import_voidings, void_case
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, ShownImage
from readerstudy.study.permissions import StudyRefused
from tests.conftest import NOON
from tests.pages import markup
from tests.readerstudy.design.made import REASON, make_questions, plan_for, revision_of
from tests.readerstudy.studies import make_study

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


# --- images that do not count ----------------------------------------------------------------------
@pytest.fixture
def three() -> QuestionBank:
    return make_questions(3)


def names_of(three: QuestionBank, number: int) -> list[str]:
    images = Image.objects.filter(exam__questions__bank=three, exam__questions__number=number)
    return list(images.order_by("position").values_list("public_id", flat=True))


def leave_out(three: QuestionBank, number: int, name: str, by: User) -> Revision:
    question = revision_of(three, number).question
    wording = replace(wording_of(current_revision(question)), left_out=frozenset({name}))
    return revise(question, wording, "Of no use.", based_on=1, actor=by, at=NOON)


def frozen_names(study: ReaderStudy, number: int) -> list[str]:
    shown = ShownImage.objects.filter(case__study=study, case__number=number).order_by("position")
    return [one.image.public_id for one in shown]


def test_a_study_freezes_the_images_that_count(three: QuestionBank, cora: User) -> None:
    pa, lateral = names_of(three, 1)
    leave_out(three, 1, pa, cora)
    study = freeze_study(create_study(plan_for(three, 2), actor=None, at=NOON), actor=None, at=NOON)
    assert frozen_names(study, 1) == [lateral]
    assert frozen_names(study, 2) == names_of(three, 2)
    cases = list(study.cases.select_related("revision").order_by("number"))
    shown = shown_as_frozen(cases)
    assert all(is_as_hashed(case, shown[case.pk]) for case in cases)


def test_a_study_that_is_frozen_stays_as_it_is(three: QuestionBank, cora: User) -> None:
    study = freeze_study(create_study(plan_for(three, 2), actor=None, at=NOON), actor=None, at=NOON)
    protocol = study.protocol
    case = study.cases.get(number=1)
    leave_out(three, 1, names_of(three, 1)[0], cora)
    assert frozen_names(study, 1) == names_of(three, 1)
    assert hash_of(case, shown_as_frozen([case])[case.pk]) == case.shown_sha256
    study.refresh_from_db()
    assert study.protocol == protocol
    client = Client()
    client.force_login(cora)
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "newer" in page


def test_the_hash_where_all_images_count_is_what_it_was(three: QuestionBank) -> None:
    """Null and an empty list both say that all count."""
    study = freeze_study(create_study(plan_for(three, 2), actor=None, at=NOON), actor=None, at=NOON)
    Revision.objects.update(images_left_out=[])
    again = freeze_study(create_study(plan_for(three, 2, name="Again"), actor=None, at=NOON), actor=None, at=NOON)
    hashes = [list(one.cases.order_by("number").values_list("shown_sha256", flat=True)) for one in (study, again)]
    assert hashes[0] == hashes[1]


def test_a_lost_image_that_does_not_count_is_not_missed(three: QuestionBank, cora: User) -> None:
    pa, lateral = names_of(three, 1)
    Image.objects.filter(public_id=lateral).update(state=ImageState.REMOVED)
    study = create_study(plan_for(three, 2), actor=None, at=NOON)
    study.cases.update(n_lost=0)
    assert any("removed" in sentence for sentence in problems_of(study))
    assert [one.number for one in candidates_of(three)] == [2, 3]
    leave_out(three, 1, lateral, cora)
    assert [one.number for one in candidates_of(three)] == [1, 2, 3]
    later = create_study(plan_for(three, 2, name="Later"), actor=None, at=NOON)
    assert problems_of(later) == []
    Image.objects.filter(public_id=pa).update(state=ImageState.QUARANTINED)
    assert [one.number for one in candidates_of(three)] == [2, 3]
    assert any("an image that may be shown" in sentence for sentence in problems_of(later))


@pytest.mark.parametrize("unblinded", [False, True])
def test_a_voiding_says_whether_a_result_had_been_seen(unblinded: bool, cora: User) -> None:
    study = make_study(unblinded_at=NOON if unblinded else None)
    voiding = void_case(study.cases.get(number=1), " two options are right ", actor=cora, at=NOON)
    assert (voiding.reason, voiding.before_unblinding) == ("two options are right", not unblinded)
    event = AuditEvent.objects.get(act="study.case_voided")
    assert event.facts == {"case": 1, "reason": "two options are right", "before_unblinding": not unblinded}


def test_what_cannot_be_voided_says_why(cora: User) -> None:
    study = make_study(n_practice=1)
    case = study.cases.get(block="main", number=1)
    with pytest.raises(StudyRefused, match="Say why"):
        void_case(case, " ", actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="Practice cases"):
        void_case(study.cases.get(block="practice"), "wrong", actor=cora, at=NOON)
    void_case(case, "wrong", actor=cora, at=NOON)
    with pytest.raises(StudyRefused, match="voided already"):
        void_case(case, "very wrong", actor=cora, at=NOON)
    draft = make_study("Draft", state=StudyState.DRAFT)
    with pytest.raises(StudyRefused, match="take the case out"):
        void_case(draft.cases.get(number=1), "wrong", actor=cora, at=NOON)


@pytest.mark.parametrize("was_open", [True, False])
@pytest.mark.parametrize("was_seen", [True, False])
def test_voidings_from_a_file_count_as_before_only_while_blind(was_seen: bool, was_open: bool, cora: User) -> None:
    """Wherever the study was read."""
    seen_at, opened_at = NOON if was_seen else None, NOON if was_open else None
    study = make_study(state=StudyState.CLOSED, unblinded_at=seen_at, opened_at=opened_at)
    row = VoidingRow(2, "1", "error in the question")
    done = import_voidings(study, [row], source="voidings.csv", actor=cora, at=NOON)
    assert (done.n_stored, done.n_there) == (1, 0)
    assert study.cases.get(number=1).voiding.before_unblinding is not was_seen
    event = AuditEvent.objects.get(act="study.voidings_imported")
    assert event.facts["before_unblinding"] is not was_seen


def test_a_file_costs_the_same_however_many_rows_it_has(cora: User) -> None:
    def cost(n: int) -> int:
        study = make_study(n_cases=6, name=f"With {n}")
        rows = [VoidingRow(line + 1, str(line), "error in the question") for line in range(1, n + 1)]
        with CaptureQueriesContext(connection) as queries:
            import_voidings(study, rows, source="voidings.csv", actor=cora, at=NOON)
        return len(queries)

    assert cost(1) == cost(6)
