"""A query that became SQL once answers like the queryset that it was made of."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.models import F, QuerySet
from django.test.utils import CaptureQueriesContext

from annotation.models import Assignment, User
from annotation.site.sorted_tables import KeptQuery, KeptSQL
from tests.annotation.review.cases import assignments_of, make_round

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


def test_sql_by_hand_takes_its_values_in_order() -> None:
    halves = KeptSQL("SELECT '50 %% of it', CAST(%s AS INTEGER), CAST(%s AS VARCHAR(9))")
    assert halves(7, "it's") == [("50 % of it", 7, "it's")]
    assert halves(8, "%s $1 */") == [("50 % of it", 8, "%s $1 */")]


def test_a_query_without_values_can_be_kept(rita: User, assigned: list[Assignment]) -> None:
    assert KeptQuery(lambda: Assignment.objects.order_by("position"))() == assigned


def test_what_is_asked_can_be_read_whatever_the_database(rita: User, assigned: list[Assignment]) -> None:
    for _time in range(2):
        with CaptureQueriesContext(connection) as queries:
            CASES(rita.pk, 0)
        (asked,) = queries.captured_queries
        assert 'FROM "annotation_assignment"' in asked["sql"]


def _plans(told: str) -> list[tuple[str, int]]:
    """What this connection to PostgreSQL has prepared: the SQL and how often it was answered."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT statement, generic_plans + custom_plans FROM pg_prepared_statements WHERE statement LIKE %s",
            [f"%{told}%"],
        )
        return list(cursor.fetchall())


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL plans each time it is asked")
def test_postgresql_plans_once_for_each_connection(rita: User, assigned: list[Assignment]) -> None:
    name = assigned[2].public_id
    rows = KeptQuery(lambda name: Assignment.objects.filter(public_id=name, position__lt=4_711), str)
    for _time in range(3):
        assert rows(name) == [assigned[2]]
    ((sql, n_answers),) = _plans("4711")
    assert name not in sql
    assert n_answers == 3
    connection.close()
    assert _plans("4711") == []
    assert rows(name) == [assigned[2]]
    assert [n for _sql, n in _plans("4711")] == [1]


def test_a_statement_that_the_database_refuses_is_an_error_of_django(rita: User) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        KeptSQL("SELECT %s FROM no_such_table")(1)
    with transaction.atomic():
        transaction.set_rollback(True)
        with pytest.raises(transaction.TransactionManagementError):
            KeptSQL("SELECT CAST(%s AS INTEGER)")(1)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="only PostgreSQL has poolers")
def test_nothing_is_prepared_where_each_transaction_has_another_connection(
    rita: User, assigned: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = KeptQuery(lambda name: Assignment.objects.filter(public_id=name, position__lt=4_712), str)
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    assert rows(assigned[2].public_id) == [assigned[2]]
    assert _plans("4712") == []
