"""What a round found beside its page: the agreement of its reviewers, and figures as files."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from annotation.exports.review_report import write_review_report_zip
from annotation.exports.tables import scratch_file
from annotation.figures.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.models import ReviewRound
from annotation.review.agreement import round_agreement
from annotation.review.outcomes import rules_of
from annotation.review.round_figures import grades_file, outcomes_file
from annotation.views.review.rounds import asked_rule, check_not_blinded, coordinated_round
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_agreement_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How the reviewers agree on each field of the form; for HTMX the section alone."""
    review_round = _seen_round(request, slug)
    template = "_agreement.html" if asks_for_part(request) else "agreement.html"
    context = {"round": review_round, "agreement": round_agreement(review_round)}
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@never_cache
@require_GET
def round_figure(request: AuthenticatedRequest, slug: str, width: str, form: str) -> HttpResponse:
    """The outcomes as they are drawn for a paper, by the rule in the address."""
    review_round = _drawn_round(request, slug, width, form)
    file = outcomes_file(review_round, asked_rule(request, rules_of(review_round)), FigureForm(form), Width(width))
    return _figure(file, review_round, "outcomes", Width(width), FigureForm(form))


@person_required
@never_cache
@require_GET
def round_grades(request: AuthenticatedRequest, slug: str, width: str, form: str) -> HttpResponse:
    """How often each grade was given, as it is drawn for the page and for a paper."""
    review_round = _drawn_round(request, slug, width, form)
    file = grades_file(review_round, FigureForm(form), Width(width))
    return _figure(file, review_round, "grades", Width(width), FigureForm(form))


@person_required
@never_cache
@require_GET
def round_report(request: AuthenticatedRequest, slug: str) -> FileResponse:
    """Tables, figures, methods and reviews with the script that checks them, packed; who takes it is noted."""
    review_round, file = _seen_round(request, slug), scratch_file()
    write_review_report_zip(review_round, file, **by(request))
    name = f"{review_round.slug}-report.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")


def _seen_round(request: AuthenticatedRequest, slug: str) -> ReviewRound:
    """A round of which this person may see the outcomes."""
    review_round = coordinated_round(request.user, slug)
    check_not_blinded(request, review_round)
    return review_round


def _drawn_round(request: AuthenticatedRequest, slug: str, width: str, form: str) -> ReviewRound:
    review_round = coordinated_round(request.user, slug)
    if width not in set(Width) or form not in set(FigureForm):
        raise Http404
    check_not_blinded(request, review_round)
    return review_round


def _figure(file: bytes, review_round: ReviewRound, name: str, width: Width, form: FigureForm) -> HttpResponse:
    response = HttpResponse(file, content_type=FIGURE_TYPES[form])
    response["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"  # an SVG has its own styles
    response["Content-Disposition"] = download_header(review_round.slug, name, width, form)
    return response
