from __future__ import annotations

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields

PROTECT = django.db.models.deletion.PROTECT
ID = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


class Migration(migrations.Migration):
    dependencies = [("annotation", "0006_gates")]

    operations = [
        migrations.CreateModel(
            "Release",
            [
                ID,
                ("public_id", annotation.models.fields.PublicIdField()),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("shares", models.JSONField()),
                ("seed", models.PositiveIntegerField(verbose_name="seed")),
                ("counts", models.JSONField()),
                ("left_out", models.JSONField(default=dict)),
                ("sums", models.JSONField(default=dict)),
                ("released_at", models.DateTimeField()),
                (
                    "bank",
                    models.ForeignKey(on_delete=PROTECT, related_name="releases", to="annotation.questionbank"),
                ),
                ("gate", models.ForeignKey(on_delete=PROTECT, related_name="+", to="annotation.gate")),
                (
                    "released_by",
                    models.ForeignKey(null=True, on_delete=PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
                ),
            ],
            {
                "ordering": ("-pk",),
                "constraints": [models.UniqueConstraint(fields=["bank", "name"], name="release_once")],
            },
        ),
        migrations.CreateModel(
            "ReleasedQuestion",
            [
                ID,
                ("split", models.CharField(max_length=7)),
                ("release", models.ForeignKey(on_delete=PROTECT, related_name="questions", to="annotation.release")),
                ("revision", models.ForeignKey(on_delete=PROTECT, related_name="+", to="annotation.revision")),
            ],
            {"constraints": [models.UniqueConstraint(fields=["release", "revision"], name="released_once")]},
        ),
    ]
