"""Leaderboards: the list, a new one, the page of one with its teams, the page of a team, and that of editions."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.enums import JobState, Role
from annotation.jobs.queueing import job_under_way, jobs_about
from annotation.models import User
from annotation.site.home_files import here
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required
from annotation.views.site.downloads import resumable_response
from readerstudy.acts.leaderboards import run_benchmark, taken_benchmark
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.forms.leaderboard import BenchmarkForm, NoteForm, TeamForm, TwinsForm, VersionForm
from readerstudy.leaderboard.access import (
    ROLES,
    benchmarks_known_to,
    board_address,
    known_benchmark,
    looks_on,
    runs_leaderboards,
)
from readerstudy.leaderboard.benchmarks import (
    PACK,
    change_benchmark,
    create_benchmark,
    current_version,
    fewer_editions,
    planned_cells,
    problems_of,
)
from readerstudy.leaderboard.editions import PUBLISH, SCORE, VERIFY, can_be_scored, is_over, may_confirm
from readerstudy.leaderboard.inputs import packed_inputs, take_inputs
from readerstudy.leaderboard.public_twins import decision_on, needs_comparison, pool_of, twins_of
from readerstudy.leaderboard.teams import ask_for_team, reasons_against, refused_team
from readerstudy.leaderboard.versions import changes_since
from readerstudy.models import Benchmark, Edition, Team
from readerstudy.views.access import person_page, stored

TWINS_SHOWN = 100


@role_required(*ROLES)
@require_safe
def leaderboards(request: AuthenticatedRequest) -> HttpResponse:
    """All for coordinators and administrators; for people who submit models those that are frozen."""
    rows = list(benchmarks_known_to(request.user).prefetch_related("editions"))
    teams = {one.benchmark_id: one for one in Team.objects.filter(members__user=request.user)}
    context = {
        "rows": [(one, _next_edition(one), teams.get(one.pk)) for one in rows],
        "looks_on": looks_on(request.user),
        "may_create": runs_leaderboards(request.user),
    }
    return render(request, "readerstudy/leaderboard/list.html", context)


def _next_edition(benchmark: Benchmark) -> Any:
    open_ones = (one for one in benchmark.editions.all() if one.published_at is None)
    return None if benchmark.state == BenchmarkState.CLOSED else next(open_ones, None)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def leaderboard_new(request: AuthenticatedRequest) -> HttpResponse:
    """A draft; nothing is given to anybody before it is frozen."""
    form = BenchmarkForm(request.POST or None)
    if made := stored(form, lambda: create_benchmark(form.wanted(), **by(request))):
        return redirect("leaderboard", made.slug)
    context = {"form": form, "has_banks": form.fields["bank"].queryset.exists()}  # type: ignore[attr-defined]
    return render(request, "readerstudy/leaderboard/new.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
def leaderboard_edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    benchmark = run_benchmark(request.user, slug)
    form = BenchmarkForm.of(benchmark, request.POST or None)
    if stored(form, lambda: change_benchmark(benchmark, form.wanted(), **by(request))):
        messages.success(request, _("The draft is saved."))
        return redirect("leaderboard", slug)
    context = {"form": form, "benchmark": benchmark}
    return render(request, "readerstudy/leaderboard/edit.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", fresh=True)
def leaderboard(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """For coordinators, and for administrators to look at. People who submit models are led to the page of teams."""
    benchmark = known_benchmark(request.user, slug)
    if not looks_on(request.user):
        return redirect("leaderboard-team", slug)
    state = _drafted(benchmark) if benchmark.state == BenchmarkState.DRAFT else _frozen(benchmark)
    context = {"benchmark": benchmark, "runs": runs_leaderboards(request.user), **_told(benchmark), **state}
    return render(request, "readerstudy/leaderboard/benchmark.html", context)


def _told(benchmark: Benchmark) -> dict[str, Any]:
    """Which cells are told when."""
    cells, editions = planned_cells(benchmark), list(benchmark.editions.all())
    return {
        "cells": cells,
        "editions": editions,
        "fewer": fewer_editions(cells, len(editions)),
        "public_address": board_address(benchmark) if any(one.published_at for one in editions) else "",
    }


def _drafted(benchmark: Benchmark) -> dict[str, Any]:
    twins = list(twins_of(benchmark)[: TWINS_SHOWN + 1])
    return {
        "pool": pool_of(benchmark),
        "problems": problems_of(benchmark, timezone.now()),
        "needs_comparison": needs_comparison(benchmark.bank),
        "twins": [(one, decision_on(benchmark, one.revision.question.number)) for one in twins[:TWINS_SHOWN]],
        "n_twins": twins_of(benchmark).count() if len(twins) > TWINS_SHOWN else len(twins),
        "twins_form": TwinsForm(),
    }


def _frozen(benchmark: Benchmark) -> dict[str, Any]:
    teams = benchmark.teams.select_related("asked_by", "decided_by").prefetch_related("members__user")
    return {
        "version": current_version(benchmark),
        "teams": [(one, reasons_against(one) if one.state == TeamState.ASKED else []) for one in teams],
        **_inputs(benchmark),
    }


def _inputs(benchmark: Benchmark) -> dict[str, Any]:
    return {"packed": packed_inputs(benchmark), "packing": job_under_way(PACK, benchmark=benchmark.pk)}


@person_page("GET", "HEAD", "POST", fresh=True)
def leaderboard_team(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The own team; whoever is in none asks for one here."""
    benchmark = known_benchmark(request.user, slug)
    if looks_on(request.user):
        return redirect("leaderboard", slug)
    team = Team.objects.filter(benchmark=benchmark, members__user=request.user).first()
    form = TeamForm(request.POST or None)
    made = None if team else stored(form, lambda: ask_for_team(benchmark, **form.cleaned_data, **by(request)))
    if made:
        messages.success(request, _("A coordinator will decide about the team. Its state is on this page."))
        return redirect("leaderboard-team", slug)
    context = {
        "benchmark": benchmark,
        "team": team,
        "members": list(team.members.select_related("user")) if team else [],
        "refused": None if team else refused_team(request.user, benchmark),
        "form": form,
        **_told(benchmark),
        **(_inputs(benchmark) if team and team.state == TeamState.APPROVED else {}),
    }
    return render(request, "readerstudy/leaderboard/team.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", fresh=True)
def leaderboard_inputs(request: AuthenticatedRequest, slug: str) -> HttpResponse | StreamingHttpResponse:
    """The questions and images; a download that broke off goes on. Taking them is noted."""
    return inputs_response(request, taken_benchmark(request.user, slug), request.user)


def inputs_response(
    request: AuthenticatedRequest, benchmark: Benchmark, person: User
) -> HttpResponse | StreamingHttpResponse:
    found = take_inputs(benchmark, actor=person, at=timezone.now())
    name = f"{benchmark.slug}-{found.stem.partition('-')[0]}.zip"
    return resumable_response(request, here(found), etag=found.stem, name=name, content_type="application/zip")


# --- editions -------------------------------------------------------------------------------------
@person_page("GET", "HEAD", fresh=True)
def leaderboard_editions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    benchmark = known_benchmark(request.user, slug)
    if not looks_on(request.user):
        raise PermissionDenied(_("This is for coordinators."))
    versions = list(benchmark.versions.select_related("made_by").order_by("-number"))
    lines = _lines(benchmark, request.user, timezone.now(), newest=versions[0].number if versions else 0)
    context = {
        "benchmark": benchmark,
        "may_run": runs_leaderboards(request.user),
        "lines": lines,
        "is_published": any(line["results"] for line in lines),
        "public_address": board_address(benchmark),
        "publish_job": jobs_about(PUBLISH, benchmark=benchmark.pk).first(),
        "verify_job": jobs_about(VERIFY, benchmark=benchmark.pk).first(),
        "versions": versions,
        "changes": changes_since(versions[0]) if versions else [],
        "version_form": VersionForm(),
        "notes": benchmark.notes.select_related("submission__team", "made_by").order_by("-pk"),
        "note_form": NoteForm(),
    }
    return render(request, "readerstudy/leaderboard/editions.html", context)


def _lines(benchmark: Benchmark, person: User, at: datetime, *, newest: int) -> list[dict[str, Any]]:
    rows = benchmark.editions.select_related("proposed_by", "confirmed_by").prefetch_related(
        "entries__team", "entries__submission", "results__version"
    )
    can_act = runs_leaderboards(person) and benchmark.state == BenchmarkState.FROZEN
    last = max((one.number for one in rows if one.published_at), default=0)
    return [_line(one, person, at, newest if one.number == last else 0, can_act=can_act) for one in rows]


def _line(one: Edition, person: User, at: datetime, newest: int, *, can_act: bool) -> dict[str, Any]:
    """``newest``: the version on which it could be scored again; 0: on none."""
    results, is_proposed = one.results.all(), one.proposed_at is not None
    job = jobs_about(SCORE, edition=one.pk).first() if is_proposed else None
    return {
        "edition": one,
        "named": one.entries.all(),
        "results": results,
        "is_over": is_over(one, at),
        "may_propose": can_act and not is_proposed and can_be_scored(one, at),
        "may_confirm": can_act and may_confirm(one, person, at),
        "may_score_again": can_act and newest > max((result.version.number for result in results), default=newest),
        "job": None if job is None or job.state == JobState.SUCCEEDED else job,
    }
