"""What the database is asked beyond plain queries: pages of a sorted table, queries kept compiled, advisory locks,
and a new look at tables that have grown.

Kept queries are for the few behind every key press of a reviewer; everywhere else a plain queryset is simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.paginator import Page, Paginator
from django.db import connection, models, transaction
from django.db.models import Case, Count, F, Model, OuterRef, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils.functional import cached_property
from django.utils.translation import gettext as _
from msgspec import Struct, json

from annotation.models.fields import AsRead
from annotation.site.internals import Compiled, compile_queryset, order_of, prepare

Row = TypeVar("Row", bound=Model)
if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator
One = TypeVar("One")
Columns = Mapping[str, str | AsRead | Case]  # by their names in the address
FEW = 1_000  # new rows that leave the plans of a table as they are
MOST_COUNTED = 10_000  # rows of a table as large as a bank
LEAST_ROWS = 30  # a shorter table offers no sorting


class Sorting(Struct, frozen=True):
    """A column, and from which end; no column: the order of the table itself."""

    column: str = ""
    is_down: bool = False

    def next(self, column: str) -> str:
        """What the head of a column asks for: a second press turns the order round."""
        return f"-{column}" if self.column == column and not self.is_down else column

    def aria(self, column: str) -> str:
        return ("descending" if self.is_down else "ascending") if self.column == column else ""

    def of_rows(self, rows: QuerySet[Row], columns: Columns) -> QuerySet[Row]:
        """Equal ones stay in the order that they have; what has no value comes last on both databases."""
        if not self.column:
            return rows
        by = columns[self.column]
        field = F(by) if isinstance(by, str) else by
        first = field.desc(nulls_last=True) if self.is_down else field.asc(nulls_last=True)
        return rows.order_by(first, *order_of(rows), "pk")


def asked_sorting(query: Mapping[str, str], columns: Mapping[str, Any]) -> Sorting:
    """What the query of an address asks for; nonsense is no column."""
    asked = query.get("sort", "")
    column = asked.removeprefix("-")
    return Sorting(column, asked.startswith("-")) if column in columns else Sorting()


@contextmanager
def along_indexes() -> Iterator[None]:
    """PostgreSQL reads no table from end to end meanwhile, whatever it guesses of how many rows will do, and joins by
    looking each row up: for what stops after some thousands.
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(), connection.cursor() as cursor:
        ways = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin")
        cursor.execute("; ".join(f"SET LOCAL {way} TO off" for way in ways))
        yield
        cursor.execute("; ".join(f"SET LOCAL {way} TO on" for way in ways))


class BoundedPaginator(_Paginator):
    """For tables as large as a bank: no more than MOST_COUNTED rows are counted, and paged through."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        with along_indexes():
            return self.object_list.order_by()[: MOST_COUNTED + 1].count()

    @property
    def is_more(self) -> bool:
        return self.count > MOST_COUNTED

    @property
    def shown(self) -> str:
        return _("more than %(n)s") % {"n": intcomma(MOST_COUNTED)} if self.is_more else str(intcomma(self.count))


def numbered_page(
    query: Mapping[str, str],
    rows: QuerySet[Row] | Sequence[One],
    per_page: int,
    paginator: type[Paginator[Any]] = Paginator,
) -> Page[Any]:
    """The page that an address asks for: ?page=2; nonsense shows the first or the last."""
    return paginator(rows, per_page).get_page(query.get("page"))


def sorted_page(
    query: Mapping[str, str],
    rows: QuerySet[Row],
    columns: Columns,
    per_page: int,
    paginator: type[Paginator[Any]] = Paginator,
) -> dict[str, Any]:
    """The page of a table that an address asks for, and its order, as templates know them."""
    sorting = asked_sorting(query, columns)
    return {"page": numbered_page(query, sorting.of_rows(rows, columns), per_page, paginator), "sorting": sorting}


class Listed(models.Aggregate):
    """All values of a column in one list: as rows of their own they take longer than their query."""

    function, arity, output_field = "JSON_GROUP_ARRAY", 1, models.TextField()
    convert_value = staticmethod(lambda text, *_: json.decode(text or "[]"))

    def as_postgresql(self, compiler: Any, connection: Any, **extra: Any) -> Any:
        return self.as_sql(compiler, connection, template="JSON_AGG(%(expressions)s)::text", **extra)


def counted(rows: QuerySet[Any], of: str, what: Count | None = None) -> Coalesce:
    """How many rows of another table belong to each: a join would be grouped by all columns, which takes far longer."""
    theirs = rows.filter(**{of: OuterRef("pk")}).order_by().values(of)
    return Coalesce(Subquery(theirs.annotate(n=what or Count("pk")).values("n")), 0)


def by_rank(field: str, values: list[str]) -> Case:
    """A field of words in the order of their meaning: easy, medium, hard."""
    return Case(*(When(**{field: value}, then=place) for place, value in enumerate(values) if value))


KeptRow = TypeVar("KeptRow")
Value = int | str
_MARKS: dict[type[Value], Callable[[int], Value]] = {
    int: lambda place: 2_047_203_000 + place,  # fits every integer column, but for the small ones
    str: lambda place: f"value {place} of a kept query",
}
_PREPARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # what each connection to PostgreSQL has prepared
_NUMBERS = count(1)


class _Slot(Struct, frozen=True):
    """A placeholder among the parameters of a statement, for one of the values that come with each call."""

    given: int


class KeptSQL:
    """SQL written by hand, or made once. PostgreSQL plans it once for each connection, SQLite keeps its own plans.

    Planning a join of eight tables takes PostgreSQL ten times as long as answering it. What is prepared is sent as a
    comment too, so that logs and tests see what is asked. Call it with the values of its parameters; rows come back.
    Nothing is prepared where a pooler gives each transaction another connection (``pool_mode=transaction``).
    """

    def __init__(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Without ``parameters`` each ``%s`` of the SQL takes one value, in order."""
        self._sql = sql
        self._parameters = [_Slot(n) for n in range(sql.count("%s"))] if parameters is None else list(parameters)
        self._name = f"kept_{next(_NUMBERS)}"
        self._execute = ""

    def __call__(self, *values: Value) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql" and not connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS"):
                self._prepare(values)
                cursor.execute(self._execute, values)
            else:
                cursor.execute(self._sql, [values[p.given] if isinstance(p, _Slot) else p for p in self._parameters])
            rows: list[tuple[Any, ...]] = cursor.fetchall()
        return rows

    def _prepare(self, values: Sequence[Value]) -> None:
        """On this connection, if it has not been done. A plan for any values is what look-ups by a key need."""
        prepared = _PREPARED.setdefault(connection.connection, set())
        if self._name in prepared:
            return
        from psycopg2.extensions import AsIs

        places = [AsIs(f"${p.given + 1}") if isinstance(p, _Slot) else p for p in self._parameters]
        sql = prepare(self._name, self._sql, places)
        prepared.add(self._name)
        marks = f"({', '.join('%s' for _ in values)})" if values else ""
        self._execute = f"EXECUTE {self._name} {marks} /* {sql.replace('%', '%%')} */"


class KeptQuery(Generic[KeptRow]):
    """Call it with the values of its parameters; the answer is a list of what the queryset would give.

    ``build`` makes the queryset from values of these types, once, so it must not look at them. It may return models,
    with ``select_related`` and annotations, or ``values_list``; prefetching is not done.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, KeptRow]], *types: type[Value]) -> None:
        self._build, self._types = build, types
        self._statements: dict[str, tuple[KeptSQL, Compiled]] = {}

    def __call__(self, *values: Value) -> list[KeptRow]:
        sql, compiled = self._statements.get(connection.vendor) or self._compile()
        if compiled.locks and connection.get_autocommit():
            raise transaction.TransactionManagementError("a row is locked in a transaction")
        return [compiled.read(row) for row in sql(*values)]

    def first(self, *values: Value) -> KeptRow | None:
        """The first row of the answer; a query for it should have a limit of one."""
        return next(iter(self(*values)), None)

    def _compile(self) -> tuple[KeptSQL, Compiled]:
        """Two threads may do this at the same time: both find the same."""
        marks = [_MARKS[kind](place) for place, kind in enumerate(self._types)]
        compiled = compile_queryset(self._build(*marks))
        places = [_Slot(marks.index(p)) if p in marks else p for p in compiled.parameters]
        if {p.given for p in places if isinstance(p, _Slot)} != set(range(len(marks))):
            raise ValueError("a value of the query is not among the parameters of its SQL")
        statement = self._statements[connection.vendor] = KeptSQL(compiled.sql, places), compiled
        return statement


class OneAtATime(IntEnum):
    """The numbers are known to PostgreSQL only, and to every process of the site."""

    LOG = 7_203_111  # writing to the audit log
    INGEST = 7_203_112  # storing images
    NAME = 7_203_113  # giving a bank, sample, round or study its name and address
    COUNT = 7_203_114  # counting requests, where no Redis does


def lock(what: OneAtATime) -> None:
    """Wait until no other transaction holds this lock, and hold it until this one ends.

    What is asked afterwards sees all that those before have stored.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [what.value])


def analyze(n: int, *written: type[models.Model]) -> None:
    """Called where ``n`` rows were written into these tables: once they are committed, the database counts them anew.

    PostgreSQL does so by itself after a minute at the soonest, and plans as for the tables before until then; SQLite
    never does. A sample of each table is looked at, however large it is.
    """
    if n < FEW:
        return
    tables = [connection.ops.quote_name(model._meta.db_table) for model in written]

    def count_anew() -> None:
        with connection.cursor() as cursor:
            if connection.vendor == "sqlite":
                cursor.execute("PRAGMA analysis_limit = 1000")
            for table in tables:
                cursor.execute(f"ANALYZE {table}")

    transaction.on_commit(count_anew)
