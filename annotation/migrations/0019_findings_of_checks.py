"""What checks find in the wording of questions, and why a person dismissed it."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0018_settlements_edits_and_states"),
    ]

    operations = [
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("rule", models.CharField(max_length=32)),
                ("rule_version", models.PositiveSmallIntegerField()),
                ("place", models.CharField(max_length=11)),
                ("detail", models.TextField()),
                ("found_at", models.DateTimeField()),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
                ("dismiss_reason", models.CharField(blank=True, max_length=500, verbose_name="reason")),
                (
                    "dismissed_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
            ],
            options={
                "ordering": ("revision", "rule", "place"),
                "indexes": [models.Index(fields=["rule", "revision"], name="finding_by_rule")],
                "constraints": [
                    models.UniqueConstraint(fields=("revision", "rule", "rule_version", "place"), name="finding_once")
                ],
            },
        ),
    ]
