"""What teams send to a leaderboard: the page of a team and that of coordinators, one submission, statements."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.leaderboards import is_of_team, known_statement, known_submission
from readerstudy.enums import BenchmarkState
from readerstudy.forms.leaderboard import StatementForm
from readerstudy.forms.models import AnswersForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.leaderboard.access import board_address, known_benchmark, looks_on, runs_leaderboards, team_of
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.kernels.statement import model_card, shown
from readerstudy.leaderboard.submissions import (
    check_job,
    editions_to_name,
    receive_submission,
    steps_of,
    submissions_known_to,
)
from readerstudy.leaderboard.teams import add_statement, statements_known_to
from readerstudy.models import Submission
from readerstudy.views.access import as_file, person_page, stored

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
