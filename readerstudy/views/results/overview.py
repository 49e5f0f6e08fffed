"""The results of a study from its stored analysis: the planned comparison, accuracy, what was left out; figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import get_conditional_response, patch_cache_control
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.figures.kernels.forms import FIGURE_TYPES, FigureForm, Width, download_header
from annotation.models import User
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.analysis.seeing import is_stale, see_analysis
from readerstudy.conducting.lifecycle import analysis_under_way
from readerstudy.figures.figure_files import NOBODY, figure_file, figure_tag
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.results.accuracy_tables import accuracy_table, runs_table
from readerstudy.results.difference_tables import (
    by_reader_table,
    late_table,
    margin_table,
    other_lines_table,
    pairs_of_plan_table,
    planned_table,
    variants_tables,
)
from readerstudy.results.kernels.comparisons import planned_pairs_table, planned_rows, post_hoc_table
from readerstudy.results.kernels.stored import expert_ceiling
from readerstudy.results.looking import Seen, is_seen, newest_analysis, reader_names
from readerstudy.unblinding.looks import looks_before_closing, may_see_results
from readerstudy.views.results.access import seen_analysis, seen_by, seen_result
from readerstudy.views.study.access import coordinated_study

OWN_STYLES = "default-src 'none'; style-src 'unsafe-inline'"  # of an SVG that is opened by itself
A_DAY = 86_400  # seconds; an analysis never changes, and its address names it


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_results(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The entry: leads to the newest analysis. The first look is a POST, since it unblinds the study."""
    study = coordinated_study(request.user, slug)
    newest = newest_analysis(study)
    if newest is not None and request.method == "POST":
        see_analysis(newest, actor=request.user, at=timezone.now())
    elif newest is None or not is_seen(study):
        may_see = may_see_results(study)
        job = analysis_under_way(study) if may_see and newest is None else None
        context = {"study": study, "analysis": newest, "may_see": may_see, "job": job}
        return render(request, "readerstudy/results/start.html", context)
    return redirect("study-analysed", slug, newest.public_id)


def first_results(study: ReaderStudy, person: User) -> dict[str, Any]:
    """With what the page of a closed study begins: the planned comparison, or the link to the first look."""
    newest = newest_analysis(study)
    if newest is None or not is_seen(study):
        return {"analysis": newest, "job": analysis_under_way(study) if newest is None else None}
    newest.study = study
    seen = seen_by(person, newest)
    return {
        **seen.context(),
        "planned": planned_table(seen.result),
        "post_hoc": late_table(seen.result),
        "readers_mean": seen.result["mrmc"]["readers"],
    }


@person_required
@never_cache
@require_safe
def study_analysed(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    return analysed_page(request, seen_result(request.user, slug, public_id))


def analysed_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Who looked before closing is shown inside only."""
    from readerstudy.results.pair_agreement_tables import mean_agreement_table  # loads numpy: not at every start

    result = seen.result
    planned, late = planned_rows(result), post_hoc_table(result)
    context: dict[str, Any] = {
        **seen.context(),
        "planned": planned_table(result),
        "others": other_lines_table(result, planned),
        "margin": margin_table(result),
        "by_reader": by_reader_table(result, planned),
        "planned_pairs": pairs_of_plan_table(result, _pages_of_pairs(seen)),
        "post_hoc": late_table(result),
        "late_others": other_lines_table(result, late.planned) if late else None,
        "readers_mean": result["mrmc"]["readers"],
        "agreement": mean_agreement_table(result),
        "accuracy": accuracy_table(result),
        "experts": [(name, found) for name, panel in result["panels"].items() if (found := expert_ceiling(panel))],
        "runs": runs_table(result),
        "variants": variants_tables(result),
        "looks": [] if seen.routes.is_shared else looks_before_closing(seen.analysis.study),
    }
    return render(request, "readerstudy/results/results.html", context)


def _pages_of_pairs(seen: Seen) -> dict[tuple[int, int], str]:
    """By the places of the two. A shared link leads to no case."""
    if seen.routes.is_shared or not (found := planned_pairs_table(seen.result)):
        return {}
    return {places: seen.routes.to("pair", *places) for _row, places in found.rows if places}


@person_required
@never_cache
@require_safe
def study_analysed_stands(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Whether an input has changed since: reads what an analysis would read now, so the page asks for it afterwards."""
    analysis = seen_analysis(request.user, slug, public_id)
    context = {"study": analysis.study, "analysis": analysis, "is_stale": is_stale(analysis)}
    return render(request, "readerstudy/results/_stands.html", context)


@person_required
@require_safe
def study_figure(
    request: AuthenticatedRequest, slug: str, public_id: str, name: str, width: str, form: str
) -> HttpResponse:
    return named_figure(request, seen_analysis(request.user, slug, public_id), name, width, form)


def named_figure(request: HttpRequest, analysis: Analysis, name: str, width: str, form: str) -> HttpResponse:
    """For people inside: with the names of readers who agreed to that, where the study shows names."""
    names = reader_names(analysis)
    response = figure_response(request, analysis, name, width, form, names=names)
    if names:  # who withdraws is not named from then on
        patch_cache_control(response, private=True, no_cache=True)
    else:
        patch_cache_control(response, private=True, max_age=A_DAY, immutable=True)
    return response


def figure_response(
    request: HttpRequest, analysis: Analysis, name: str, width: str, form: str, *, names: Mapping[str, str] = NOBODY
) -> HttpResponse:
    """One figure, the same file as render_figures writes. An SVG carries its own styles and nothing else."""
    if width not in set(Width) or form not in set(FigureForm):
        raise Http404
    figure = (analysis, name, FigureForm(form), Width(width))
    tag = figure_tag(*figure, names=names)
    unchanged = get_conditional_response(request, etag=tag)
    if unchanged is not None:
        return unchanged
    response = HttpResponse(figure_file(*figure, names=names), content_type=FIGURE_TYPES[FigureForm(form)])
    response["ETag"] = tag
    response["Content-Security-Policy"] = OWN_STYLES
    response["Content-Disposition"] = download_header(analysis.study.slug, name, Width(width), FigureForm(form))
    return response
