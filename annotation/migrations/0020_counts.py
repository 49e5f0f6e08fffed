from __future__ import annotations

from typing import Any

from django.core.management import call_command
from django.db import migrations

TABLE = "annotation_counts"  # of the cache "counts", where several web servers have no Redis


def make_table(apps: Any, editor: Any) -> None:
    call_command("createcachetable", TABLE, database=editor.connection.alias, verbosity=0)


def drop_table(apps: Any, editor: Any) -> None:
    editor.execute(f"DROP TABLE {TABLE}")


class Migration(migrations.Migration):
    dependencies = [("annotation", "0019_words")]

    operations = [migrations.RunPython(make_table, drop_table)]
