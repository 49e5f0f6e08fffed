"""Trials: two versions of a prompt on the same reports, with what was planned beforehand."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0029_verdicts_of_validators"),
    ]

    operations = [
        migrations.CreateModel(
            name="PromptTrial",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("issue_rate", models.FloatField()),
                ("difference", models.FloatField()),
                ("power", models.FloatField()),
                ("correlation", models.FloatField()),
                ("n_planned", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField()),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "first_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.generationrun"
                    ),
                ),
                (
                    "sample",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="annotation.samplingplan",
                    ),
                ),
                (
                    "second_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.generationrun"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
    ]
