"""Models that this site runs over a bank or a study."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0026_calls_of_models"),
        ("readerstudy", "0020_failed_questions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ModelRun",
            fields=[
                (
                    "batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="model_run",
                        serialize=False,
                        to="annotation.callbatch",
                    ),
                ),
                ("estimate", models.JSONField(blank=True, null=True)),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="model_runs",
                        to="readerstudy.modelentry",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="model_runs",
                        to="readerstudy.readerstudy",
                    ),
                ),
            ],
            options={
                "ordering": ("-batch",),
            },
        ),
        migrations.CreateModel(
            name="PublishedRepeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("repeat", models.PositiveSmallIntegerField()),
                (
                    "model_run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="published",
                        to="readerstudy.modelrun",
                    ),
                ),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="made_by",
                        to="readerstudy.predictionrun",
                    ),
                ),
            ],
            options={
                "ordering": ("model_run", "repeat"),
                "constraints": [models.UniqueConstraint(fields=("model_run", "repeat"), name="repeat_published_once")],
            },
        ),
    ]
