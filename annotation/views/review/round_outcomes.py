"""Outcomes of a round on pages: what a click shows of them, and the report.

Reviews made elsewhere, as a file into an open round: checked, then imported; all rows or none.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.acts.files import drawn_response
from annotation.acts.rounds import check_not_blinded, coordinated_round
from annotation.enums import FINAL_STATES, JobState
from annotation.exports.report_files import WrittenFile, by_folder
from annotation.exports.review_import import ReviewsImported, import_reviews
from annotation.exports.review_report_job import (
    KeptReport,
    ask_for_review_report,
    kept_report,
    newest_report_job,
    take_review_report,
)
from annotation.forms.reviews import ReviewFileForm
from annotation.models import Job, QuestionBank, ReviewRound
from annotation.outcomes.round_figures import RoundFigure, figure_file
from annotation.review.onlookers import rounds_in_sight
from annotation.review.outcomes import newest_reviews, rules_of
from annotation.site.permissions import is_coordinator
from annotation.tables.kernels.forms import FigureForm, Width
from annotation.tables.writing import ExportRefused
from annotation.views.review.rounds import (
    Scope,
    asked_rule,
    difficulty_response,
    groups_response,
    outcomes_context,
    scope_of,
    seen_round,
)
from annotation.views.site.confirming import refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_agreement_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How the reviewers agree on each field of the form; for HTMX the section alone."""
    from annotation.outcomes.agreement import own_agreement, round_agreement  # loads numpy: not at every start

    review_round = seen_round(request, slug)
    template = "_agreement.html" if asks_for_part(request) else "agreement.html"
    own = own_agreement(review_round) if review_round.percent_repeated else None
    context = {"round": review_round, "agreement": round_agreement(review_round), "own": own}
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One issue by task, category, stated difficulty, reviewer or import."""
    return groups_response(request, scope_of(seen_round(request, slug)))


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_difficulty(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Difficulty as stated and as judged before the key."""
    return difficulty_response(request, scope_of(seen_round(request, slug)))


@person_required
@never_cache
@require_GET
def round_figure(request: AuthenticatedRequest, slug: str, figure: str, width: str, form: str) -> HttpResponse:
    """Outcomes, flow of states or grades, as they are drawn for the page and for a paper."""
    review_round = coordinated_round(request.user, slug)
    _check_figure(figure, width, form)
    check_not_blinded(request.user, review_round)
    return _figure_response(request, scope_of(review_round), figure, width, form)


def _figure_response(request: AuthenticatedRequest, scope: Scope, figure: str, width: str, form: str) -> HttpResponse:
    """A figure as it is drawn for the page and for a paper, by the rule in the address."""
    _check_figure(figure, width, form)
    if figure == RoundFigure.BANK_MIX and scope.kind != "round":
        raise Http404  # samples of several rounds have no common mix
    rule, of = asked_rule(request, rules_of(*scope.rounds)), FigureForm(form)
    file = figure_file(RoundFigure(figure), scope.rounds, partial(scope.outcomes, rule), of, Width(width))
    return drawn_response(file, scope.slug, figure, Width(width), of)


def _check_figure(figure: str, width: str, form: str) -> None:
    """Raises Http404 for a figure, width or form that there is none of."""
    if figure not in set(RoundFigure) or width not in set(Width) or form not in set(FigureForm):
        raise Http404


# --- over all rounds of a bank -----------------------------------------------------------------------------------
def _seen_bank(request: AuthenticatedRequest, slug: str) -> tuple[QuestionBank, Scope, int]:
    """The bank, its rounds whose outcomes this person may see, and how many of theirs are hidden from them.

    To who coordinates neither the site nor one of its rounds the bank does not exist.
    """
    bank = get_object_or_404(QuestionBank, slug=slug)
    rounds, n_hidden = rounds_in_sight(request.user, bank)
    if not (rounds or n_hidden or is_coordinator(request.user)):
        raise Http404
    return bank, Scope("bank", bank.slug, bank.name, rounds), n_hidden


def _rounds_of_bank(request: AuthenticatedRequest, slug: str) -> Scope:
    """The rounds of a part of the page, or of a figure: there is none without a round."""
    _bank, scope, n_hidden = _seen_bank(request, slug)
    if n_hidden and not scope.rounds:
        raise PermissionDenied(_("You judge in every round of this bank yourself: they are hidden until they close."))
    if not scope.rounds:
        raise Http404
    return scope


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_outcomes(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The outcomes over all rounds of a bank; for HTMX the section alone, by the rule that was chosen."""
    bank, scope, n_hidden = _seen_bank(request, slug)
    context = {"bank": bank, "scope": scope, "n_hidden": n_hidden, "may_see_bank": is_coordinator(request.user)}
    if scope.rounds:
        context |= outcomes_context(request, scope)
    template = "_bank_outcomes.html" if asks_for_part(request) else "bank_outcomes.html"
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One issue by task, category, stated difficulty, reviewer or import, over all rounds."""
    return groups_response(request, _rounds_of_bank(request, slug))


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_difficulty(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Difficulty as stated and as judged before the key, over all rounds."""
    return difficulty_response(request, _rounds_of_bank(request, slug))


@person_required
@never_cache
@require_GET
def bank_figure(request: AuthenticatedRequest, slug: str, figure: str, width: str, form: str) -> HttpResponse:
    """Outcomes, flow of states or grades over all rounds."""
    return _figure_response(request, _rounds_of_bank(request, slug), figure, width, form)


class RoundReportState(Struct, frozen=True):
    """What templates/annotation/rounds/_report.html shows."""

    kept: KeptReport | None
    folders: list[tuple[str, list[WrittenFile]]]  # by name
    has_changed: bool  # the round, since then
    under_way: Job | None
    failed: Job | None  # the last try, where it ended without a report
    has_reviews: bool


def report_state(review_round: ReviewRound) -> RoundReportState:
    from annotation.exports.review_report import state_of_report  # loads numpy: not at every start

    kept, job = kept_report(review_round), newest_report_job(review_round)
    under_way = job if job and job.is_unfinished else None
    return RoundReportState(
        kept=kept,
        folders=by_folder(kept.report.files) if kept else [],
        has_changed=bool(kept and not under_way and kept.state != state_of_report(review_round)),
        under_way=under_way,
        failed=job if job and job.state == JobState.FAILED else None,
        has_reviews=kept is not None or newest_reviews(review_round).exists(),
    )


@person_required
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def round_report(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    review_round = seen_round(request, slug)
    is_final = review_round.state in FINAL_STATES
    context = {"round": review_round, "state": report_state(review_round), "is_final": is_final}
    template = "_report.html" if asks_for_part(request) else "report.html"
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_POST
def round_report_make(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    ask_for_review_report(seen_round(request, slug), **by(request))
    return redirect("round-report", slug)


@person_required
@never_cache
@require_POST
def round_report_file(request: AuthenticatedRequest, slug: str) -> FileResponse | HttpResponse:
    """The ZIP file. A POST, since taking it is noted."""
    review_round = seen_round(request, slug)
    try:
        path = take_review_report(review_round, **by(request))
    except ExportRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("round-report", slug)
    name = f"{slug}-report.zip"
    return FileResponse(path.open("rb"), as_attachment=True, filename=name, content_type="application/zip")


SHOWN = 200  # refused cells


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_import(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form; with a file what it would do, or has done: then back to the round."""
    review_round = coordinated_round(request.user, slug)
    check_not_blinded(request.user, review_round)
    sent = request.method == "POST"
    form = ReviewFileForm(request.POST if sent else None, request.FILES if sent else None)
    found = _run(request, form, review_round) if sent and form.is_valid() else None
    if found is not None and found.stored:
        sentence = ngettext("%(n)s review imported.", "%(n)s reviews imported.", found.n_reviews)
        return said(request, sentence % {"n": found.n_reviews}, "round", slug)
    faults = found.faults if found else []
    context: dict[str, Any] = {"round": review_round, "form": form, "found": found, "faults": faults[:SHOWN]}
    context["n_faults"] = len(faults)
    status = 422 if sent and (form.errors or faults) else 200
    return render(request, "annotation/rounds/import.html", context, status=status)


def _run(request: AuthenticatedRequest, form: ReviewFileForm, review_round: ReviewRound) -> ReviewsImported | None:
    file, dry_run = form.cleaned_data["file"], "check" in request.POST
    with refusals_on(form, field="file"):
        return import_reviews(review_round, name=file.name, content=file.read(), dry_run=dry_run, **by(request))
    return None
