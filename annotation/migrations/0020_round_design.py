"""Round design: forms of one's own, calibration with shared answers, hidden repeats, competences of reviewers."""

import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0019_findings_of_checks"),
    ]

    operations = [
        migrations.CreateModel(
            name="CalibrationResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule", models.CharField(max_length=16)),
                ("n_compared", models.PositiveIntegerField(default=0)),
                ("n_agreed", models.PositiveIntegerField(default=0)),
                ("passed", models.BooleanField(default=False)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("let_in_at", models.DateTimeField(blank=True, null=True)),
                ("let_in_reason", models.TextField(blank=True)),
            ],
            options={
                "ordering": ("round", "pk"),
            },
        ),
        migrations.CreateModel(
            name="Competence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("word", models.CharField(max_length=200, verbose_name="category or task")),
            ],
            options={
                "ordering": ("person", "word"),
            },
        ),
        migrations.CreateModel(
            name="ReviewForm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80, verbose_name="name")),
                ("version", models.PositiveSmallIntegerField(default=1)),
                ("design", models.JSONField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "ordering": ("name", "-version"),
            },
        ),
        migrations.RemoveConstraint(
            model_name="assignment",
            name="assignment_once_per_reviewer",
        ),
        migrations.AddField(
            model_name="assignment",
            name="repeats",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="repeated_by",
                to="annotation.assignment",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="form",
            field=models.CharField(db_default="paper-1", default="paper-1", max_length=100),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="calibrates",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="calibration_cases",
                to="annotation.reviewround",
            ),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="pass_mark",
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="percent_repeated",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="shared_answers",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotation.reviewround",
            ),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="shows_decisions",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="user",
            name="wants_digest",
            field=models.BooleanField(default=False, verbose_name="daily e-mail about review rounds"),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(models.Q(("state", "withdrawn"), _negated=True), ("repeats", None)),
                fields=("round", "reviewer", "revision"),
                name="assignment_once_per_reviewer",
            ),
        ),
        migrations.AddConstraint(
            model_name="assignment",
            constraint=models.UniqueConstraint(
                condition=models.Q(models.Q(("state", "withdrawn"), _negated=True), ("repeats__isnull", False)),
                fields=("repeats",),
                name="repeated_once",
            ),
        ),
        migrations.AddField(
            model_name="calibrationresult",
            name="let_in_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="calibrationresult",
            name="reviewer",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="calibrationresult",
            name="round",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="calibrations", to="annotation.reviewround"
            ),
        ),
        migrations.AddField(
            model_name="competence",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="competences", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="reviewform",
            name="created_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="reviewround",
            name="form",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="rounds",
                to="annotation.reviewform",
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewround",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("pass_mark__isnull", True), ("shared_answers__isnull", True)),
                    models.Q(("pass_mark__isnull", False), ("shared_answers__isnull", False)),
                    _connector="OR",
                ),
                name="round_calibration_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="calibrationresult",
            constraint=models.UniqueConstraint(fields=("round", "reviewer"), name="calibration_once"),
        ),
        migrations.AddConstraint(
            model_name="competence",
            constraint=models.UniqueConstraint(
                models.F("person"), django.db.models.functions.text.Lower("word"), name="competence_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="reviewform",
            constraint=models.UniqueConstraint(fields=("name", "version"), name="review_form_version_once"),
        ),
    ]
