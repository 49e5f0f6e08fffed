from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.db import migrations, models
from django.db.models import CASCADE, PROTECT, Q, UniqueConstraint
from django.db.models.fields import Field

from annotation.models.fields import PublicIdField
from readerstudy.enums import BenchmarkState, SubmissionWay, TeamState
from readerstudy.triggers import add_board_triggers, remove_board_triggers

EMPTY: dict[str, Any] = {"blank": True, "null": True}


def of(to: str, related_name: str = "+", on_delete: Callable[..., None] = PROTECT, **options: Any) -> Field[Any, Any]:
    return models.ForeignKey(to, on_delete, related_name=related_name, **options)


def person() -> Field[Any, Any]:
    return of(settings.AUTH_USER_MODEL, **EMPTY)


def time(**options: Any) -> Field[Any, Any]:
    return models.DateTimeField(**options)


def line(length: int, **options: Any) -> Field[Any, Any]:
    return models.CharField(max_length=length, **options)


def once(name: str, *fields: str, **options: Any) -> UniqueConstraint:
    return UniqueConstraint(fields=fields, name=name, **options)


def table(model: str, ordering: tuple[str, ...], /, *constraints: Any, **fields: Any) -> migrations.CreateModel:
    key = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
    options = {"ordering": ordering, "constraints": list(constraints)}
    return migrations.CreateModel(model, [("id", key), *fields.items()], options=options)


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0012_splits"),
        ("readerstudy", "0004_own_analysis"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        table(
            *("Benchmark", ("-created_at",)),
            name=line(100, verbose_name="name"),
            slug=models.SlugField(max_length=80, unique=True),
            about=models.TextField(blank=True, verbose_name="what it measures, for its public page"),
            contact=line(200, verbose_name="contact"),
            state=line(8, default=BenchmarkState.DRAFT),
            decisions=models.JSONField(blank=True, default=dict),
            created_at=time(),
            frozen_at=time(**EMPTY),
            closed_at=time(**EMPTY),
            bank=of("annotation.questionbank"),
            created_by=person(),
        ),
        table(
            *("BenchmarkVersion", ("benchmark", "number"), once("benchmark_version_once", "benchmark", "number")),
            number=models.PositiveSmallIntegerField(),
            protocol=models.TextField(),
            protocol_sha256=line(64),
            keys_salt=line(64),
            changes=models.JSONField(blank=True, default=list),
            made_at=time(),
            benchmark=of("readerstudy.benchmark", "versions"),
            made_by=person(),
        ),
        table(
            *("BenchmarkQuestion", ("version", "place")),
            *(once("benchmark_place_once", "version", "place"), once("benchmark_name_once", "version", "name")),
            place=models.PositiveIntegerField(),
            name=line(16),
            revision=of("annotation.revision"),
            version=of("readerstudy.benchmarkversion", "questions", db_index=False),
        ),
        table(
            *("Edition", ("benchmark", "number"), once("edition_once", "benchmark", "number")),
            number=models.PositiveSmallIntegerField(),
            due_on=models.DateField(verbose_name="date"),
            proposed_at=time(**EMPTY),
            confirmed_at=time(**EMPTY),
            published_at=time(**EMPTY),
            benchmark=of("readerstudy.benchmark", "editions", db_index=False),
            confirmed_by=person(),
            proposed_by=person(),
        ),
        table(
            *("EditionResult", ("edition", "version"), once("edition_scored_once", "edition", "version")),
            result=models.TextField(),
            result_sha256=line(64),
            scored_at=time(),
            edition=of("readerstudy.edition", "results", db_index=False),
            scored_by=person(),
            version=of("readerstudy.benchmarkversion", "results"),
        ),
        table(
            *("Team", ("benchmark", "name", "pk")),
            once("team_of_benchmark_once", "benchmark", "name", condition=~Q(state="refused")),
            public_id=PublicIdField(),
            name=line(100, verbose_name="name"),
            institution=line(200, verbose_name="institution"),
            contact=models.EmailField(max_length=254, verbose_name="contact"),
            link=models.URLField(blank=True, max_length=500, verbose_name="link"),
            anonymous_until=models.DateField(**EMPTY, verbose_name="anonymous until"),
            state=line(8, default=TeamState.ASKED),
            asked_at=time(),
            decided_at=time(**EMPTY),
            refused_because=models.TextField(blank=True),
            asked_by=person(),
            benchmark=of("readerstudy.benchmark", "teams"),
            decided_by=person(),
        ),
        table(
            *("Statement", ("team", "number"), once("statement_once", "team", "number")),
            public_id=PublicIdField(),
            number=models.PositiveSmallIntegerField(),
            form=line(20),
            answers=models.JSONField(),
            made_at=time(),
            passed_at=time(**EMPTY),
            refused_because=models.TextField(blank=True),
            made_by=person(),
            passed_by=person(),
            team=of("readerstudy.team", "statements"),
        ),
        table(
            *("Submission", ("team", "number"), once("submission_number_once", "team", "number")),
            once("submission_of_file_once", "team", "version", "file_sha256", "duplicates"),
            models.CheckConstraint(
                condition=Q(is_sound=False, answers="") | Q(is_sound=True) & ~Q(answers=""), name="sound_has_answers"
            ),
            public_id=PublicIdField(),
            number=models.PositiveIntegerField(),
            way=line(8, default=SubmissionWay.FILE),
            file_name=line(200),
            file_sha256=line(64),
            duplicates=line(5, blank=True),
            rule=line(20, blank=True),
            report=models.JSONField(blank=True, default=dict),
            is_sound=models.BooleanField(default=False),
            answers=models.TextField(blank=True),
            answers_sha256=line(64, blank=True),
            received_at=time(),
            checked_at=time(**EMPTY),
            withdrawn_at=time(**EMPTY),
            withdrawn_because=models.TextField(blank=True),
            model_run=of("readerstudy.modelrun", "submissions", **EMPTY),
            sent_by=person(),
            statement=of("readerstudy.statement", "submissions", **EMPTY),
            version=of("readerstudy.benchmarkversion", "submissions"),
            team=of("readerstudy.team", "submissions"),
        ),
        table(
            *("PublishedNumber", ("result", "pk")),
            what=line(200),
            value=models.JSONField(),
            rule=line(40),
            answers=models.JSONField(blank=True, default=list),
            told_to=line(40, default="everybody"),
            at=time(),
            result=of("readerstudy.editionresult", "numbers"),
            submission=of("readerstudy.submission", "numbers", **EMPTY),
        ),
        table(
            *("BoardNote", ("benchmark", "pk")),
            text=models.TextField(),
            made_at=time(),
            benchmark=of("readerstudy.benchmark", "notes"),
            made_by=person(),
            submission=of("readerstudy.submission", "notes", **EMPTY),
        ),
        table(
            *("EditionEntry", ("edition", "pk"), once("one_entry_of_team", "edition", "team")),
            public_id=PublicIdField(),
            named_at=time(),
            edition=of("readerstudy.edition", "entries", db_index=False),
            named_by=person(),
            submission=of("readerstudy.submission", "entries"),
            team=of("readerstudy.team", "entries"),
        ),
        table(
            *("TeamMember", ("team", "pk"), once("one_team_of_benchmark", "benchmark", "user")),
            added_at=time(),
            benchmark=of("readerstudy.benchmark", "+", db_index=False),
            team=of("readerstudy.team", "members", CASCADE),
            user=of(settings.AUTH_USER_MODEL),
        ),
        migrations.RunPython(add_board_triggers, remove_board_triggers, elidable=False),
    ]
