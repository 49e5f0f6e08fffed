"""Calls of models to endpoints: permissions, prices, prompts, pictures, batches, calls and attempts."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.call_enums
import annotation.enums
import annotation.models.fields


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0025_images_left_out"),
    ]

    operations = [
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
        migrations.AddField(
            model_name="job",
            name="nudged_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="questionbank",
            name="holds_quarters",
            field=models.BooleanField(default=False, verbose_name="images hold a quarter of width and height"),
        ),
        migrations.AddField(
            model_name="questionbank",
            name="terms",
            field=models.TextField(blank=True, verbose_name="terms of use"),
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
                ("endpoint", models.CharField(max_length=40)),
                ("model", models.CharField(max_length=200)),
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
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.questionbank"
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
                "verbose_name_plural": "call batches",
                "ordering": ("-created_at", "-pk"),
            },
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
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
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="calls",
                        to="annotation.callbatch",
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
            ],
            options={
                "ordering": ("batch", "number"),
            },
        ),
        migrations.CreateModel(
            name="CallAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                (
                    "call",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="attempts",
                        to="annotation.modelcall",
                    ),
                ),
            ],
            options={
                "ordering": ("call", "number"),
            },
        ),
        migrations.CreateModel(
            name="ModelPicture",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("policy", models.CharField(max_length=32)),
                ("sha256", models.CharField(db_index=True, max_length=64)),
                ("width", models.PositiveIntegerField()),
                ("height", models.PositiveIntegerField()),
                ("n_bytes", models.PositiveIntegerField()),
                ("made_at", models.DateTimeField()),
                (
                    "image",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotation.image",
                    ),
                ),
            ],
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
                ("set_at", models.DateTimeField()),
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
            ],
            options={
                "ordering": ("endpoint", "model", "-valid_from", "-pk"),
            },
        ),
        migrations.AddField(
            model_name="callbatch",
            name="price",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.price",
            ),
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
                ("reason", models.TextField(verbose_name="reason")),
                ("made_at", models.DateTimeField()),
                ("sha256", models.CharField(max_length=64)),
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
            ],
            options={
                "ordering": ("name", "-number"),
            },
        ),
        migrations.AddField(
            model_name="callbatch",
            name="prompt",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.promptversion"
            ),
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
                ("endpoint", models.CharField(max_length=40, verbose_name="endpoint")),
                ("questions", models.BooleanField(default=False, verbose_name="questions")),
                ("images", models.BooleanField(default=False, verbose_name="images")),
                ("reports", models.BooleanField(default=False, verbose_name="reports")),
                ("reason", models.TextField(verbose_name="reason")),
                ("agreement", models.TextField(verbose_name="agreement")),
                ("terms", models.TextField(blank=True)),
                ("given_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField(verbose_name="valid until")),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_because", models.TextField(blank=True)),
                (
                    "bank",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sending_permissions",
                        to="annotation.questionbank",
                    ),
                ),
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
            ],
            options={
                "ordering": ("-given_at", "-pk"),
            },
        ),
        migrations.AddField(
            model_name="callbatch",
            name="permission",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotation.sendingpermission"
            ),
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
                ("probed_at", models.DateTimeField()),
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
            ],
            options={
                "ordering": ("-probed_at", "-pk"),
                "indexes": [models.Index(fields=["endpoint", "model", "probed_at"], name="probe_of_model")],
            },
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                condition=models.Q(("outcome", "not_asked")), fields=["batch", "number"], name="call_not_asked"
            ),
        ),
        migrations.AddIndex(
            model_name="modelcall",
            index=models.Index(
                fields=["batch", "outcome", "cost", "n_sent", "n_attempts", "n_input", "n_output"], name="call_tally"
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(fields=("batch", "number"), name="call_number_once"),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(
                condition=models.Q(("revision__isnull", False)),
                fields=("batch", "revision", "rotation", "repeat"),
                name="call_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="callattempt",
            constraint=models.UniqueConstraint(fields=("call", "number"), name="attempt_once"),
        ),
        migrations.AddConstraint(
            model_name="modelpicture",
            constraint=models.UniqueConstraint(fields=("image", "policy"), name="picture_once"),
        ),
        migrations.AddConstraint(
            model_name="price",
            constraint=models.UniqueConstraint(fields=("endpoint", "model", "valid_from"), name="price_once_a_day"),
        ),
        migrations.AddConstraint(
            model_name="promptversion",
            constraint=models.UniqueConstraint(fields=("name", "number"), name="prompt_version_once"),
        ),
        migrations.AddConstraint(
            model_name="sendingpermission",
            constraint=models.CheckConstraint(
                condition=models.Q(("questions", True), ("images", True), ("reports", True), _connector="OR"),
                name="permission_of_something",
            ),
        ),
        migrations.AddIndex(
            model_name="callbatch",
            index=models.Index(
                condition=models.Q(("state__in", ["trying", "running"])), fields=["state"], name="batch_running"
            ),
        ),
    ]
