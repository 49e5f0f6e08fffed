"""Images that do not count for a question are not frozen, not missed, and change nothing that is frozen already; and
cases that are left out.
"""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from msgspec.structs import replace

from annotation.enums import ImageState
from annotation.models import AuditEvent, Image, QuestionBank, Revision, User
from annotation.questionbank.editing import current_revision, revise, wording_of
from readerstudy.design.checking import problems_of
from readerstudy.design.creating import create_study
from readerstudy.design.freezing import freeze_study
from readerstudy.design.kernels.documents import VoidingRow
from readerstudy.design.questions import candidates_of
from readerstudy.design.shown import hash_of, is_as_hashed, shown_as_frozen
from readerstudy.design.voiding import import_voidings, void_case
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, ShownImage
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.readerstudy.design.made import make_questions, plan_for, revision_of
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def bank() -> QuestionBank:
    return make_questions(3)


def names_of(bank: QuestionBank, number: int) -> list[str]:
    images = Image.objects.filter(exam__questions__bank=bank, exam__questions__number=number)
    return list(images.order_by("position").values_list("public_id", flat=True))


def leave_out(bank: QuestionBank, number: int, name: str, by: User) -> Revision:
    question = revision_of(bank, number).question
    wording = replace(wording_of(current_revision(question)), left_out=frozenset({name}))
    return revise(question, wording, "Of no use.", based_on=1, actor=by, at=NOON)


def frozen_names(study: ReaderStudy, number: int) -> list[str]:
    shown = ShownImage.objects.filter(case__study=study, case__number=number).order_by("position")
    return [one.image.public_id for one in shown]


def test_a_study_freezes_the_images_that_count(bank: QuestionBank, cora: User) -> None:
    pa, lateral = names_of(bank, 1)
    leave_out(bank, 1, pa, cora)
    study = freeze_study(create_study(plan_for(bank, 2), actor=None, at=NOON), actor=None, at=NOON)
    assert frozen_names(study, 1) == [lateral]
    assert frozen_names(study, 2) == names_of(bank, 2)
    cases = list(study.cases.select_related("revision").order_by("number"))
    shown = shown_as_frozen(cases)
    assert all(is_as_hashed(case, shown[case.pk]) for case in cases)


def test_a_study_that_is_frozen_stays_as_it_is(bank: QuestionBank, cora: User) -> None:
    study = freeze_study(create_study(plan_for(bank, 2), actor=None, at=NOON), actor=None, at=NOON)
    protocol = study.protocol
    case = study.cases.get(number=1)
    leave_out(bank, 1, names_of(bank, 1)[0], cora)
    assert frozen_names(study, 1) == names_of(bank, 1)
    assert hash_of(case, shown_as_frozen([case])[case.pk]) == case.shown_sha256
    study.refresh_from_db()
    assert study.protocol == protocol
    client = Client()
    client.force_login(cora)
    page = client.get(reverse("study", args=[study.slug])).content.decode()
    assert "newer" in page


def test_the_hash_where_all_images_count_is_what_it_was(bank: QuestionBank) -> None:
    """Null and an empty list both say that all count."""
    study = freeze_study(create_study(plan_for(bank, 2), actor=None, at=NOON), actor=None, at=NOON)
    Revision.objects.update(images_left_out=[])
    again = freeze_study(create_study(plan_for(bank, 2, name="Again"), actor=None, at=NOON), actor=None, at=NOON)
    hashes = [list(one.cases.order_by("number").values_list("shown_sha256", flat=True)) for one in (study, again)]
    assert hashes[0] == hashes[1]


def test_a_lost_image_that_does_not_count_is_not_missed(bank: QuestionBank, cora: User) -> None:
    pa, lateral = names_of(bank, 1)
    Image.objects.filter(public_id=lateral).update(state=ImageState.REMOVED)
    study = create_study(plan_for(bank, 2), actor=None, at=NOON)
    study.cases.update(n_lost=0)
    assert any("removed" in sentence for sentence in problems_of(study))
    assert [one.number for one in candidates_of(bank)] == [2, 3]
    leave_out(bank, 1, lateral, cora)
    assert [one.number for one in candidates_of(bank)] == [1, 2, 3]
    later = create_study(plan_for(bank, 2, name="Later"), actor=None, at=NOON)
    assert problems_of(later) == []
    Image.objects.filter(public_id=pa).update(state=ImageState.QUARANTINED)
    assert [one.number for one in candidates_of(bank)] == [2, 3]
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
