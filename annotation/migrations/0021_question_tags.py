"""Tags that people put on questions."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0020_round_design"),
    ]

    operations = [
        migrations.CreateModel(
            name="QuestionTag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("word", models.CharField(max_length=40)),
                ("at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "question",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.question",
                    ),
                ),
                (
                    "removed_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("question", "word"),
                "indexes": [
                    models.Index(fields=["question"], name="tag_of_question"),
                    models.Index(
                        condition=models.Q(("removed_at", None)), fields=["word", "question"], name="tag_by_word"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("removed_at", None)), fields=("question", "word"), name="tag_once"
                    )
                ],
            },
        ),
    ]
