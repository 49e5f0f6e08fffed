"""A stored analysis never changes and never goes: insert-only on both databases, like what readers did."""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "readerstudy_analysis"


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    if not is_sqlite:
        schema_editor.execute(
            f"CREATE FUNCTION {TABLE}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{TABLE} is insert-only'; END $$"
        )
    body = (
        f"BEGIN SELECT RAISE(ABORT, '{TABLE} is insert-only'); END"
        if is_sqlite
        else f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_insert_only()"
    )
    for act in ("UPDATE", "DELETE"):
        schema_editor.execute(f"CREATE TRIGGER {TABLE}_no_{act.lower()} BEFORE {act} ON {TABLE} {body}")


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for act in ("update", "delete"):
        schema_editor.execute(f"DROP TRIGGER {TABLE}_no_{act}" + ("" if is_sqlite else f" ON {TABLE}"))
    if not is_sqlite:
        schema_editor.execute(f"DROP FUNCTION {TABLE}_insert_only()")


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0007_model_comparison")]
    operations = [migrations.RunPython(add_triggers, remove_triggers, elidable=False)]
