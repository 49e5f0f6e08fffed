"""Only a site of the last version before 1.0 goes on from here: the steps to it are no longer in the program."""

from django.core.management.base import CommandError
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import StateApps


def check_last_before(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Raises CommandError where the tables are of an earlier version and not all of its steps were taken."""
    applied = MigrationRecorder(schema_editor.connection).applied_migrations()
    if ("annotation", "0002_append_only") in applied and ("annotation", "0044_forms_ask_by_hand") not in applied:
        raise CommandError(
            "This database is older than version 0.1.0. Start the site once with 0.1.0 (commit c64ff44a), which brings it "
            "up to date, then with this version. Nothing was changed."
        )


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_initial")]
    operations = [migrations.RunPython(check_last_before, migrations.RunPython.noop)]
