"""The tables of the site, as version 1.0 begins."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import annotation.call_enums
import annotation.enums
import annotation.models.fields
import annotation.models.people
from annotation.site.internals import CreateModels
from annotation.triggers import add_triggers, remove_triggers


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    tables = [
        migrations.CreateModel(
            name="EndpointLease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("endpoint", models.CharField(max_length=40, unique=True)),
                ("holder", models.CharField(max_length=40)),
                ("expires_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "lease",
            },
        ),
        migrations.CreateModel(
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                ("email", models.EmailField(max_length=254, unique=True, verbose_name="e-mail")),
                ("name", models.CharField(max_length=200, verbose_name="name")),
                (
                    "time_zone",
                    models.CharField(
                        default="UTC",
                        max_length=64,
                        validators=[annotation.models.people.check_time_zone],
                        verbose_name="time zone",
                    ),
                ),
                ("is_active", models.BooleanField(default=True, verbose_name="may log in")),
                ("wants_digest", models.BooleanField(default=False, verbose_name="daily e-mail about review rounds")),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created")),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("name", "email"),
                "constraints": [
                    models.UniqueConstraint(django.db.models.functions.text.Lower("email"), name="user_email_any_case")
                ],
            },
        ),
        migrations.CreateModel(
            name="EndpointProbe",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("endpoint", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=200)),
                ("findings", models.JSONField(default=list)),
                (
                    "probed_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("probed_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-probed_at", "-pk"),
                "indexes": [models.Index(fields=["endpoint", "model", "probed_at"], name="probe_of_model")],
            },
        ),
        migrations.CreateModel(
            name="Price",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("endpoint", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=200)),
                ("currency", models.CharField(max_length=3, verbose_name="currency")),
                (
                    "per_million_input",
                    models.DecimalField(decimal_places=4, max_digits=12, verbose_name="per million input tokens"),
                ),
                (
                    "per_million_cached",
                    models.DecimalField(decimal_places=4, max_digits=12, verbose_name="per million cached tokens"),
                ),
                (
                    "per_million_output",
                    models.DecimalField(decimal_places=4, max_digits=12, verbose_name="per million output tokens"),
                ),
                ("valid_from", models.DateField(verbose_name="valid from")),
                (
                    "set_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("set_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("endpoint", "model", "-valid_from", "-pk"),
                "constraints": [
                    models.UniqueConstraint(fields=("endpoint", "model", "valid_from"), name="price_once_a_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="PromptVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("number", models.PositiveSmallIntegerField()),
                ("purpose", models.CharField(max_length=16)),
                ("instruction", models.TextField(blank=True, verbose_name="instruction")),
                ("text", models.TextField(verbose_name="text")),
                ("variables", models.JSONField(default=list)),
                ("images", models.CharField(default=annotation.call_enums.SentImages["NONE"], max_length=16)),
                ("schema", models.TextField(blank=True, verbose_name="schema of the answer")),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.promptversion",
                    ),
                ),
                ("reason", models.TextField(verbose_name="reason")),
                (
                    "author",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("made_at", models.DateTimeField()),
                ("sha256", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ("name", "-number"),
                "constraints": [models.UniqueConstraint(fields=("name", "number"), name="prompt_version_once")],
            },
        ),
        migrations.CreateModel(
            name="Embedding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("endpoint", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=200)),
                ("dimension", models.PositiveIntegerField(blank=True, null=True)),
                ("threshold", models.FloatField(blank=True, null=True, verbose_name="threshold")),
                (
                    "threshold_set_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("threshold_set_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("endpoint", "model"),
                "constraints": [models.UniqueConstraint(fields=("endpoint", "model"), name="embedding_once")],
            },
        ),
        migrations.CreateModel(
            name="AllowedWords",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(unique=True)),
                ("words", models.JSONField(default=list)),
                (
                    "made_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("number",),
            },
        ),
        migrations.CreateModel(
            name="AccessToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("token_sha256", models.CharField(max_length=64)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="access_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                ("role", models.CharField(max_length=20)),
                ("scope", models.CharField(max_length=8)),
                ("place_id", models.BigIntegerField(blank=True, null=True)),
                ("place_name", models.CharField(blank=True, max_length=200)),
                ("networks", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("last_refused_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="KeptAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("token", models.CharField(blank=True, max_length=16)),
                ("key", models.CharField(max_length=100)),
                ("request_sha256", models.CharField(max_length=64)),
                ("status", models.PositiveSmallIntegerField(default=0)),
                ("body", models.JSONField(default=dict)),
                ("location", models.CharField(blank=True, max_length=300)),
                ("kept_at", models.DateTimeField()),
            ],
            options={
                "indexes": [models.Index(fields=["kept_at"], name="kept_answer_age")],
                "constraints": [models.UniqueConstraint(fields=("person", "token", "key"), name="kept_answer_once")],
            },
        ),
        migrations.CreateModel(
            name="Competence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="competences",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("word", models.CharField(max_length=200, verbose_name="category or task")),
            ],
            options={
                "ordering": ("person", "word"),
                "constraints": [
                    models.UniqueConstraint(
                        models.F("person"), django.db.models.functions.text.Lower("word"), name="competence_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="QuestionBank",
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
                ("simulated", models.BooleanField(default=False)),
                ("terms", models.TextField(blank=True, verbose_name="terms of use")),
                (
                    "holds_quarters",
                    models.BooleanField(default=False, verbose_name="images hold a quarter of width and height"),
                ),
                ("is_public", models.BooleanField(default=False, verbose_name="its questions are public")),
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
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                ("kept_out_by", models.JSONField(blank=True, default=list)),
                ("compared_at", models.DateTimeField(blank=True, null=True)),
                ("twins_sought_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("name",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("name",), name="bank_name_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("slug",), name="bank_slug_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SendingPermission",
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
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sending_permissions",
                        to="annotation.questionbank",
                    ),
                ),
                ("endpoint", models.CharField(max_length=40, verbose_name="endpoint")),
                ("questions", models.BooleanField(default=False, verbose_name="questions")),
                ("images", models.BooleanField(default=False, verbose_name="images")),
                ("reports", models.BooleanField(default=False, verbose_name="reports")),
                ("reason", models.TextField(verbose_name="reason")),
                ("agreement", models.TextField(verbose_name="agreement")),
                ("terms", models.TextField(blank=True)),
                (
                    "given_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("given_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(verbose_name="valid until")),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                (
                    "withdrawn_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("withdrawn_because", models.TextField(blank=True)),
            ],
            options={
                "ordering": ("-given_at", "-pk"),
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("questions", True), ("images", True), ("reports", True), _connector="OR"),
                        name="permission_of_something",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CallBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("purpose", models.CharField(max_length=16)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.questionbank"
                    ),
                ),
                ("endpoint", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=200)),
                (
                    "prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.promptversion"
                    ),
                ),
                (
                    "permission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.sendingpermission"
                    ),
                ),
                (
                    "price",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.price",
                    ),
                ),
                ("chat_settings", models.JSONField(default=dict)),
                ("images", models.CharField(max_length=16)),
                ("picture_policy", models.CharField(blank=True, max_length=32)),
                ("n_orders", models.PositiveSmallIntegerField(default=1)),
                ("n_repeats", models.PositiveSmallIntegerField(default=1)),
                ("seed", models.BigIntegerField(default=0)),
                ("n_calls", models.PositiveIntegerField()),
                ("n_first", models.PositiveIntegerField(default=0)),
                ("cap", models.DecimalField(blank=True, decimal_places=4, max_digits=12, null=True)),
                ("state", models.CharField(default=annotation.call_enums.BatchState["PLANNED"], max_length=10)),
                ("paused_because", models.TextField(blank=True)),
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
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "call batches",
                "ordering": ("-created_at", "-pk"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["trying", "running"])), fields=["state"], name="batch_running"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PairTrial",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "embedding",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="trials", to="annotation.embedding"
                    ),
                ),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pair_trials",
                        to="annotation.questionbank",
                    ),
                ),
                ("seed", models.PositiveIntegerField(verbose_name="seed")),
                (
                    "first_judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "second_judge",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "ended_by",
                    models.ForeignKey(
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
        migrations.CreateModel(
            name="SourceIdentifier",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.BigIntegerField()),
                ("kind", models.CharField(max_length=16)),
                ("value", models.TextField()),
                ("root", models.TextField(blank=True)),
                ("numbers", models.JSONField(null=True)),
                (
                    "bank",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.questionbank",
                    ),
                ),
                ("question_id", models.BigIntegerField(null=True)),
                ("exam_id", models.BigIntegerField(null=True)),
                ("image_id", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["digest"], name="identifier_digest"),
                    models.Index(
                        condition=models.Q(("kind", "prior_exam")), fields=["bank", "exam_id"], name="identifier_prior"
                    ),
                    models.Index(
                        condition=models.Q(("question_id__isnull", False)),
                        fields=["question_id"],
                        name="identifier_question",
                    ),
                ],
            },
        ),
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
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="validator_runs",
                        to="annotation.questionbank",
                    ),
                ),
                ("validator", models.CharField(max_length=8)),
                (
                    "batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.callbatch"
                    ),
                ),
                ("is_exam", models.BooleanField(default=False)),
                ("left_out", models.JSONField(default=list)),
                ("found", models.JSONField(default=dict)),
                ("n_unread", models.PositiveIntegerField(default=0)),
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
                ("taken_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
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
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotation.questionbank"
                    ),
                ),
                ("seed", models.PositiveIntegerField()),
                ("rules", models.JSONField()),
                ("planted", models.JSONField()),
                ("n_questions", models.PositiveIntegerField()),
                ("fired", models.JSONField()),
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
            },
        ),
        migrations.CreateModel(
            name="ColumnMatching",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True, verbose_name="name")),
                ("columns", models.JSONField()),
                ("matching", models.JSONField()),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("changed_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("-changed_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="SamplingPlan",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="plans", to="annotation.questionbank"
                    ),
                ),
                ("rule", models.CharField(max_length=32)),
                ("stratify_by", models.CharField(max_length=16)),
                ("per_thousand", models.PositiveIntegerField(verbose_name="questions per thousand")),
                ("seed", models.BigIntegerField(verbose_name="seed")),
                ("strata", models.JSONField()),
                ("n_frame", models.PositiveIntegerField()),
                ("frame", models.JSONField(blank=True, default=dict)),
                ("frame_sha256", models.CharField(max_length=64)),
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
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("name",), name="sample_name_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("slug",), name="sample_slug_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewForm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                ("version", models.PositiveSmallIntegerField(default=1)),
                ("design", models.JSONField()),
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
                "ordering": ("name", "-version"),
                "constraints": [models.UniqueConstraint(fields=("name", "version"), name="review_form_version_once")],
            },
        ),
        migrations.CreateModel(
            name="ReviewRound",
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
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="rounds", to="annotation.samplingplan"
                    ),
                ),
                ("state", models.CharField(default=annotation.enums.RoundState["DRAFT"], max_length=16)),
                ("steps", models.CharField(default=annotation.enums.RoundSteps["FULL"], max_length=8)),
                (
                    "reviewers_per_question",
                    models.PositiveSmallIntegerField(default=1, verbose_name="reviews of each question"),
                ),
                ("seed", models.BigIntegerField(default=0, verbose_name="seed")),
                ("instructions", models.TextField(blank=True, verbose_name="instructions")),
                ("hidden_tools", models.JSONField(blank=True, default=list)),
                ("least_width", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("least_height", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("double_click", models.BooleanField(default=False)),
                ("simulated", models.BooleanField(default=False)),
                (
                    "form",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rounds",
                        to="annotation.reviewform",
                    ),
                ),
                ("percent_repeated", models.PositiveSmallIntegerField(default=0)),
                (
                    "shared_answers",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.reviewround",
                    ),
                ),
                ("pass_mark", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("shows_decisions", models.BooleanField(default=False)),
                (
                    "adjudicates",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="adjudication",
                        to="annotation.reviewround",
                    ),
                ),
                (
                    "calibrates",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calibration_cases",
                        to="annotation.reviewround",
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
                ("created_at", models.DateTimeField()),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("due_at", models.DateTimeField(blank=True, null=True)),
                ("completed_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("name",), name="round_name_once"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deleted_at__isnull", True)), fields=("slug",), name="round_slug_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("least_height__isnull", True), ("least_width__isnull", True)),
                            models.Q(("least_height__isnull", False), ("least_width__isnull", False)),
                            _connector="OR",
                        ),
                        name="round_window_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("pass_mark__isnull", True), ("shared_answers__isnull", True)),
                            models.Q(("pass_mark__isnull", False), ("shared_answers__isnull", False)),
                            _connector="OR",
                        ),
                        name="round_calibration_whole",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("role", models.CharField(max_length=20)),
                (
                    "round",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="memberships",
                        to="annotation.reviewround",
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
                ("by_provider", models.BooleanField(default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("user", "role", "round"), name="membership_once_per_round"),
                    models.UniqueConstraint(
                        condition=models.Q(("round__isnull", True)),
                        fields=("user", "role"),
                        name="membership_once_per_site",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token_sha256", models.CharField(db_index=True, max_length=64)),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="e-mail")),
                ("name", models.CharField(blank=True, max_length=200, verbose_name="name")),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("role", models.CharField(max_length=20)),
                (
                    "round",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="annotation.reviewround",
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
                    "used_by",
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
                "ordering": ("-created_at",),
                "abstract": False,
                "constraints": [
                    models.UniqueConstraint(fields=("token_sha256", "role", "round"), name="invitation_once_per_round"),
                    models.UniqueConstraint(
                        condition=models.Q(("round__isnull", True)),
                        fields=("token_sha256", "role"),
                        name="invitation_once_per_site",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CalibrationResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibrations",
                        to="annotation.reviewround",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("rule", models.CharField(max_length=16)),
                ("n_compared", models.PositiveIntegerField(default=0)),
                ("n_agreed", models.PositiveIntegerField(default=0)),
                ("passed", models.BooleanField(default=False)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "let_in_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("let_in_at", models.DateTimeField(blank=True, null=True)),
                ("let_in_reason", models.TextField(blank=True)),
            ],
            options={
                "ordering": ("round", "pk"),
                "constraints": [models.UniqueConstraint(fields=("round", "reviewer"), name="calibration_once")],
            },
        ),
        migrations.CreateModel(
            name="AuditEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
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
                ("act", models.CharField(max_length=60)),
                ("subject_type", models.CharField(blank=True, max_length=40)),
                ("subject_id", models.CharField(blank=True, max_length=40)),
                ("facts", models.JSONField(default=dict)),
                ("previous_sha256", models.CharField(max_length=64)),
                ("sha256", models.CharField(max_length=64, unique=True)),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(fields=["subject_type", "subject_id"], name="audit_subject"),
                    models.Index(fields=["act", "id"], name="audit_act"),
                    models.Index(fields=["at"], name="audit_time"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("title", models.CharField(max_length=200)),
                ("params", models.JSONField(default=dict)),
                ("state", models.CharField(default=annotation.enums.JobState["QUEUED"], max_length=10)),
                ("progress_done", models.PositiveBigIntegerField(default=0)),
                ("progress_total", models.PositiveBigIntegerField(default=0)),
                ("message", models.CharField(blank=True, max_length=300)),
                ("result", models.JSONField(blank=True, null=True)),
                ("error", models.TextField(blank=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("cancel_requested", models.BooleanField(default=False)),
                ("runner", models.CharField(blank=True, max_length=40)),
                (
                    "created_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="jobs",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("nudged_at", models.DateTimeField(blank=True, null=True)),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["state"],
                        name="job_unfinished",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Upload",
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
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("purpose", models.CharField(max_length=16)),
                (
                    "bank",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="uploads",
                        to="annotation.questionbank",
                    ),
                ),
                ("n_files", models.PositiveIntegerField(default=0)),
                ("n_bytes", models.PositiveBigIntegerField(default=0)),
                ("asked", models.JSONField(blank=True, default=dict)),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="annotation.job",
                    ),
                ),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at",),
            },
        ),
        migrations.CreateModel(
            name="BankImport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("kind", models.CharField(default=annotation.enums.ImportKind["FILE"], max_length=10)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="imports",
                        to="annotation.questionbank",
                    ),
                ),
                ("state", models.CharField(default=annotation.enums.ImportState["RUNNING"], max_length=10)),
                ("file_name", models.CharField(max_length=200)),
                ("file_sha256", models.CharField(blank=True, max_length=64)),
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
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="annotation.job",
                    ),
                ),
                ("started_at", models.DateTimeField()),
                ("heartbeat_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("result", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "ordering": ("-started_at",),
            },
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
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation_runs",
                        to="annotation.questionbank",
                    ),
                ),
                ("seed", models.BigIntegerField(verbose_name="seed")),
                ("per_exam", models.PositiveSmallIntegerField(verbose_name="questions per exam")),
                ("source", models.CharField(max_length=8)),
                ("file_name", models.CharField(blank=True, max_length=200)),
                ("file_sha256", models.CharField(blank=True, max_length=64)),
                ("images_root", models.TextField(blank=True)),
                (
                    "bullets_batch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.callbatch"
                    ),
                ),
                (
                    "questions_prompt",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.promptversion"
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
                ("refused", models.JSONField(default=list)),
                ("not_made", models.JSONField(default=list)),
                ("n_made", models.PositiveIntegerField(default=0)),
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
                ("bullets_taken_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("-created_at", "-pk"),
            },
        ),
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
                (
                    "first_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.generationrun"
                    ),
                ),
                (
                    "second_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.generationrun"
                    ),
                ),
                ("issue_rate", models.FloatField()),
                ("difference", models.FloatField()),
                ("power", models.FloatField()),
                ("correlation", models.FloatField()),
                ("n_planned", models.PositiveIntegerField()),
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
            },
        ),
        migrations.CreateModel(
            name="Exam",
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
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="exams",
                        to="annotation.questionbank",
                    ),
                ),
                (
                    "bank_import",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.bankimport",
                    ),
                ),
                ("pseudonym", models.CharField(max_length=16)),
                ("patient_pseudonym", models.CharField(blank=True, max_length=16)),
                ("age_years", models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="age")),
                ("sex", models.CharField(blank=True, default=annotation.enums.Sex["UNKNOWN"], max_length=1)),
                (
                    "prior",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="later_exams",
                        to="annotation.exam",
                    ),
                ),
            ],
            options={
                "ordering": ("id",),
                "indexes": [
                    models.Index(condition=models.Q(("prior__isnull", False)), fields=["prior"], name="exam_prior")
                ],
            },
        ),
        migrations.CreateModel(
            name="Image",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "exam",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="images", to="annotation.exam"
                    ),
                ),
                ("position", models.PositiveSmallIntegerField(default=0)),
                ("state", models.CharField(default=annotation.enums.ImageState["PENDING"], max_length=12)),
                ("state_reason", models.CharField(blank=True, max_length=300)),
                ("view_position", models.CharField(default=annotation.enums.ViewPosition["UNKNOWN"], max_length=8)),
                ("laterality", models.CharField(blank=True, max_length=1)),
                ("modality", models.CharField(blank=True, max_length=4)),
                ("rows", models.PositiveIntegerField(blank=True, null=True)),
                ("columns", models.PositiveIntegerField(blank=True, null=True)),
                ("bits_stored", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("photometric_interpretation", models.CharField(blank=True, max_length=16)),
                ("display", models.JSONField(blank=True, null=True)),
                ("warnings", models.JSONField(blank=True, default=list)),
                ("text_findings", models.JSONField(blank=True, default=list)),
                ("source_sha256", models.CharField(blank=True, max_length=64)),
                ("pixels_sha256", models.CharField(blank=True, max_length=64)),
                ("object_name", models.CharField(blank=True, max_length=64)),
                ("deidentification", models.CharField(blank=True, max_length=32)),
                ("attribution", models.CharField(blank=True, max_length=300)),
                ("licence", models.CharField(blank=True, max_length=100)),
                ("simulated", models.BooleanField(default=False)),
                ("ingested_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("exam", "position", "id"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("source_sha256", ""), _negated=True),
                        fields=["source_sha256"],
                        name="image_source",
                    ),
                    models.Index(
                        condition=models.Q(("state__in", ["checking", "quarantined"])),
                        fields=["state"],
                        name="image_attention",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelPicture",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "image",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.image",
                    ),
                ),
                ("policy", models.CharField(max_length=32)),
                ("sha256", models.CharField(db_index=True, max_length=64)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("n_bytes", models.PositiveIntegerField()),
                ("made_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("image", "policy"), name="picture_once")],
            },
        ),
        migrations.CreateModel(
            name="Rendition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "image",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="renditions", to="annotation.image"
                    ),
                ),
                ("kind", models.CharField(max_length=10)),
                (
                    "name",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("bits", models.PositiveSmallIntegerField()),
                ("n_bytes", models.PositiveBigIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("image", "kind"), name="rendition_one_per_kind")],
            },
        ),
        migrations.CreateModel(
            name="Question",
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="questions",
                        to="annotation.questionbank",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "exam",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="questions", to="annotation.exam"
                    ),
                ),
                ("state", models.CharField(db_default=annotation.enums.QuestionState["IMPORTED"], max_length=16)),
            ],
            options={
                "ordering": ("bank", "number"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "imported"), _negated=True),
                        fields=["bank", "state", "number"],
                        name="question_by_state",
                    )
                ],
                "constraints": [models.UniqueConstraint(fields=("bank", "number"), name="question_number_in_bank")],
            },
        ),
        migrations.CreateModel(
            name="QuestionTag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "question",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.question",
                    ),
                ),
                ("word", models.CharField(max_length=40)),
                (
                    "by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("at", models.DateTimeField()),
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
                ("removed_at", models.DateTimeField(blank=True, null=True)),
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
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.question"
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("text", models.TextField()),
                ("at", models.DateTimeField()),
                ("is_todo", models.BooleanField(default=False)),
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
                ("done_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("at", "pk"),
            },
        ),
        migrations.CreateModel(
            name="Mention",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "comment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mentions",
                        to="annotation.questioncomment",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("seen_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("person__name", "pk"),
                "constraints": [models.UniqueConstraint(fields=("comment", "person"), name="mention_once")],
            },
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "question",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="revisions", to="annotation.question"
                    ),
                ),
                ("number", models.PositiveSmallIntegerField(default=1)),
                (
                    "bank",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.questionbank",
                    ),
                ),
                (
                    "bank_import",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="revisions",
                        to="annotation.bankimport",
                    ),
                ),
                (
                    "superseded_by",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="superseded",
                        to="annotation.bankimport",
                    ),
                ),
                ("stem", models.TextField(verbose_name="question")),
                ("options", models.JSONField(verbose_name="options")),
                ("task", models.CharField(max_length=12)),
                ("category", models.CharField(blank=True, max_length=200, verbose_name="category")),
                ("subcategory", models.CharField(blank=True, max_length=200, verbose_name="subcategory")),
                ("question_class", models.CharField(blank=True, max_length=200, verbose_name="class")),
                (
                    "difficulty",
                    models.CharField(blank=True, default=annotation.enums.Difficulty["UNKNOWN"], max_length=6),
                ),
                ("content_sha256", models.CharField(max_length=64)),
                ("images_left_out", models.JSONField(blank=True, null=True)),
            ],
            options={
                "ordering": ("bank", "question"),
                "indexes": [
                    models.Index(fields=["bank", "task", "question"], name="revision_by_task"),
                    models.Index(fields=["bank", "category", "question"], name="revision_by_category"),
                    models.Index(
                        condition=models.Q(("superseded_by__isnull", False)),
                        fields=["superseded_by"],
                        name="revision_superseded",
                    ),
                    models.Index(
                        condition=models.Q(("images_left_out__isnull", False)),
                        fields=["bank"],
                        name="revision_left_out",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calls",
                        to="annotation.callbatch",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                (
                    "revision",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
                (
                    "exam",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.exam",
                    ),
                ),
                ("rotation", models.PositiveSmallIntegerField(default=0)),
                ("repeat", models.PositiveSmallIntegerField(default=0)),
                ("values", models.JSONField(blank=True, null=True)),
                ("pictures", models.JSONField(blank=True, null=True)),
                ("request_sha256", models.CharField(blank=True, max_length=64)),
                ("n_sent", models.PositiveSmallIntegerField(default=0)),
                ("n_attempts", models.PositiveSmallIntegerField(default=0)),
                ("outcome", models.CharField(default=annotation.call_enums.CallOutcome["NOT_ASKED"], max_length=16)),
                ("option", models.CharField(blank=True, max_length=1)),
                ("n_input", models.PositiveIntegerField(blank=True, null=True)),
                ("n_cached", models.PositiveIntegerField(blank=True, null=True)),
                ("n_output", models.PositiveIntegerField(blank=True, null=True)),
                ("cost", models.DecimalField(blank=True, decimal_places=8, max_digits=14, null=True)),
            ],
            options={
                "ordering": ("batch", "number"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("outcome", "not_asked")), fields=["batch", "number"], name="call_not_asked"
                    ),
                    models.Index(
                        fields=["batch", "outcome", "cost", "n_sent", "n_attempts", "n_input", "n_output"],
                        name="call_tally",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("batch", "number"), name="call_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("revision__isnull", False)),
                        fields=("batch", "revision", "rotation", "repeat"),
                        name="call_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="CallAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "call",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="annotation.modelcall",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                ("request_sha256", models.CharField(max_length=64)),
                ("started_at", models.DateTimeField(null=True)),
                ("seconds", models.FloatField(null=True)),
                ("ending", models.CharField(max_length=20)),
                ("status", models.PositiveSmallIntegerField(null=True)),
                ("request_id", models.CharField(blank=True, max_length=200)),
                ("body", models.TextField(blank=True)),
                ("problem", models.CharField(blank=True, max_length=200)),
                ("model", models.CharField(blank=True, max_length=200)),
                ("fingerprint", models.CharField(blank=True, max_length=200)),
                ("finish_reason", models.CharField(blank=True, max_length=40)),
                ("n_input", models.PositiveIntegerField(null=True)),
                ("n_cached", models.PositiveIntegerField(null=True)),
                ("n_output", models.PositiveIntegerField(null=True)),
                ("cost", models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                ("outcome", models.CharField(max_length=16)),
                ("rule", models.CharField(max_length=40)),
            ],
            options={
                "ordering": ("call", "number"),
                "constraints": [models.UniqueConstraint(fields=("call", "number"), name="attempt_once")],
            },
        ),
        migrations.CreateModel(
            name="QuestionVector",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "embedding",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.embedding",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                ("text_sha256", models.CharField(max_length=64)),
                ("vector", models.BinaryField()),
            ],
            options={
                "indexes": [models.Index(fields=["embedding", "text_sha256"], name="vector_of_text")],
                "constraints": [models.UniqueConstraint(fields=("embedding", "revision"), name="vector_once")],
            },
        ),
        migrations.CreateModel(
            name="JudgedPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "trial",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pairs",
                        to="annotation.pairtrial",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "first",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
                (
                    "second",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
                ("similarity", models.FloatField()),
            ],
            options={
                "ordering": ("trial", "number"),
                "constraints": [models.UniqueConstraint(fields=("trial", "number"), name="pair_once")],
            },
        ),
        migrations.CreateModel(
            name="PairJudgement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "pair",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="judgements",
                        to="annotation.judgedpair",
                    ),
                ),
                (
                    "judge",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("is_same", models.BooleanField()),
                ("judged_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("pair", "judge"), name="judged_once")],
            },
        ),
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
                (
                    "bank",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.questionbank",
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
                ("rule", models.CharField(max_length=32)),
                ("rule_version", models.PositiveSmallIntegerField()),
                ("place", models.CharField(max_length=11)),
                ("detail", models.TextField()),
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
                    "call",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.modelcall",
                    ),
                ),
                ("verdict", models.CharField(blank=True, max_length=9)),
                ("superseded_at", models.DateTimeField(blank=True, null=True)),
                ("found_at", models.DateTimeField()),
                ("dismissed_at", models.DateTimeField(blank=True, null=True)),
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
                ("dismiss_reason", models.CharField(blank=True, max_length=500, verbose_name="reason")),
            ],
            options={
                "ordering": ("revision", "rule", "place"),
                "indexes": [
                    models.Index(
                        condition=models.Q(("dismissed_at__isnull", True), ("superseded_at__isnull", True)),
                        fields=["bank", "rule", "revision"],
                        name="finding_of_bank",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("call", None)),
                        fields=("revision", "rule", "rule_version", "place"),
                        name="finding_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("call__isnull", False)), fields=("call",), name="verdict_once"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Report",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "exam",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.exam"
                    ),
                ),
                ("indication", models.TextField(blank=True)),
                ("comparison", models.TextField(blank=True)),
                ("findings", models.TextField(blank=True)),
                ("impression", models.TextField(blank=True)),
                ("content_sha256", models.CharField(max_length=64)),
            ],
        ),
        migrations.CreateModel(
            name="AnswerKey",
            fields=[
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="annotation.revision",
                    ),
                ),
                ("key", models.CharField(max_length=1)),
                ("explanation", models.TextField(blank=True)),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.report",
                    ),
                ),
                ("extra", models.TextField(blank=True, default="{}")),
            ],
        ),
        migrations.CreateModel(
            name="GenerationReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.generationrun",
                    ),
                ),
                ("number", models.PositiveIntegerField()),
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
                ("record", models.TextField(blank=True)),
                ("sha256", models.CharField(max_length=64)),
            ],
            options={
                "ordering": ("run", "number"),
                "constraints": [models.UniqueConstraint(fields=("run", "number"), name="report_number_once")],
            },
        ),
        migrations.CreateModel(
            name="Bullet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.generationreport",
                    ),
                ),
                ("number", models.PositiveSmallIntegerField()),
                (
                    "call",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.modelcall",
                    ),
                ),
                ("quote", models.TextField()),
                ("start", models.PositiveIntegerField(null=True)),
                ("end", models.PositiveIntegerField(null=True)),
                ("statement", models.TextField()),
                ("location", models.CharField(blank=True, max_length=400)),
                ("polarity", models.CharField(max_length=8)),
                ("compares_with_prior", models.BooleanField()),
                ("fault", models.CharField(blank=True, max_length=40)),
            ],
            options={
                "ordering": ("report", "number"),
                "constraints": [models.UniqueConstraint(fields=("report", "number"), name="bullet_number_once")],
            },
        ),
        migrations.CreateModel(
            name="SeenKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "person",
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.question"
                    ),
                ),
                ("source", models.CharField(max_length=16)),
                ("seen_at", models.DateTimeField()),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("person", "question"), name="seen_key_once")],
            },
        ),
        migrations.CreateModel(
            name="SampledQuestion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="questions",
                        to="annotation.samplingplan",
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                ("stratum", models.CharField(max_length=200)),
            ],
            options={
                "ordering": ("plan", "position"),
                "constraints": [
                    models.UniqueConstraint(fields=("plan", "position"), name="sampled_position_once"),
                    models.UniqueConstraint(fields=("plan", "revision"), name="sampled_revision_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Assignment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to="annotation.reviewround",
                    ),
                ),
                (
                    "reviewer",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignments",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                ("position", models.PositiveIntegerField()),
                ("state", models.CharField(default=annotation.enums.AssignmentState["WAITING"], max_length=10)),
                ("skip_reason", models.CharField(blank=True, max_length=300)),
                (
                    "returned_because",
                    models.CharField(blank=True, default=annotation.enums.ReturnReason["NONE"], max_length=16),
                ),
                ("skipped_at", models.DateTimeField(blank=True, null=True)),
                ("opened_at", models.DateTimeField(blank=True, null=True)),
                ("report_opened_at", models.DateTimeField(blank=True, null=True)),
                (
                    "reassigned_from",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.assignment",
                    ),
                ),
                (
                    "repeats",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeated_by",
                        to="annotation.assignment",
                    ),
                ),
            ],
            options={
                "ordering": ("round", "reviewer", "position"),
                "indexes": [
                    models.Index(fields=["reviewer", "round", "state", "position"], name="assignment_worklist"),
                    models.Index(fields=["reviewer", "revision"], name="assignment_of_question"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(models.Q(("state", "withdrawn"), _negated=True), ("repeats", None)),
                        fields=("round", "reviewer", "revision"),
                        name="assignment_once_per_reviewer",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(models.Q(("state", "withdrawn"), _negated=True), ("repeats__isnull", False)),
                        fields=("repeats",),
                        name="repeated_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BlindAnswer",
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
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="blind_answer",
                        to="annotation.assignment",
                    ),
                ),
                ("best", models.CharField(blank=True, max_length=1)),
                ("defensible", models.JSONField(default=list)),
                ("difficulty", models.CharField(max_length=6)),
                ("answered_at", models.DateTimeField()),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ReviewDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "assignment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="draft", to="annotation.assignment"
                    ),
                ),
                ("data", models.JSONField(default=dict)),
                ("saved_at", models.DateTimeField()),
                ("sequence", models.PositiveIntegerField(default=0)),
                ("page", models.CharField(blank=True, default="", max_length=36)),
            ],
        ),
        migrations.CreateModel(
            name="Review",
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
                    "assignment",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="reviews", to="annotation.assignment"
                    ),
                ),
                ("version", models.PositiveSmallIntegerField(default=1)),
                ("grades", models.JSONField(default=dict)),
                ("needs_image", models.CharField(blank=True, max_length=12)),
                ("relevant", models.CharField(blank=True, max_length=12)),
                ("flags", models.JSONField(default=list)),
                ("withdrawn_flags", models.JSONField(default=list)),
                (
                    "disagreement",
                    models.CharField(blank=True, default=annotation.enums.Disagreement["NONE"], max_length=16),
                ),
                ("verdict", models.CharField(max_length=12)),
                ("verdict_reason", models.TextField(blank=True)),
                ("reasoning", models.TextField(blank=True)),
                ("comment", models.TextField(blank=True)),
                ("category", models.CharField(blank=True, max_length=200)),
                ("form", models.CharField(db_default="paper-1", default="paper-1", max_length=100)),
                ("simulated", models.BooleanField(default=False)),
                ("submitted_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("assignment", "version"),
                "constraints": [models.UniqueConstraint(fields=("assignment", "version"), name="review_version_once")],
            },
        ),
        migrations.CreateModel(
            name="ReviewEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "assignment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="annotation.assignment",
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
                    models.UniqueConstraint(fields=("assignment", "page", "sequence"), name="review_event_once")
                ],
            },
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
                (
                    "round",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlements",
                        to="annotation.reviewround",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlements",
                        to="annotation.revision",
                    ),
                ),
                ("outcome", models.CharField(max_length=16)),
                ("rule", models.CharField(max_length=16)),
                ("reasons", models.JSONField(default=list)),
                ("settled_at", models.DateTimeField()),
                (
                    "assignment",
                    models.OneToOneField(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="settlement",
                        to="annotation.assignment",
                    ),
                ),
                ("shown_at", models.DateTimeField(blank=True, null=True)),
                ("decision", models.CharField(blank=True, default="", max_length=8)),
                ("reason", models.TextField(blank=True)),
                ("against_all", models.BooleanField(default=False)),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "ordering": ("round", "pk"),
                "constraints": [models.UniqueConstraint(fields=("round", "revision"), name="settlement_once")],
            },
        ),
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
                (
                    "before",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.revision"
                    ),
                ),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("reason", models.TextField(verbose_name="reason")),
                (
                    "settlement",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="edits",
                        to="annotation.settlement",
                    ),
                ),
                (
                    "undoes",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.revision",
                    ),
                ),
                ("made_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="WorkerBeat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40, unique=True)),
                ("beat_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="WebhookCursor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("webhook", models.CharField(max_length=40, unique=True)),
                ("event_id", models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    annotation.models.fields.PublicIdField(
                        default=annotation.models.fields.public_id, editable=False, max_length=16, unique=True
                    ),
                ),
                ("webhook", models.CharField(max_length=40, verbose_name="webhook")),
                ("event", models.CharField(max_length=40, verbose_name="event")),
                ("body", models.TextField()),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("made_at", models.DateTimeField()),
                ("next_at", models.DateTimeField(blank=True, null=True)),
                ("is_taken", models.BooleanField(default=False)),
                ("sent_at", models.DateTimeField(blank=True, null=True)),
                ("status", models.PositiveSmallIntegerField(blank=True, null=True)),
                ("answer", models.CharField(blank=True, max_length=300)),
            ],
            options={
                "ordering": ("-made_at", "-pk"),
                "indexes": [models.Index(fields=["next_at"], name="delivery_due")],
            },
        ),
    ]
    operations = [
        CreateModels(tables),
        migrations.RunPython(add_triggers, remove_triggers, elidable=False),
    ]
