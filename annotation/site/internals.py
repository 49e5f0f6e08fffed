"""Parts of Django that are not its public interface, all of them: a new release may change them without a word.

``tests/annotation/site/test_internals.py`` holds the release that they were read in, and says what to do about another.
Nothing else of the program touches such a part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.base_session import AbstractBaseSession
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.db import DEFAULT_DB_ALIAS, connection, models
from django.db.migrations.operations.base import Operation
from django.db.migrations.operations.models import CreateModel
from django.db.migrations.state import ProjectState
from django.db.models.query import ModelIterable, get_related_populators
from msgspec import Struct

Place = tuple[int, tuple[list[Callable[..., Any]], Any]]  # a column, its converters, and the expression that it is of

MODULE_IMPORTS = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class Compiled(Struct, frozen=True):
    """The SQL of a queryset for the database in use, and how a row of its answer becomes what the queryset gives."""

    sql: str
    parameters: Sequence[Any]
    locks: bool
    converters: list[Place]
    make: Callable[[Sequence[Any]], Any]

    def read(self, row: Sequence[Any]) -> Any:
        """A model with what is joined and annotated, or a tuple, from a row of the cursor."""
        values = list(row)
        for place, (converters, expression) in self.converters:
            for convert in converters:
                values[place] = convert(values[place], expression, connection)
        return self.make(values)


def compile_queryset(queryset: models.QuerySet[Any, Any]) -> Compiled:
    """Its SQL, with ``select_related`` and annotations, or ``values_list``; prefetching is not done."""
    compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
    sql, parameters = compiler.as_sql()
    return Compiled(
        sql=sql,
        parameters=parameters,
        locks=bool(queryset.query.select_for_update),
        converters=list(compiler.get_converters([column[0] for column in compiler.select]).items()),
        make=_model_maker(compiler) if queryset._iterable_class is ModelIterable else tuple,
    )


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


def prepare(name: str, sql: str, parameters: Sequence[Any]) -> str:
    """Let PostgreSQL plan a statement once for this connection; its SQL as it was sent."""
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, connection.connection.cursor() as cursor:
        made: str = cursor.mogrify(sql, parameters).decode()
        cursor.execute(f"PREPARE {name} AS {made}")
    return made


def delete_rows(rows: models.QuerySet[Any]) -> None:
    """One DELETE, without asking what refers to the rows: the database refuses where something does."""
    rows._raw_delete(DEFAULT_DB_ALIAS)


def order_of(rows: models.QuerySet[Any, Any]) -> Sequence[Any]:
    """What the rows are ordered by, for ``order_by``."""
    return rows.query.order_by or rows.model._meta.ordering or ()


def note_missing(row: models.Model, model: type[models.Model], field: str) -> None:
    """No row of ``model`` refers to this one through its one-to-one ``field``: known without a query."""
    model._meta.get_field(field).remote_field.set_cached_value(row, None)  # type: ignore[union-attr]


class CreateModels(Operation):
    """Many tables in one step of a migration.

    Where the classes of models are there already, Django makes all that are related anew for each model that it adds,
    which takes seconds for 91 of them. Here they are made once, when the first table is.
    """

    def __init__(self, tables: list[CreateModel]) -> None:
        self.tables = tables

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)
        for one in self.tables:
            one.state_forwards(app_label, state)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for one in self.tables:
            one.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        for one in reversed(self.tables):
            one.database_backwards(app_label, schema_editor, from_state, to_state)

    def describe(self) -> str:
        return f"Create {len(self.tables)} models"


class SessionStore(db.SessionStore):
    """Sessions in the database, as Django stores them, found by ``find_session``."""

    def find_session(self, key: str) -> AbstractBaseSession | None:
        raise NotImplementedError

    def _get_session_from_db(self) -> Any:
        found = self.find_session(str(self.session_key))
        if found is None:
            self._session_key = None
        return found
