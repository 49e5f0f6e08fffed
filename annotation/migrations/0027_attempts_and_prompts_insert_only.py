"""Attempts to ask a model, and versions of prompts, are insert-only on both databases, like the audit events."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLES = ("annotation_callattempt", "annotation_promptversion")


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table in TABLES:
        if not is_sqlite:
            schema_editor.execute(
                f"CREATE FUNCTION {table}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{table} is insert-only'; END $$"
            )
        body = (
            f"BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END"
            if is_sqlite
            else f"FOR EACH ROW EXECUTE FUNCTION {table}_insert_only()"
        )
        for act in ("UPDATE", "DELETE"):
            schema_editor.execute(f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} {body}")


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table in TABLES:
        for act in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_no_{act}" + ("" if is_sqlite else f" ON {table}"))
        if not is_sqlite:
            schema_editor.execute(f"DROP FUNCTION {table}_insert_only()")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0026_calls_of_models")]
    operations = [migrations.RunPython(add_triggers, remove_triggers, elidable=False)]
