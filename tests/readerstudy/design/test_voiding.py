"""A case is left out with a reason, once; what that means depends on whether anybody saw a result."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEvent, User
from readerstudy.design.kernels.documents import VoidingRow
from readerstudy.design.voiding import import_voidings, void_case
from readerstudy.enums import StudyState
from readerstudy.study.permissions import StudyRefused
from tests.annotation.review.cases import NOON
from tests.readerstudy.studies import make_study

pytestmark = pytest.mark.django_db


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
