"""Questions made from reports: runs, their reports and the findings taken from them; the last two insert-only."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

import annotation.enums
import annotation.models.fields

TABLES = ("annotation_generationreport", "annotation_bullet")


def add_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table in TABLES:
        if not is_sqlite:
            schema_editor.execute(
                f"CREATE FUNCTION {table}_insert_only() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{table} is insert-only'; END $$"
            )
        body = (
            f"BEGIN SELECT RAISE(ABORT, '{table} is insert-only'); END"
            if is_sqlite
            else f"FOR EACH ROW EXECUTE FUNCTION {table}_insert_only()"
        )
        for act in ("UPDATE", "DELETE"):
            schema_editor.execute(f"CREATE TRIGGER {table}_no_{act.lower()} BEFORE {act} ON {table} {body}")


def remove_triggers(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = schema_editor.connection.vendor == "sqlite"
    for table in TABLES:
        for act in ("update", "delete"):
            schema_editor.execute(f"DROP TRIGGER {table}_no_{act}" + ("" if is_sqlite else f" ON {table}"))
        if not is_sqlite:
            schema_editor.execute(f"DROP FUNCTION {table}_insert_only()")


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0027_attempts_and_prompts_insert_only"),
    ]

    operations = [
        migrations.AlterField(
            model_name="bankimport",
            name="kind",
            field=models.CharField(default=annotation.enums.ImportKind["FILE"], max_length=10),
        ),
        migrations.CreateModel(
            name="GenerationRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("seed", models.BigIntegerField(verbose_name="seed")),
                ("per_exam", models.PositiveSmallIntegerField(verbose_name="questions per exam")),
                ("source", models.CharField(max_length=8)),
                ("file_name", models.CharField(blank=True, max_length=200)),
                ("file_sha256", models.CharField(blank=True, max_length=64)),
                ("images_root", models.TextField(blank=True)),
                ("refused", models.JSONField(default=list)),
                ("not_made", models.JSONField(default=list)),
                ("n_made", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("bullets_taken_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation_runs",
                        to="annotation.questionbank",
                    ),
                ),
                (
                    "bank_import",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="annotation.bankimport",
                    ),
                ),
                (
                    "bullets_batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.callbatch"
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
                (
                    "questions_batch",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.callbatch",
                    ),
                ),
                (
                    "questions_prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.promptversion"
                    ),
                ),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="GenerationReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("record", models.TextField(blank=True)),
                ("sha256", models.CharField(max_length=64)),
                (
                    "answer_key",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.answerkey",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.generationrun",
                    ),
                ),
            ],
            options={
                "ordering": ("run", "number"),
            },
        ),
        migrations.CreateModel(
            name="Bullet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("quote", models.TextField()),
                ("start", models.PositiveIntegerField(null=True)),
                ("end", models.PositiveIntegerField(null=True)),
                ("statement", models.TextField()),
                ("location", models.CharField(blank=True, max_length=400)),
                ("polarity", models.CharField(max_length=8)),
                ("compares_with_prior", models.BooleanField()),
                ("fault", models.CharField(blank=True, max_length=40)),
                (
                    "call",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.modelcall",
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.generationreport",
                    ),
                ),
            ],
            options={
                "ordering": ("report", "number"),
                "constraints": [models.UniqueConstraint(fields=("report", "number"), name="bullet_number_once")],
            },
        ),
        migrations.AddConstraint(
            model_name="generationreport",
            constraint=models.UniqueConstraint(fields=("run", "number"), name="report_number_once"),
        ),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
