"""The tables of reader studies, as version 1.0 begins."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.fields
import readerstudy.enums
from annotation.site.internals import CreateModels
from readerstudy.triggers import add_triggers, remove_triggers


class Migration(migrations.Migration):
    initial = True

    dependencies = [("annotation", "0001_initial")]

    tables = [
        migrations.CreateModel(
            name="ReaderStudy",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "deleted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("slug", models.SlugField(max_length=80)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.questionbank"
                    ),
                ),
                ("state", models.CharField(default=readerstudy.enums.StudyState["DRAFT"], max_length=8)),
                (
                    "copy_of",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="copies",
                        to="readerstudy.readerstudy",
                    ),
                ),
                ("seed", models.BigIntegerField(default=1, verbose_name="seed")),
                ("draw", models.JSONField(blank=True, default=dict)),
                ("rules", models.JSONField(blank=True, default=dict)),
                ("analysis", models.JSONField(blank=True, default=dict)),
                ("n_readers", models.PositiveSmallIntegerField(default=3, verbose_name="readers")),
                ("n_orders", models.PositiveSmallIntegerField(default=0, verbose_name="orders drawn")),
                ("instructions", models.TextField(blank=True, verbose_name="instructions")),
                ("consent", models.TextField(blank=True, verbose_name="consent")),
                ("consent_version", models.PositiveSmallIntegerField(default=1)),
                ("contact", models.CharField(blank=True, max_length=200, verbose_name="contact")),
                ("deadline_at", models.DateTimeField(blank=True, null=True)),
                ("time_zone", models.CharField(default="UTC", max_length=64, verbose_name="time zone")),
                ("protocol", models.TextField(blank=True)),
                ("protocol_sha256", models.CharField(blank=True, max_length=64)),
                ("keys_salt", models.CharField(blank=True, max_length=64)),
                ("simulated", models.BooleanField(default=False)),
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
                ("created_at", models.DateTimeField()),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("unblinded_at", models.DateTimeField(blank=True, null=True)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "reader studies",
                "ordering": ("-created_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("name",), name="study_name_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("slug",), name="study_slug_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("deleted_at__isnull", True),
                            ("state", readerstudy.enums.StudyState["DRAFT"]),
                            _connector="OR",
                        ),
                        name="study_in_bin_is_draft",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Arm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="arms", to="readerstudy.readerstudy"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(default=1)),
                ("information", models.CharField(default=readerstudy.enums.Information["NONE"], max_length=10)),
                ("aid", models.CharField(default=readerstudy.enums.Aid["NONE"], max_length=8)),
            ],
            options={
                "ordering": ("study", "number"),
                "constraints": [models.UniqueConstraint(fields=("study", "number"), name="arm_number_once")],
            },
        ),
        migrations.CreateModel(
            name="CaseSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="sets", to="readerstudy.readerstudy"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(default=1)),
                ("name", models.CharField(max_length=60, verbose_name="name")),
            ],
            options={
                "ordering": ("study", "number"),
                "constraints": [models.UniqueConstraint(fields=("study", "number"), name="case_set_number_once")],
            },
        ),
        migrations.CreateModel(
            name="StudyCase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="cases", to="readerstudy.readerstudy"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("block", models.CharField(default=readerstudy.enums.Block["MAIN"], max_length=8)),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                ("accepted_because", models.TextField(blank=True)),
                ("n_lost", models.PositiveSmallIntegerField(default=0)),
                ("information", models.JSONField(blank=True, null=True)),
                ("shown_sha256", models.CharField(blank=True, max_length=64)),
                ("sets", models.ManyToManyField(blank=True, related_name="cases", to="readerstudy.caseset")),
            ],
            options={
                "ordering": ("study", "block", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "block", "number"), name="study_case_number_once"),
                    models.UniqueConstraint(fields=("study", "revision"), name="study_case_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ShownImage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="shown_images",
                        to="readerstudy.studycase",
                    ),
                ),
                ("position", models.PositiveSmallIntegerField()),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.image"
                    ),
                ),
                ("frozen", models.JSONField()),
            ],
            options={
                "ordering": ("case", "position"),
                "constraints": [models.UniqueConstraint(fields=("case", "position"), name="shown_image_position_once")],
            },
        ),
        migrations.CreateModel(
            name="Voiding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "case",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="voiding", to="readerstudy.studycase"
                    ),
                ),
                ("reason", models.TextField()),
                ("before_unblinding", models.BooleanField()),
                ("declared", models.BooleanField(default=False)),
                ("source", models.CharField(blank=True, max_length=200)),
                (
                    "actor",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="StudyRole",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="coordinators",
                        to="readerstudy.readerstudy",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "granted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("granted_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("study", "user"), name="study_role_once")],
            },
        ),
        migrations.CreateModel(
            name="Analysis",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="analyses",
                        to="readerstudy.readerstudy",
                    ),
                ),
                ("inputs_sha256", models.CharField(max_length=64)),
                ("seed", models.BigIntegerField()),
                ("settings", models.JSONField()),
                ("software", models.JSONField()),
                ("result", models.TextField()),
                ("result_sha256", models.CharField(max_length=64)),
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
                ("created_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "analyses",
                "ordering": ("-created_at", "-pk"),
                "constraints": [models.UniqueConstraint(fields=("study", "result_sha256"), name="analysis_once")],
            },
        ),
        migrations.CreateModel(
            name="InputsMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="readerstudy.readerstudy"
                    ),
                ),
                ("mark_sha256", models.CharField(max_length=64)),
                ("inputs_sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="ModelComparison",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.questionbank"
                    ),
                ),
                ("inputs_sha256", models.CharField(max_length=64)),
                ("result", models.TextField()),
                ("result_sha256", models.CharField(max_length=64)),
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
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
                "constraints": [models.UniqueConstraint(fields=("bank", "result_sha256"), name="comparison_once")],
            },
        ),
        migrations.CreateModel(
            name="AnalysisReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "analysis",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reports", to="readerstudy.analysis"
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("n_bytes", models.PositiveBigIntegerField()),
                ("contents", models.JSONField()),
                (
                    "made_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-made_at", "-pk"),
                "constraints": [models.UniqueConstraint(fields=("analysis", "sha256"), name="report_once")],
            },
        ),
        migrations.CreateModel(
            name="ResultsLink",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "analysis",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="links", to="readerstudy.analysis"
                    ),
                ),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                ("note", models.CharField(blank=True, max_length=200)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="StudyInvitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="e-mail")),
                ("name", models.CharField(blank=True, max_length=200, verbose_name="name")),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="readerstudy.readerstudy",
                    ),
                ),
                (
                    "case_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="readerstudy.caseset"
                    ),
                ),
                ("token_sha256", models.CharField(max_length=64, unique=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("reminded_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="Enrolment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="enrolments",
                        to="readerstudy.readerstudy",
                    ),
                ),
                (
                    "reader",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="enrolments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "case_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="enrolments", to="readerstudy.caseset"
                    ),
                ),
                (
                    "invitation",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="enrolment",
                        to="readerstudy.studyinvitation",
                    ),
                ),
                ("pseudonym", models.CharField(max_length=60)),
                ("source", models.CharField(blank=True, max_length=200)),
                ("enrolled_at", models.DateTimeField()),
                ("consented_at", models.DateTimeField(blank=True, null=True)),
                ("consent_version", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("consent_sha256", models.CharField(blank=True, max_length=64)),
                ("facts", models.JSONField(blank=True, default=dict)),
                ("instructed_at", models.DateTimeField(blank=True, null=True)),
                ("display", models.JSONField(blank=True, default=dict)),
                ("display_checked_at", models.DateTimeField(blank=True, null=True)),
                ("practised_at", models.DateTimeField(blank=True, null=True)),
                ("deadline_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("declared_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("reminded_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("study", "enrolled_at", "pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("study", "pseudonym"), name="enrolment_pseudonym_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("reader__isnull", False)),
                        fields=("study", "reader"),
                        name="enrolment_once_per_reader",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PresentationOrder",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="readerstudy.readerstudy"
                    ),
                ),
                (
                    "arm",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="readerstudy.arm"
                    ),
                ),
                (
                    "case_set",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="orders", to="readerstudy.caseset"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "enrolment",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="orders",
                        to="readerstudy.enrolment",
                    ),
                ),
                ("rule", models.CharField(max_length=20)),
            ],
            options={
                "ordering": ("study", "case_set", "number"),
                "constraints": [
                    models.UniqueConstraint(fields=("arm", "case_set", "number"), name="order_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("enrolment__isnull", False)),
                        fields=("enrolment", "arm"),
                        name="order_once_per_reader",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PresentedCase",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="places",
                        to="readerstudy.presentationorder",
                    ),
                ),
                ("block", models.CharField(max_length=8)),
                ("position", models.PositiveIntegerField()),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="readerstudy.studycase"
                    ),
                ),
                ("options", models.CharField(default="ABCD", max_length=4)),
            ],
            options={
                "ordering": ("order", "-block", "position"),
                "constraints": [
                    models.UniqueConstraint(fields=("order", "block", "position"), name="presented_position_once"),
                    models.UniqueConstraint(fields=("order", "case"), name="presented_case_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                ("version", models.CharField(blank=True, max_length=100, verbose_name="version")),
                ("dated_on", models.DateField(blank=True, null=True, verbose_name="date of the version")),
                ("prompt", models.TextField(blank=True, verbose_name="prompt")),
                ("decoding", models.TextField(blank=True, verbose_name="decoding settings")),
                ("link", models.URLField(blank=True, max_length=500, verbose_name="link")),
                ("state", models.CharField(default=readerstudy.enums.EntryState["LISTED"], max_length=10)),
                (
                    "replaced_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replaces",
                        to="readerstudy.modelentry",
                    ),
                ),
                ("withdrawn_because", models.TextField(blank=True)),
                ("renamed_at", models.DateTimeField(blank=True, null=True)),
                (
                    "submitter",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "verbose_name_plural": "model entries",
                "ordering": ("name", "version", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "listed")), fields=("name", "version"), name="model_entry_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PredictionRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="readerstudy.modelentry"
                    ),
                ),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.questionbank"
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="prediction_runs",
                        to="readerstudy.readerstudy",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("file_name", models.CharField(max_length=200)),
                ("file_sha256", models.CharField(max_length=64)),
                ("form", models.CharField(max_length=10)),
                ("rule", models.CharField(max_length=20)),
                ("duplicates", models.CharField(blank=True, max_length=5)),
                ("n_read", models.PositiveIntegerField()),
                ("n_matched", models.PositiveIntegerField()),
                ("n_failed", models.PositiveIntegerField()),
                ("n_missing", models.PositiveIntegerField()),
                ("n_duplicate", models.PositiveIntegerField()),
                ("n_unknown", models.PositiveIntegerField()),
                ("report", models.JSONField(blank=True, default=dict)),
                ("is_named", models.BooleanField(default=False)),
                ("named_at", models.DateTimeField(blank=True, null=True)),
                ("named_before_unblinding", models.BooleanField(default=False)),
                ("was_planned", models.BooleanField(default=False)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_because", models.TextField(blank=True)),
                (
                    "imported_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("imported_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("entry", "study", "bank", "number"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("study__isnull", False)),
                        fields=("entry", "study", "number"),
                        name="run_number_on_study",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("study__isnull", True)),
                        fields=("entry", "bank", "number"),
                        name="run_number_on_bank",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_named", True), ("study__isnull", False)),
                        fields=("entry", "study"),
                        name="one_named_run_on_study",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_named", True), ("study__isnull", True)),
                        fields=("entry", "bank"),
                        name="one_named_run_on_bank",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("is_named", False), ("withdrawn_at__isnull", True), _connector="OR"),
                        name="withdrawn_run_not_named",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Prediction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="predictions",
                        to="readerstudy.predictionrun",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                ("state", models.CharField(max_length=8)),
                ("option", models.CharField(blank=True, max_length=1)),
                ("raw", models.TextField(blank=True)),
                ("explanation", models.TextField(blank=True)),
                ("row", models.PositiveIntegerField()),
                ("confidence", models.FloatField(blank=True, null=True)),
            ],
            options={
                "ordering": ("run", "revision"),
                "constraints": [
                    models.UniqueConstraint(fields=("run", "revision"), name="prediction_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "answered"), models.Q(("option", ""), _negated=True)),
                            models.Q(("option", ""), ("state", "failed")),
                            _connector="OR",
                        ),
                        name="prediction_has_option_or_failed",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("confidence__isnull", True),
                            models.Q(("confidence__gte", 0), ("confidence__lte", 100)),
                            _connector="OR",
                        ),
                        name="prediction_confidence_in_percent",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SubmissionCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "bank",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.questionbank"
                    ),
                ),
                (
                    "opened_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("opened_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="FailureCounts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "bank",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.questionbank"
                    ),
                ),
                ("inputs_sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="FailureCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "bank",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="annotation.questionbank",
                    ),
                ),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.revision"
                    ),
                ),
                ("n_models", models.PositiveSmallIntegerField()),
                ("n_failed", models.PositiveSmallIntegerField()),
                ("percent", models.PositiveSmallIntegerField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["bank", "n_failed"], name="failure_by_number"),
                    models.Index(fields=["bank", "percent"], name="failure_by_share"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReadingSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "enrolment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="sessions", to="readerstudy.enrolment"
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("end", models.CharField(blank=True, max_length=10)),
                ("device", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ("enrolment", "started_at", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=("enrolment",),
                        name="one_writer_per_reader",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Reading",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "enrolment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="readings", to="readerstudy.enrolment"
                    ),
                ),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="readings", to="readerstudy.studycase"
                    ),
                ),
                (
                    "arm",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="readerstudy.arm"
                    ),
                ),
                (
                    "presented",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reading",
                        to="readerstudy.presentedcase",
                    ),
                ),
                ("position", models.PositiveIntegerField(blank=True, null=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("painted_at", models.DateTimeField(blank=True, null=True)),
                ("deadline_at", models.DateTimeField(blank=True, null=True)),
                ("choice", models.CharField(blank=True, max_length=1)),
                ("choice_sequence", models.PositiveIntegerField(default=0)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("enrolment", "position"),
                "indexes": [
                    models.Index(condition=models.Q(("closed_at", None)), fields=["deadline_at"], name="reading_due")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("enrolment", "case", "arm"), name="reading_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at__isnull", True)),
                        fields=("enrolment",),
                        name="one_open_case_per_reader",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Response",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("active_ms", models.PositiveBigIntegerField(blank=True, null=True)),
                ("elapsed_ms", models.PositiveBigIntegerField(blank=True, null=True)),
                ("n_sittings", models.PositiveIntegerField(blank=True, null=True)),
                ("time_rule", models.CharField(blank=True, max_length=20)),
                ("time_flags", models.JSONField(default=list)),
                ("time_parts", models.JSONField(blank=True, null=True)),
                ("unreadable", models.JSONField(default=list)),
                ("viewport", models.JSONField(blank=True, null=True)),
                (
                    "reading",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="responses", to="readerstudy.reading"
                    ),
                ),
                ("is_confirmed", models.BooleanField()),
                ("state", models.CharField(max_length=12)),
                ("option", models.CharField(blank=True, max_length=1)),
                ("choice_sequence", models.PositiveIntegerField(default=0)),
                ("key", models.CharField(blank=True, max_length=36)),
                ("delivered_late", models.BooleanField(default=False)),
                ("limit_ms", models.PositiveBigIntegerField(blank=True, null=True)),
                ("source", models.CharField(blank=True, max_length=200)),
                ("committed_at", models.DateTimeField(blank=True, null=True)),
                ("stored_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("reading", "is_confirmed", "pk"),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("is_confirmed", True)), fields=("reading",), name="one_final_response"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("is_confirmed", False)),
                        fields=("reading", "choice_sequence"),
                        name="one_close_for_each_choice",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", (readerstudy.enums.ResponseState["LATE"],)),
                            models.Q(
                                (
                                    "state__in",
                                    (
                                        readerstudy.enums.ResponseState["ANSWERED"],
                                        readerstudy.enums.ResponseState["UNCONFIRMED"],
                                    ),
                                ),
                                models.Q(("option", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(
                                    (
                                        "state__in",
                                        (
                                            readerstudy.enums.ResponseState["ANSWERED"],
                                            readerstudy.enums.ResponseState["UNCONFIRMED"],
                                        ),
                                    ),
                                    _negated=True,
                                ),
                                ("option", ""),
                            ),
                            _connector="OR",
                        ),
                        name="response_option_fits_its_state",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RefusedAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "presented",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refused_answers",
                        to="readerstudy.presentedcase",
                    ),
                ),
                ("reason", models.CharField(max_length=16)),
                ("option", models.CharField(blank=True, max_length=1)),
                ("key", models.CharField(max_length=36)),
                ("session", models.CharField(blank=True, max_length=16)),
                ("at", models.DateTimeField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("presented", "key", "reason"), name="refused_answer_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Remark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reading",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="remarks", to="readerstudy.reading"
                    ),
                ),
                ("kind", models.CharField(max_length=10)),
                ("value", models.CharField(blank=True, max_length=10)),
                ("text", models.TextField(blank=True)),
                ("key", models.CharField(max_length=36)),
                ("at", models.DateTimeField()),
            ],
            options={
                "ordering": ("reading", "pk"),
                "constraints": [models.UniqueConstraint(fields=("reading", "key"), name="remark_once")],
            },
        ),
        migrations.CreateModel(
            name="TimingEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "reading",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="readerstudy.reading",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="readerstudy.readingsession",
                    ),
                ),
                ("page", models.CharField(max_length=36)),
                ("sequence", models.PositiveIntegerField()),
                ("kind", models.CharField(max_length=10)),
                ("client_ms", models.FloatField()),
                ("wall_ms", models.FloatField(blank=True, null=True)),
                ("received_at", models.DateTimeField()),
                ("details", models.JSONField(default=dict)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("reading", "page", "sequence"), name="timing_event_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelRun",
            fields=[
                (
                    "batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="model_run",
                        serialize=False,
                        to="annotation.callbatch",
                    ),
                ),
                (
                    "entry",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="model_runs",
                        to="readerstudy.modelentry",
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="model_runs",
                        to="readerstudy.readerstudy",
                    ),
                ),
                ("estimate", models.JSONField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-batch",),
            },
        ),
        migrations.CreateModel(
            name="PublishedRepeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "model_run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="published",
                        to="readerstudy.modelrun",
                    ),
                ),
                ("repeat", models.PositiveSmallIntegerField()),
                (
                    "run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="made_by",
                        to="readerstudy.predictionrun",
                    ),
                ),
            ],
            options={
                "ordering": ("model_run", "repeat"),
                "constraints": [models.UniqueConstraint(fields=("model_run", "repeat"), name="repeat_published_once")],
            },
        ),
    ]
    operations = [
        CreateModels(tables),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
