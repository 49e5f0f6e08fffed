"""Queries that become SQL once. Building one from models costs several times what the database needs to answer it.

For the few queries behind every key press of a reviewer; everywhere else a plain queryset says the same more simply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, models, transaction
from django.db.models.query import ModelIterable, get_related_populators

Row = TypeVar("Row")
Value = int | str
_MARKS: dict[type[Value], Callable[[int], Value]] = {
    int: lambda place: 2_047_203_000 + place,  # fits every integer column, but for the small ones
    str: lambda place: f"value {place} of a kept query",
}


@dataclass(frozen=True)
class _Statement:
    """The SQL for one kind of database, and how a row of its answer is read."""

    sql: str
    parameters: tuple[Any, ...]
    slots: tuple[tuple[int, int], ...]  # place among the parameters, place among the given values
    converters: list[tuple[int, tuple[list[Callable[..., Any]], Any]]]
    locks: bool
    make: Callable[[Sequence[Any]], Any]


class KeptQuery(Generic[Row]):
    """Call it with the values of its parameters; the answer is a list of what the queryset would give.

    ``build`` makes the queryset from values of these types, once, so it must not look at them. It may return models,
    with ``select_related`` and annotations, or ``values_list``; prefetching is not done.
    """

    def __init__(self, build: Callable[..., models.QuerySet[Any, Row]], *types: type[Value]) -> None:
        self._build, self._types = build, types
        self._statements: dict[str, _Statement] = {}

    def __call__(self, *values: Value) -> list[Row]:
        statement = self._statements.get(connection.vendor) or self._compile()
        if statement.locks and connection.get_autocommit():
            raise transaction.TransactionManagementError("a row is locked in a transaction")
        parameters = list(statement.parameters)
        for place, given in statement.slots:
            parameters[place] = values[given]
        with connection.cursor() as cursor:
            cursor.execute(statement.sql, parameters)
            rows = cursor.fetchall()
        return [statement.make(row) for row in _converted(rows, statement)]

    def first(self, *values: Value) -> Row | None:
        """The first row of the answer; a query that is asked this way should have a limit of one."""
        return next(iter(self(*values)), None)

    def _compile(self) -> _Statement:
        """Two threads may do this at the same time: both find the same."""
        marks = [_MARKS[kind](place) for place, kind in enumerate(self._types)]
        queryset = self._build(*marks)
        compiler = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, parameters = compiler.as_sql()
        slots = tuple((place, marks.index(p)) for place, p in enumerate(parameters) if p in marks)
        if {given for _place, given in slots} != set(range(len(marks))):
            raise ValueError("a value of the query is not among the parameters of its SQL")
        statement = self._statements[connection.vendor] = _Statement(
            sql=sql,
            parameters=tuple(parameters),
            slots=slots,
            converters=list(compiler.get_converters([column[0] for column in compiler.select]).items()),
            locks=bool(queryset.query.select_for_update),
            make=_model_maker(compiler) if queryset._iterable_class is ModelIterable else tuple,
        )
        return statement


class KeptInsert:
    """Call it with a new row: it is inserted as ``save(force_insert=True)`` would, without a signal."""

    def __init__(self, model: type[models.Model]) -> None:
        meta = model._meta
        self._fields = [field for field in meta.concrete_fields if not field.primary_key]
        columns = ", ".join(f'"{field.column}"' for field in self._fields)
        places = ", ".join("%s" for _ in self._fields)
        self._sql = f'INSERT INTO "{meta.db_table}" ({columns}) VALUES ({places}) RETURNING "{meta.pk.column}"'  # noqa: S608 - names of ours

    def __call__(self, row: models.Model) -> None:
        values = [field.get_db_prep_save(field.pre_save(row, True), connection) for field in self._fields]
        with connection.cursor() as cursor:
            cursor.execute(self._sql, values)
            (row.pk,) = cursor.fetchone()
        row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS


def _converted(rows: list[tuple[Any, ...]], statement: _Statement) -> Iterator[Sequence[Any]]:
    for row in rows:
        values = list(row)
        for place, (converters, expression) in statement.converters:
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        yield values


def _model_maker(compiler: Any) -> Callable[[Sequence[Any]], models.Model]:
    """What ModelIterable does with a row."""
    select, info = compiler.select, compiler.klass_info
    columns = info["select_fields"]
    start, end = columns[0], columns[-1] + 1
    names = [column[0].target.attname for column in select[start:end]]
    populators = get_related_populators(info, select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]  # typed for Django 6
    annotations = list(compiler.annotation_col_map.items())

    def make(row: Sequence[Any]) -> models.Model:
        made: models.Model = info["model"].from_db(DEFAULT_DB_ALIAS, names, row[start:end])
        for populator in populators:
            populator.populate(row, made)
        for name, place in annotations:
            setattr(made, name, row[place])
        return made

    return make
