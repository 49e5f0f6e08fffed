"""Triggers by which the database itself refuses to change rows, on SQLite and PostgreSQL; migrations make them.

SQLite makes a table anew to change a column, and stops where a trigger of another table names it: a migration that
changes a column of such a table runs ``remove_triggers`` before and ``add_triggers`` after.
"""

from __future__ import annotations

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

INSERT_ONLY = (
    "annotation_auditevent",
    "annotation_reviewevent",
    "annotation_callattempt",
    "annotation_promptversion",
    "annotation_generationreport",
    "annotation_bullet",
)


def add_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        make_insert_only(schema_editor, table)


def remove_triggers(apps: StateApps | None, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in INSERT_ONLY:
        let_change(schema_editor, table)


def make_insert_only(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    """Rows of the table are neither changed nor deleted from now on."""
    text = f"{table} is insert-only"
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    if not is_sqlite:
        schema_editor.execute(
            f"CREATE FUNCTION {table}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{text}'; END $$"
        )
    refuse = f"BEGIN SELECT RAISE(ABORT, '{text}'); END"
    body = refuse if is_sqlite else f"FOR EACH ROW EXECUTE FUNCTION {table}_insert_only()"
    for act in ("UPDATE", "DELETE"):
        schema_editor.execute(f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} {body}")


def let_change(schema_editor: BaseDatabaseSchemaEditor, table: str) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for act in ("update", "delete"):
        schema_editor.execute(f"DROP TRIGGER {table}_no_{act}" + ("" if is_sqlite else f" ON {table}"))
    if not is_sqlite:
        schema_editor.execute(f"DROP FUNCTION {table}_insert_only()")
