"""A refused answer belongs to a place of an order, not to a reading: one to a place that was never opened is kept.

The triggers that make the table insert-only are taken off before and put back afterwards, since rows are told their
place and SQLite makes the table anew. Backwards it stops at the database where a place was never opened.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import OuterRef, Subquery

TABLE = "readerstudy_refusedanswer"


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """As in 0002, whose function for PostgreSQL is still there."""
    is_sqlite = schema_editor.connection.vendor == "sqlite"
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


def tell_places(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    readings = apps.get_model("readerstudy", "Reading").objects.filter(pk=OuterRef("reading"))
    apps.get_model("readerstudy", "RefusedAnswer").objects.update(presented=Subquery(readings.values("presented")))


def tell_readings(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    readings = apps.get_model("readerstudy", "Reading").objects.filter(presented=OuterRef("presented"))
    apps.get_model("readerstudy", "RefusedAnswer").objects.update(reading=Subquery(readings.values("pk")))


def _belongs_to(model: str, *, null: bool) -> models.ForeignKey:
    return models.ForeignKey(
        null=null,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="refused_answers",
        to=f"readerstudy.{model}",
    )


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0004_predictions")]
    operations = [
        migrations.RunPython(remove_triggers, add_triggers, elidable=False),
        migrations.RemoveConstraint("refusedanswer", "refused_answer_once"),
        migrations.AlterField("refusedanswer", "reading", _belongs_to("reading", null=True)),
        migrations.AddField("refusedanswer", "presented", _belongs_to("presentedcase", null=True)),
        migrations.RunPython(tell_places, tell_readings, elidable=False),
        migrations.RemoveField("refusedanswer", "reading"),
        migrations.AlterField("refusedanswer", "presented", _belongs_to("presentedcase", null=False)),
        migrations.AddConstraint(
            "refusedanswer",
            models.UniqueConstraint(fields=("presented", "key", "reason"), name="refused_answer_once"),
        ),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
