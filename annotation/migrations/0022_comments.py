"""Comments on questions, with the people whom they mention and what is to be done."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0021_question_tags"),
    ]

    operations = [
        migrations.CreateModel(
            name="QuestionComment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("is_todo", models.BooleanField(default=False)),
                ("done_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "done_by",
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
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.question"
                    ),
                ),
            ],
            options={"ordering": ("at", "pk")},
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mentions",
                        to="annotation.questioncomment",
                    ),
                ),
            ],
            options={
                "ordering": ("person__name", "pk"),
                "constraints": [models.UniqueConstraint(fields=("comment", "person"), name="mention_once")],
            },
        ),
    ]
