"""A draft that is deleted goes into the bin; its name and address are free again.

SQLite makes the table anew, which triggers that stand on it or name it do not survive: they go first and come back.
"""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

KEEPING = [
    import_module(f"readerstudy.migrations.{name}") for name in ("0003_frozen_designs", "0018_keep_shown_images")
]


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for migration in KEEPING:
        migration.add_triggers(apps, schema_editor)


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for migration in KEEPING:
        migration.remove_triggers(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [
        ("readerstudy", "0018_keep_shown_images"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunPython(remove_triggers, add_triggers, elidable=False),
        migrations.AddField(
            model_name="readerstudy",
            name="deleted_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="readerstudy",
            name="deleted_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(
            model_name="readerstudy",
            name="name",
            field=models.CharField(max_length=200, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="readerstudy",
            name="slug",
            field=models.SlugField(max_length=80),
        ),
        migrations.AddConstraint(
            model_name="readerstudy",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True)), fields=("name",), name="study_name_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="readerstudy",
            constraint=models.UniqueConstraint(
                condition=models.Q(("deleted_at__isnull", True)), fields=("slug",), name="study_slug_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="readerstudy",
            constraint=models.CheckConstraint(
                condition=models.Q(("deleted_at__isnull", True), ("state", "draft"), _connector="OR"),
                name="study_in_bin_is_draft",
            ),
        ),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
