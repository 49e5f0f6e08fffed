"""Audit events are insert-only, on both databases: the database itself refuses to change or delete one."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLES = ("annotation_auditevent",)


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for table in TABLES:
        for act in ("UPDATE", "DELETE"):
            if schema_editor.connection.vendor == "sqlite":
                schema_editor.execute(
                    f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                    f"BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END"
                )
            else:
                schema_editor.execute(
                    f"CREATE OR REPLACE FUNCTION {table}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
                    f"$$ BEGIN RAISE EXCEPTION '{table} is insert-only'; END $$"
                )
                schema_editor.execute(
                    f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} "
                    f"FOR EACH ROW EXECUTE FUNCTION {table}_insert_only()"
                )


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    on_table = "" if schema_editor.connection.vendor == "sqlite" else " ON {table}"
    for table in TABLES:
        for act in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER IF EXISTS {table}_no_{act}" + on_table.format(table=table))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(add_triggers, remove_triggers, elidable=False)]
