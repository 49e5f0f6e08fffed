"""Editions of a leaderboard as coordinators see them: who named what, the two persons, versions, the public board."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from msgspec import Struct

from annotation.enums import JobState
from annotation.models import Job, User
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.enums import BenchmarkState
from readerstudy.forms.leaderboard import NoteForm, VersionForm
from readerstudy.leaderboard.access import known_benchmark, looks_on, runs_leaderboards
from readerstudy.leaderboard.editions import PUBLISH, SCORE, VERIFY, is_over
from readerstudy.leaderboard.versions import changes_since
from readerstudy.models import Benchmark, Edition, EditionEntry, EditionResult


class EditionLine(Struct, frozen=True, kw_only=True):
    edition: Edition
    named: list[EditionEntry]
    results: list[EditionResult]
    is_over: bool
    may_propose: bool
    may_take_back: bool
    may_confirm: bool
    may_score_again: bool
    job: Job | None  # the newest that scores it, unless it is done


@person_required
@never_cache
@require_GET
def leaderboard_editions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    benchmark = known_benchmark(request.user, slug)
    if not looks_on(request.user):
        raise PermissionDenied(_("This is for coordinators."))
    context = {"benchmark": benchmark, **editions_context(benchmark, request.user)}
    return render(request, "readerstudy/leaderboard/editions.html", context)


def editions_context(benchmark: Benchmark, person: User) -> dict[str, Any]:
    """What _editions.html needs beside the benchmark."""
    at, may_run = timezone.now(), runs_leaderboards(person)
    versions = list(benchmark.versions.select_related("made_by").order_by("-number"))
    lines = _lines(benchmark, person, at, newest=versions[0].number if versions else 0)
    return {
        "may_run": may_run,
        "lines": lines,
        "is_published": any(line.results for line in lines),
        "public_address": f"/board/{benchmark.slug}/",
        "publish_job": _newest(PUBLISH, benchmark=benchmark.pk),
        "verify_job": _newest(VERIFY, benchmark=benchmark.pk),
        "versions": versions,
        "changes": changes_since(versions[0]) if versions else [],
        "version_form": VersionForm(),
        "notes": benchmark.notes.select_related("submission__team", "made_by").order_by("-pk"),
        "note_form": NoteForm(),
    }


def _lines(benchmark: Benchmark, person: User, at: datetime, *, newest: int) -> list[EditionLine]:
    rows = benchmark.editions.select_related("proposed_by", "confirmed_by").prefetch_related(
        "entries__team", "entries__submission", "results__version"
    )
    editions, runs = list(rows), runs_leaderboards(person)
    last = max((one.number for one in editions if one.published_at), default=0)
    return [
        _line(
            one,
            person,
            at,
            newest if one.number == last else 0,
            can_act=runs and benchmark.state == BenchmarkState.FROZEN,
        )
        for one in editions
    ]


def _line(one: Edition, person: User, at: datetime, newest: int, *, can_act: bool) -> EditionLine:
    """``newest``: the version on which it could be scored again; 0: on none."""
    results, named = list(one.results.all()), list(one.entries.all())
    open_to_act = can_act and one.published_at is None
    is_proposed = one.proposed_at is not None
    return EditionLine(
        edition=one,
        named=named,
        results=results,
        is_over=is_over(one, at),
        may_propose=open_to_act and not is_proposed and is_over(one, at) and bool(named),
        may_take_back=open_to_act and is_proposed and one.confirmed_at is None,
        may_confirm=open_to_act and is_proposed and one.proposed_by_id != person.pk,
        may_score_again=can_act and newest > max((result.version.number for result in results), default=newest),
        job=_unless_done(_newest(SCORE, edition=one.pk)) if is_proposed else None,
    )


def _newest(kind: str, **params: int) -> Job | None:
    asked = {f"params__{name}": value for name, value in params.items()}
    return Job.objects.filter(kind=kind, **asked).order_by("-pk").first()


def _unless_done(job: Job | None) -> Job | None:
    return None if job is None or job.state == JobState.SUCCEEDED else job
