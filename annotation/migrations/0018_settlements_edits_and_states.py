"""Where a question is in its life, what a round settled or an adjudicator decided, and revisions by hand."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0017_assignment_of_question"),
    ]

    operations = [
        migrations.CreateModel(
            name="Edit",
            fields=[
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="edit",
                        serialize=False,
                        to="annotation.revision",
                    ),
                ),
                ("reason", models.TextField(verbose_name="reason")),
                ("made_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Settlement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("outcome", models.CharField(max_length=16)),
                ("rule", models.CharField(max_length=16)),
                ("reasons", models.JSONField(default=list)),
                ("settled_at", models.DateTimeField()),
                ("shown_at", models.DateTimeField(blank=True, null=True)),
                ("decision", models.CharField(blank=True, default="", max_length=8)),
                ("reason", models.TextField(blank=True)),
                ("against_all", models.BooleanField(default=False)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("round", "pk"),
            },
        ),
        migrations.AddField(
            model_name="bankimport",
            name="kind",
            field=models.CharField(default="file", max_length=8),
        ),
        migrations.AddField(
            model_name="question",
            name="state",
            field=models.CharField(db_default="imported", max_length=16),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="adjudicates",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="adjudication",
                to="annotation.reviewround",
            ),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="completed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="reviewround",
            name="state",
            field=models.CharField(default="draft", max_length=16),
        ),
        migrations.AddIndex(
            model_name="question",
            index=models.Index(
                condition=models.Q(("state", "imported"), _negated=True),
                fields=["bank", "state", "number"],
                name="question_by_state",
            ),
        ),
        migrations.AddField(
            model_name="edit",
            name="author",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="edit",
            name="before",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
            ),
        ),
        migrations.AddField(
            model_name="edit",
            name="undoes",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.revision",
            ),
        ),
        migrations.AddField(
            model_name="settlement",
            name="assignment",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="settlement",
                to="annotation.assignment",
            ),
        ),
        migrations.AddField(
            model_name="settlement",
            name="revision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="settlements", to="annotation.revision"
            ),
        ),
        migrations.AddField(
            model_name="settlement",
            name="round",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="settlements", to="annotation.reviewround"
            ),
        ),
        migrations.AddField(
            model_name="edit",
            name="settlement",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="edits",
                to="annotation.settlement",
            ),
        ),
        migrations.AddConstraint(
            model_name="settlement",
            constraint=models.UniqueConstraint(fields=("round", "revision"), name="settlement_once"),
        ),
    ]
