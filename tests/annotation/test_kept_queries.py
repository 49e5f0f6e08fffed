"""A query that became SQL once answers like the queryset that it was made of."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet

from annotation.kept_queries import KeptInsert, KeptQuery
from annotation.models import Assignment, Review, User
from tests.annotation.review.cases import NOON, assignments_of, make_round

pytestmark = pytest.mark.django_db


def cases(user: int, position: int) -> QuerySet[Assignment]:
    rows = Assignment.objects.select_related("round", "revision__question", "blind_answer")
    rows = rows.filter(reviewer=user, position__gte=position).annotate(next_position=F("position") + 1)
    return rows.order_by("position")


CASES = KeptQuery(cases, int, int)


@pytest.fixture
def assigned(rita: User) -> list[Assignment]:
    review_round = make_round(rita, n_questions=3)
    return assignments_of(rita, review_round)


def test_models_come_with_their_relations_and_annotations(rita: User, assigned: list[Assignment]) -> None:
    for first in (assigned[0].position, assigned[1].position, 99):
        wanted, found = list(cases(rita.pk, first)), CASES(rita.pk, first)
        assert [row.__dict__.keys() for row in found] == [row.__dict__.keys() for row in wanted]
        assert found == wanted
        assert [row.revision.options for row in found] == [row.revision.options for row in wanted]
        assert [row.revision.question.exam_id for row in found] == [row.revision.question.exam_id for row in wanted]
        assert [row.round.created_at for row in found] == [row.round.created_at for row in wanted]
    assert [row.next_position for row in CASES(rita.pk, 0)] == [row.position + 1 for row in assigned]  # type: ignore[attr-defined]
    assert not any(hasattr(row, "blind_answer") for row in CASES(rita.pk, 0))


def test_nobody_gets_the_rows_of_another_call(rita: User, assigned: list[Assignment]) -> None:
    assert CASES(rita.pk, 0) == assigned
    assert CASES(rita.pk + 1, 0) == []
    assert CASES(rita.pk, 0) == assigned


def test_values_come_as_tuples(rita: User, assigned: list[Assignment]) -> None:
    rows = KeptQuery(
        lambda name: Assignment.objects.filter(public_id=name).values_list("pk", "revision__options", "opened_at"), str
    )
    assert rows.first(assigned[1].public_id) == (assigned[1].pk, assigned[1].revision.options, None)
    assert rows.first("nobody's") is None


def test_a_value_that_the_query_leaves_out_is_refused() -> None:
    rows = KeptQuery(lambda user, state: Assignment.objects.filter(reviewer=user), int, str)
    with pytest.raises(ValueError, match="not among the parameters"):
        rows(1, "waiting")


@pytest.mark.django_db(transaction=True)
def test_a_row_is_locked_only_in_a_transaction(rita: User, assigned: list[Assignment]) -> None:
    rows = KeptQuery(lambda pk: Assignment.objects.filter(pk=pk).select_for_update(), int)
    with transaction.atomic():
        assert rows(assigned[0].pk) == [assigned[0]]
    with pytest.raises(transaction.TransactionManagementError, match="in a transaction"):
        rows(assigned[0].pk)


def test_a_row_is_inserted_as_saving_would(rita: User, assigned: list[Assignment]) -> None:
    def review(version: int) -> Review:
        return Review(
            assignment=assigned[0],
            version=version,
            grades={"clinical_quality": 4},
            flags=["key_wrong"],
            verdict="accept",
            comment="50 % of the “ribs”",
            submitted_at=NOON,
        )

    saved, kept = review(1), review(2)
    saved.save(force_insert=True)
    KeptInsert(Review)(kept)
    assert kept.pk != saved.pk
    assert not kept._state.adding
    as_saved, as_kept = Review.objects.filter(pk__in=[saved.pk, kept.pk]).order_by("version").values()
    assert as_kept == {**as_saved, "id": kept.pk, "version": 2}
    with pytest.raises(IntegrityError), transaction.atomic():
        KeptInsert(Review)(review(2))
