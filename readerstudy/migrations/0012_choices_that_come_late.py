"""A case that the program closed may end again with a newer choice; a state says whether there is an option.

The triggers that make the table insert-only are taken off before and put back afterwards, since SQLite makes the table
anew. Backwards it stops at the database where a case ended twice.
"""

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps
from django.db.models import Q

TABLE = "readerstudy_response"
WITH_OPTION = ["answered", "unconfirmed"]


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


class Migration(migrations.Migration):
    dependencies = [("readerstudy", "0011_inputs_mark")]
    operations = [
        migrations.RunPython(remove_triggers, add_triggers, elidable=False),
        migrations.RemoveConstraint("response", "one_final_response"),
        migrations.AddField("response", "choice_sequence", models.PositiveIntegerField(default=0)),
        migrations.AddConstraint(
            "response",
            models.UniqueConstraint(fields=["reading"], condition=Q(is_confirmed=True), name="one_final_response"),
        ),
        migrations.AddConstraint(
            "response",
            models.UniqueConstraint(
                fields=["reading", "choice_sequence"],
                condition=Q(is_confirmed=False),
                name="one_close_for_each_choice",
            ),
        ),
        migrations.AddConstraint(
            "response",
            models.CheckConstraint(
                condition=Q(state__in=["late"])
                | Q(Q(state__in=WITH_OPTION) & ~Q(option=""))
                | Q(~Q(state__in=WITH_OPTION) & Q(option="")),
                name="response_option_fits_its_state",
            ),
        ),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
