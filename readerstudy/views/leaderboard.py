"""Leaderboards: the list, a new one, the page of one with its teams, the page of a team, and that of editions; and what
teams send to one: their own page and that of coordinators, one submission, statements.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import JobState, Role
from annotation.jobs.queueing import job_under_way, jobs_about
from annotation.models import User
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required
from readerstudy.acts.files import inputs_response
from readerstudy.acts.leaderboards import is_of_team, known_statement, known_submission, run_benchmark, taken_benchmark
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.forms.leaderboard import BenchmarkForm, NoteForm, StatementForm, TeamForm, TwinsForm, VersionForm
from readerstudy.forms.models import AnswersForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.leaderboard.access import (
    ROLES,
    benchmarks_known_to,
    board_address,
    known_benchmark,
    looks_on,
    runs_leaderboards,
    team_of,
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
from readerstudy.leaderboard.kernels.statement import model_card, shown
from readerstudy.leaderboard.public_twins import decision_on, needs_comparison, pool_of, twins_of
from readerstudy.leaderboard.submissions import (
    check_job,
    editions_to_name,
    receive_submission,
    steps_of,
    submissions_known_to,
)
from readerstudy.leaderboard.teams import (
    add_statement,
    ask_for_team,
    reasons_against,
    refused_team,
    statements_known_to,
)
from readerstudy.leaderboard.versions import changes_since, packed_inputs
from readerstudy.models import Benchmark, Edition, Submission, Team
from readerstudy.views.access import as_file, person_page, stored

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


PER_PAGE = 50  # a team finds what is older by the API


@person_page("GET", "HEAD", "POST", fresh=True)
def leaderboard_submissions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Who looks on sees what all teams sent; a member that of the own team. A file begins its check."""
    benchmark = known_benchmark(request.user, slug)
    sent = submissions_known_to(request.user, benchmark)
    if looks_on(request.user) and request.method != "POST":
        statements = statements_known_to(request.user, benchmark)
        context = {
            "benchmark": benchmark,
            "page": numbered_page(request.GET, sent, PER_PAGE),
            "waiting_statements": statements.filter(passed_at=None, refused_because=""),
        }
        return render(request, "readerstudy/leaderboard/submissions.html", context)
    team = team_of(request.user, slug)
    form = AnswersForm(*((request.POST, request.FILES) if request.method == "POST" else ()))

    def receive() -> Submission:
        file, way = form.cleaned_data["file"], form.cleaned_data["duplicates"]
        return receive_submission(team, file.chunks(), file.name, duplicates=way, **by(request))

    if made := stored(form, receive):
        return redirect("leaderboard-submission", slug, made.public_id)
    statements = team.statements.order_by("-number")
    context = {
        "benchmark": benchmark,
        "team": team,
        "submissions": sent.filter(team=team)[:PER_PAGE],
        "may_send": benchmark.state == BenchmarkState.FROZEN,
        "answers_form": form,
        "next_edition": next(iter(editions_to_name(benchmark, timezone.now())), None),
        "statements": statements,
        "newest_statement": statements.first(),
        "statement_form": StatementForm(newest=statements.first()),
    }
    status = 422 if form.errors else 200
    return render(request, "readerstudy/leaderboard/team_submissions.html", context, status=status)


@person_page("GET", fresh=True)
@vary_on_headers("HX-Request")
def leaderboard_submission(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """How far its check is, what was found, and what can be done with it."""
    submission = known_submission(request.user, slug, public_id)
    job, is_own = check_job(submission), is_of_team(request.user, submission)
    context: dict[str, Any] = {
        "submission": submission,
        "benchmark": submission.team.benchmark,
        "report": submission.report,
        "steps": steps_of(submission),
        "running": job is not None and job.is_unfinished,
        "editions": _editions(submission) if is_own else [],
        "statements": submission.team.statements.filter(refused_because="").order_by("-number"),
        "may_withdraw": submission.withdrawn_at is None and (is_own or runs_leaderboards(request.user)),
        "public_address": _public_address(submission),
        "form": ReasonForm(),
    }
    part = "readerstudy/leaderboard/_submission.html"
    template = part if asks_for_part(request) else "readerstudy/leaderboard/submission.html"
    return render(request, template, context)


def _public_address(submission: Submission) -> str:
    """Empty before it is published."""
    published = any(one.edition.published_at for one in submission.entries.all())
    return f"{board_address(submission.team.benchmark)}entries/{submission.public_id}/" if published else ""


def _editions(submission: Submission) -> list[Any]:
    """For which it can be named now, each with whether it is."""
    if not submission.is_sound or submission.withdrawn_at is not None:
        return []
    named = {one.edition_id for one in submission.entries.all()}
    return [(one, one.pk in named) for one in editions_to_name(submission.team.benchmark, timezone.now())]


@person_page("GET")
def leaderboard_report(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """What the check found, to keep."""
    submission = known_submission(request.user, slug, public_id)
    if submission.checked_at is None:
        raise Http404(_("There is no report yet."))
    report = JsonResponse(submission.report, json_dumps_params={"indent": 1, "ensure_ascii": False})
    return as_file(report, f"submission-{submission.number}.json")


# --- statements -----------------------------------------------------------------------------------
@person_page("GET", "HEAD", "POST", fresh=True)
def leaderboard_statement_new(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form, filled with the last one; a whole one becomes a further number."""
    team = team_of(request.user, slug)
    newest = team.statements.order_by("-number").first()
    form = StatementForm(*((request.POST,) if request.method == "POST" else ()), newest=newest)
    if made := stored(form, lambda: add_statement(team, form.cleaned_data, **by(request))):
        return redirect("leaderboard-statement", slug, made.public_id)
    context = {"benchmark": team.benchmark, "team": team, "statement_form": form, "newest_statement": newest}
    template = "readerstudy/leaderboard/statement_new.html"
    return render(request, template, context, status=422 if form.errors else 200)


@person_page("GET", fresh=True)
def leaderboard_statement(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """What a team says of a model, to read and to print; coordinators pass it or refuse it here."""
    statement = known_statement(request.user, slug, public_id)
    is_open = statement.passed_at is None and not statement.refused_because
    context = {
        "statement": statement,
        "benchmark": statement.team.benchmark,
        "lines": list(shown(statement.answers)),
        "may_decide": is_open and runs_leaderboards(request.user),
        "is_own": not looks_on(request.user),
        "form": ReasonForm(),
    }
    return render(request, "readerstudy/leaderboard/statement.html", context)


@person_page("GET")
def leaderboard_card(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """The statement as a model card, without numbers: those stand on the page of an edition."""
    statement = known_statement(request.user, slug, public_id)
    benchmark = statement.team.benchmark
    card = model_card(
        statement.answers,
        team=statement.team.name,
        benchmark=benchmark.name,
        slug=slug,
        version=current_version(benchmark).number,
    )
    markdown = HttpResponse(card, content_type="text/markdown; charset=utf-8")
    return as_file(markdown, f"statement-{statement.number}.md")
