from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotation.models.fields import PublicIdField
from readerstudy.enums import BenchmarkState, SubmissionWay, TeamState
from readerstudy.triggers import add_board_triggers, remove_board_triggers

ID = ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID"))


def belonging(to: str, related_name: str = "+", **options: Any) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(to, on_delete=django.db.models.deletion.PROTECT, related_name=related_name, **options)


def a_person() -> models.ForeignKey[Any, Any]:
    return belonging(settings.AUTH_USER_MODEL, null=True, blank=True)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_splits"),
        ("readerstudy", "0004_own_analysis"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            "Benchmark",
            [
                ID,
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("slug", models.SlugField(max_length=80, unique=True)),
                ("about", models.TextField(blank=True, verbose_name="what it measures, for its public page")),
                ("contact", models.CharField(max_length=200, verbose_name="contact")),
                ("state", models.CharField(default=BenchmarkState.DRAFT, max_length=8)),
                ("decisions", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("frozen_at", models.DateTimeField(blank=True, null=True)),
                ("closed_at", models.DateTimeField(blank=True, null=True)),
                ("bank", belonging("annotation.questionbank")),
                ("created_by", a_person()),
            ],
            options={"ordering": ("-created_at",)},
        ),
        migrations.CreateModel(
            "BenchmarkVersion",
            [
                ID,
                ("number", models.PositiveSmallIntegerField()),
                ("protocol", models.TextField()),
                ("protocol_sha256", models.CharField(max_length=64)),
                ("keys_salt", models.CharField(max_length=64)),
                ("changes", models.JSONField(blank=True, default=list)),
                ("made_at", models.DateTimeField()),
                ("benchmark", belonging("readerstudy.benchmark", "versions")),
                ("made_by", a_person()),
            ],
            options={"ordering": ("benchmark", "number")},
        ),
        migrations.CreateModel(
            "BenchmarkQuestion",
            [
                ID,
                ("place", models.PositiveIntegerField()),
                ("name", models.CharField(max_length=16)),
                ("revision", belonging("annotation.revision")),
                ("version", belonging("readerstudy.benchmarkversion", "questions", db_index=False)),
            ],
            options={"ordering": ("version", "place")},
        ),
        migrations.CreateModel(
            "Edition",
            [
                ID,
                ("number", models.PositiveSmallIntegerField()),
                ("due_on", models.DateField(verbose_name="date")),
                ("proposed_at", models.DateTimeField(blank=True, null=True)),
                ("confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("published_at", models.DateTimeField(blank=True, null=True)),
                ("benchmark", belonging("readerstudy.benchmark", "editions", db_index=False)),
                ("confirmed_by", a_person()),
                ("proposed_by", a_person()),
            ],
            options={"ordering": ("benchmark", "number")},
        ),
        migrations.CreateModel(
            "EditionResult",
            [
                ID,
                ("result", models.TextField()),
                ("result_sha256", models.CharField(max_length=64)),
                ("scored_at", models.DateTimeField()),
                ("edition", belonging("readerstudy.edition", "results", db_index=False)),
                ("scored_by", a_person()),
                ("version", belonging("readerstudy.benchmarkversion", "results")),
            ],
            options={"ordering": ("edition", "version")},
        ),
        migrations.CreateModel(
            "Statement",
            [
                ID,
                ("public_id", PublicIdField()),
                ("number", models.PositiveSmallIntegerField()),
                ("form", models.CharField(max_length=20)),
                ("answers", models.JSONField()),
                ("made_at", models.DateTimeField()),
                ("passed_at", models.DateTimeField(blank=True, null=True)),
                ("refused_because", models.TextField(blank=True)),
                ("made_by", a_person()),
                ("passed_by", a_person()),
            ],
            options={"ordering": ("team", "number")},
        ),
        migrations.CreateModel(
            "Submission",
            [
                ID,
                ("public_id", PublicIdField()),
                ("number", models.PositiveIntegerField()),
                ("way", models.CharField(default=SubmissionWay.FILE, max_length=8)),
                ("file_name", models.CharField(max_length=200)),
                ("file_sha256", models.CharField(max_length=64)),
                ("duplicates", models.CharField(blank=True, max_length=5)),
                ("rule", models.CharField(blank=True, max_length=20)),
                ("report", models.JSONField(blank=True, default=dict)),
                ("is_sound", models.BooleanField(default=False)),
                ("answers", models.TextField(blank=True)),
                ("answers_sha256", models.CharField(blank=True, max_length=64)),
                ("received_at", models.DateTimeField()),
                ("checked_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_at", models.DateTimeField(blank=True, null=True)),
                ("withdrawn_because", models.TextField(blank=True)),
                (
                    "model_run",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="readerstudy.modelrun",
                    ),
                ),
                ("sent_by", a_person()),
                (
                    "statement",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to="readerstudy.statement",
                    ),
                ),
                ("version", belonging("readerstudy.benchmarkversion", "submissions")),
            ],
            options={"ordering": ("team", "number")},
        ),
        migrations.CreateModel(
            "PublishedNumber",
            [
                ID,
                ("what", models.CharField(max_length=200)),
                ("value", models.JSONField()),
                ("rule", models.CharField(max_length=40)),
                ("answers", models.JSONField(blank=True, default=list)),
                ("told_to", models.CharField(default="everybody", max_length=40)),
                ("at", models.DateTimeField()),
                ("result", belonging("readerstudy.editionresult", "numbers")),
                (
                    "submission",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="numbers",
                        to="readerstudy.submission",
                    ),
                ),
            ],
            options={"ordering": ("result", "pk")},
        ),
        migrations.CreateModel(
            "BoardNote",
            [
                ID,
                ("text", models.TextField()),
                ("made_at", models.DateTimeField()),
                ("benchmark", belonging("readerstudy.benchmark", "notes")),
                ("made_by", a_person()),
                (
                    "submission",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notes",
                        to="readerstudy.submission",
                    ),
                ),
            ],
            options={"ordering": ("benchmark", "pk")},
        ),
        migrations.CreateModel(
            "Team",
            [
                ID,
                ("public_id", PublicIdField()),
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("institution", models.CharField(max_length=200, verbose_name="institution")),
                ("contact", models.EmailField(max_length=254, verbose_name="contact")),
                ("link", models.URLField(blank=True, max_length=500, verbose_name="link")),
                ("anonymous_until", models.DateField(blank=True, null=True, verbose_name="anonymous until")),
                ("state", models.CharField(default=TeamState.ASKED, max_length=8)),
                ("asked_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
                ("refused_because", models.TextField(blank=True)),
                ("asked_by", a_person()),
                ("benchmark", belonging("readerstudy.benchmark", "teams")),
                ("decided_by", a_person()),
            ],
            options={"ordering": ("benchmark", "name", "pk")},
        ),
        migrations.AddField("submission", "team", belonging("readerstudy.team", "submissions")),
        migrations.AddField("statement", "team", belonging("readerstudy.team", "statements")),
        migrations.CreateModel(
            "EditionEntry",
            [
                ID,
                ("public_id", PublicIdField()),
                ("named_at", models.DateTimeField()),
                ("edition", belonging("readerstudy.edition", "entries", db_index=False)),
                ("named_by", a_person()),
                ("submission", belonging("readerstudy.submission", "entries")),
                ("team", belonging("readerstudy.team", "entries")),
            ],
            options={"ordering": ("edition", "pk")},
        ),
        migrations.CreateModel(
            "TeamMember",
            [
                ID,
                ("added_at", models.DateTimeField()),
                ("benchmark", belonging("readerstudy.benchmark", "+", db_index=False)),
                (
                    "team",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="members", to="readerstudy.team"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={"ordering": ("team", "pk")},
        ),
        migrations.AddConstraint(
            "benchmarkversion", models.UniqueConstraint(fields=("benchmark", "number"), name="benchmark_version_once")
        ),
        migrations.AddConstraint(
            "benchmarkquestion", models.UniqueConstraint(fields=("version", "place"), name="benchmark_place_once")
        ),
        migrations.AddConstraint(
            "benchmarkquestion", models.UniqueConstraint(fields=("version", "name"), name="benchmark_name_once")
        ),
        migrations.AddConstraint(
            "edition", models.UniqueConstraint(fields=("benchmark", "number"), name="edition_once")
        ),
        migrations.AddConstraint(
            "editionresult", models.UniqueConstraint(fields=("edition", "version"), name="edition_scored_once")
        ),
        migrations.AddConstraint(
            "team",
            models.UniqueConstraint(
                condition=models.Q(("state", "refused"), _negated=True),
                fields=("benchmark", "name"),
                name="team_of_benchmark_once",
            ),
        ),
        migrations.AddConstraint(
            "submission", models.UniqueConstraint(fields=("team", "number"), name="submission_number_once")
        ),
        migrations.AddConstraint(
            "submission",
            models.UniqueConstraint(
                fields=("team", "version", "file_sha256", "duplicates"), name="submission_of_file_once"
            ),
        ),
        migrations.AddConstraint(
            "submission",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answers", ""), ("is_sound", False)),
                    models.Q(("is_sound", True), models.Q(("answers", ""), _negated=True)),
                    _connector="OR",
                ),
                name="sound_has_answers",
            ),
        ),
        migrations.AddConstraint(
            "statement", models.UniqueConstraint(fields=("team", "number"), name="statement_once")
        ),
        migrations.AddConstraint(
            "editionentry", models.UniqueConstraint(fields=("edition", "team"), name="one_entry_of_team")
        ),
        migrations.AddConstraint(
            "teammember", models.UniqueConstraint(fields=("benchmark", "user"), name="one_team_of_benchmark")
        ),
        migrations.RunPython(add_board_triggers, remove_board_triggers, elidable=False),
    ]
