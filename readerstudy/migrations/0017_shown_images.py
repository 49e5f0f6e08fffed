"""What a frozen study shows is kept with it: its images as they are shown, and what its arm tells beside them."""

from importlib import import_module

import django.db.models.deletion
from django.db import migrations, models

held = import_module("readerstudy.migrations.0003_frozen_designs")


class Migration(migrations.Migration):
    dependencies = [
        ("readerstudy", "0016_time_parts"),
        ("annotation", "0009_keys_seen_and_questions_returned"),
    ]
    operations = [
        # SQLite makes the table of cases anew for its columns, and stops where a trigger names it.
        migrations.RunPython(held.remove_triggers, held.add_triggers, elidable=False),
        migrations.AddField("studycase", "n_lost", models.PositiveSmallIntegerField(default=0)),
        migrations.AddField("studycase", "information", models.JSONField(blank=True, null=True)),
        migrations.CreateModel(
            name="ShownImage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("position", models.PositiveSmallIntegerField()),
                ("frozen", models.JSONField()),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shown_images",
                        to="readerstudy.studycase",
                    ),
                ),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.image"
                    ),
                ),
            ],
            options={
                "ordering": ("case", "position"),
                "constraints": [models.UniqueConstraint(fields=("case", "position"), name="shown_image_position_once")],
            },
        ),
        migrations.RunPython(held.add_triggers, held.remove_triggers, elidable=False),
    ]
