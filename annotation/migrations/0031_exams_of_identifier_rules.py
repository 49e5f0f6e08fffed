"""How good the rules for identifiers were in a bank is kept, with their versions."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0030_prompt_trials"),
    ]

    operations = [
        migrations.CreateModel(
            name="IdentifierExam",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("seed", models.PositiveIntegerField()),
                ("rules", models.JSONField()),
                ("planted", models.JSONField()),
                ("n_questions", models.PositiveIntegerField()),
                ("fired", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.questionbank"
                    ),
                ),
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
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
    ]
