"""Queries that become SQL once. Building one from models costs several times what the database needs to answer it.

For the few queries behind every key press of a reviewer; everywhere else a plain queryset says the same more simply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from django.db import connection, models, transaction

from annotation.site.internals import Compiled, compile_queryset, prepare

Row = TypeVar("Row")
Value = int | str
_MARKS: dict[type[Value], Callable[[int], Value]] = {
    int: lambda place: 2_047_203_000 + place,  # fits every integer column, but for the small ones
    str: lambda place: f"value {place} of a kept query",
}
_PREPARED: WeakKeyDictionary[Any, set[str]] = WeakKeyDictionary()  # what each connection to PostgreSQL has prepared
_NUMBERS = count(1)


@dataclass(frozen=True)
class _Slot:
    """A placeholder among the parameters of a statement, for one of the values that come with each call."""

    given: int


class KeptSQL:
    """SQL written by hand, or made once. PostgreSQL plans it once for each connection, SQLite keeps its own plans.

    Planning a join of eight tables takes PostgreSQL ten times as long as answering it. What is prepared is sent as a
    comment too, so that logs and tests see what is asked. Call it with the values of its parameters; rows come back.
    """

    def __init__(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Without ``parameters`` each ``%s`` of the SQL takes one value, in order."""
        self._sql = sql
        self._parameters = [_Slot(n) for n in range(sql.count("%s"))] if parameters is None else list(parameters)
        self._name = f"kept_{next(_NUMBERS)}"
        self._execute = ""

    def __call__(self, *values: Value) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
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


class KeptQuery(Generic[Row]):
    """Call it with the values of its parameters; the answer is a list of what the queryset would give.

    ``build`` makes the queryset from values of these types, once, so it must not look at them. It may return models,
    with ``select_related`` and annotations, or ``values_list``; prefetching is not done.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Row]], *types: type[Value]) -> None:
        self._build, self._types = build, types
        self._statements: dict[str, tuple[KeptSQL, Compiled]] = {}

    def __call__(self, *values: Value) -> list[Row]:
        sql, compiled = self._statements.get(connection.vendor) or self._compile()
        if compiled.locks and connection.get_autocommit():
            raise transaction.TransactionManagementError("a row is locked in a transaction")
        return [compiled.read(row) for row in sql(*values)]

    def first(self, *values: Value) -> Row | None:
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
