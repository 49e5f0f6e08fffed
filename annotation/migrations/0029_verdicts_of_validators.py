"""Findings also hold what models said of questions when a validator asked; banks say what their samples leave out."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

import annotation.models.fields


def forget_verdicts(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """On the way back: the table of before holds what rules found, and nothing else."""
    apps.get_model("annotation", "Finding").objects.exclude(call=None).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0028_generated_questions"),
    ]

    operations = [
        migrations.CreateModel(
            name="ValidatorRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("validator", models.CharField(max_length=8)),
                ("is_exam", models.BooleanField(default=False)),
                ("left_out", models.JSONField(default=list)),
                ("found", models.JSONField(default=dict)),
                ("n_unread", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("taken_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.RemoveConstraint(
            model_name="finding",
            name="finding_once",
        ),
        migrations.RemoveIndex(
            model_name="finding",
            name="finding_of_bank",
        ),
        migrations.AddField(
            model_name="finding",
            name="call",
            field=models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.modelcall",
            ),
        ),
        migrations.AddField(
            model_name="finding",
            name="superseded_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="finding",
            name="verdict",
            field=models.CharField(blank=True, max_length=9),
        ),
        migrations.AddField(
            model_name="questionbank",
            name="compared_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="questionbank",
            name="kept_out_by",
            field=models.JSONField(blank=True, default=list),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(("dismissed_at__isnull", True), ("superseded_at__isnull", True)),
                fields=["bank", "rule", "revision"],
                name="finding_of_bank",
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.UniqueConstraint(
                condition=models.Q(("call", None)),
                fields=("revision", "rule", "rule_version", "place"),
                name="finding_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.UniqueConstraint(
                condition=models.Q(("call__isnull", False)), fields=("call",), name="verdict_once"
            ),
        ),
        migrations.AddField(
            model_name="validatorrun",
            name="bank",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="validator_runs", to="annotation.questionbank"
            ),
        ),
        migrations.AddField(
            model_name="validatorrun",
            name="batch",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.callbatch"
            ),
        ),
        migrations.AddField(
            model_name="validatorrun",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_verdicts),
    ]
