from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def take_over(apps, schema_editor):  # type: ignore[no-untyped-def]
    """What kept questions out of samples becomes the first gate of its bank."""
    gates = apps.get_model("annotation", "Gate")
    for bank in apps.get_model("annotation", "QuestionBank").objects.exclude(kept_out_by=[]):
        gates.objects.create(bank=bank, number=1, name="Gate", parts=bank.kept_out_by, set_at=timezone.now())


class Migration(migrations.Migration):
    dependencies = [("annotation", "0005_films_as_they_come")]

    operations = [
        migrations.CreateModel(
            "Gate",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("parts", models.JSONField(default=list)),
                ("set_at", models.DateTimeField()),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="gates", to="annotation.questionbank"
                    ),
                ),
                (
                    "set_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            {
                "ordering": ("bank", "-number"),
                "constraints": [models.UniqueConstraint(fields=["bank", "number"], name="gate_once")],
            },
        ),
        migrations.AddIndex(
            "finding",
            models.Index(
                condition=models.Q(dismissed_at__isnull=False, superseded_at__isnull=True),
                fields=["bank", "rule", "revision"],
                name="finding_dismissed",
            ),
        ),
        migrations.RunPython(take_over, migrations.RunPython.noop),
        migrations.RemoveField("questionbank", "kept_out_by"),
    ]
