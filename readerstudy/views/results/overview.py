"""The results of a study from its stored analysis: the planned comparison, accuracy, what was left out; figures. The
stored analyses: asked for by a button, taken as a file. Their report: a button makes it, the page says what it holds, a
second button takes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.enums import JobState
from annotation.exports.report_files import WrittenFile, by_folder
from annotation.models import User
from annotation.site.home_files import is_there
from annotation.views.site.confirming import flashed
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.files import named_figure, report_file
from readerstudy.acts.studies import coordinated_study, seen_analysis
from readerstudy.analysis.kernels.labels import sensitivity_words
from readerstudy.analysis.storing import is_stale, see_analysis, settings_of, stale_among
from readerstudy.conducting.lifecycle import analysis_under_way, ask_for_results
from readerstudy.exports.report_job import ask_for_report, newest_job, newest_report, path_of
from readerstudy.forms.studies import SensitivityForm
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.predictions.looks import is_seen, looks_before_closing, may_see_results
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
from readerstudy.results.kernels.inferences import planned_pairs_table, planned_rows, post_hoc_table
from readerstudy.results.kernels.stored import expert_ceiling
from readerstudy.results.looking import (
    Seen,
    own_analysis,
    sensitivity_beside,
)
from readerstudy.study.permissions import StudyRefused
from readerstudy.views.access import as_file, person_page, seen_by, seen_result


@person_page("GET", "HEAD", "POST", fresh=True)
def study_results(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The entry: leads to the newest analysis. The first look is a POST, since it unblinds the study."""
    study = coordinated_study(request.user, slug)
    newest = own_analysis(study)
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
    newest = own_analysis(study)
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


def for_coordinators(page: Callable[[HttpRequest, Seen], HttpResponse]) -> Callable[..., HttpResponse]:
    """A page of results that links show, too, as the coordinators of the study have it."""

    @person_page("GET", "HEAD", fresh=True)
    def shown(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
        return page(request, seen_result(request.user, slug, public_id))

    return shown


def analysed_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Who looked before closing is shown inside only."""
    from readerstudy.results.accuracy_tables import mean_agreement_table  # loads numpy: not at every start

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
        "sensitivity": [] if seen.routes.is_shared else sensitivity_beside(seen.analysis),
        "looks": [] if seen.routes.is_shared else looks_before_closing(seen.analysis.study),
    }
    return render(request, "readerstudy/results/results.html", context)


study_analysed = for_coordinators(analysed_page)


def _pages_of_pairs(seen: Seen) -> dict[tuple[int, int], str]:
    """By the places of the two. A shared link leads to no case."""
    if seen.routes.is_shared or not (found := planned_pairs_table(seen.result)):
        return {}
    return {places: seen.routes.to("pair", *places) for _row, places in found.rows if places}


@person_page("GET", "HEAD", fresh=True)
def study_analysed_stands(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """Whether an input has changed since: reads what an analysis would read now, so the page asks for it afterwards."""
    analysis = seen_analysis(request.user, slug, public_id)
    context = {"study": analysis.study, "analysis": analysis, "is_stale": is_stale(analysis)}
    return render(request, "readerstudy/results/_stands.html", context)


@person_page("GET", "HEAD")
def study_figure(
    request: AuthenticatedRequest, slug: str, public_id: str, name: str, width: str, form: str
) -> HttpResponse:
    return named_figure(request, seen_analysis(request.user, slug, public_id), name, width, form)


# --- The stored analyses of a study: asked for by a button, taken as a file -----------------------
SHOWN = 10


class AnalysisLine(Struct, frozen=True):
    analysis: Analysis
    is_stale: bool
    is_own: bool
    differs: str  # from the settings of the plan; empty: nothing


def analyses_of(study: ReaderStudy) -> dict[str, Any]:
    """What ``_analyses.html`` shows of them, the newest first. Nothing is offered while readers read."""
    may_see = may_see_results(study)
    rows = list(study.analyses.defer("result").select_related("created_by", "study")[:SHOWN]) if may_see else []
    stale = stale_among(study, rows)
    return {
        "lines": [
            AnalysisLine(one, one.pk in stale, one.pk == study.own_analysis_id, sensitivity_words(settings_of(one)))
            for one in rows
        ],
        "may_see": may_see,
        "warns": study.unblinded_at is None,  # taking one unblinds it
        "job": analysis_under_way(study) if may_see else None,
        "otherwise": SensitivityForm(),
    }


@person_page("POST")
def study_analyse(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for an analysis; one that waits or runs already is enough. Other settings: for a sensitivity analysis."""
    study, form = coordinated_study(request.user, slug), SensitivityForm(request.POST)
    with flashed(request) as say:
        if not form.is_valid():
            raise StudyRefused("setting", _("Choose one of the rules that are offered."))
        ask_for_results(study, others=form.others(), **by(request))
        say(_("The analysis is running. It appears here when it is done."))
    return redirect(reverse("study-data", args=[slug]) + "#analyses")


@person_page("POST", fresh=True)
def study_analysis(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """The stored JSON of one analysis. A POST, since taking it unblinds the study."""
    study = coordinated_study(request.user, slug)
    analysis = get_object_or_404(Analysis.objects.select_related("study"), study=study, public_id=public_id)
    result = see_analysis(analysis, actor=request.user, at=timezone.now())
    return as_file(HttpResponse(result, content_type="application/json"), f"{study.slug}-analysis-{public_id}.json")


# --- The report of an analysis: a button makes it, the page says what it holds, a second ----------
def report_state(analysis: Analysis) -> dict[str, Any]:
    """What ``_report.html`` shows: the newest report and its files; a job, or the last try that ended without one."""
    report, job = newest_report(analysis), newest_job(analysis)
    is_after = job is not None and (report is None or job.created_at > report.made_at)
    return {
        "report": report,
        "is_there": report is not None and is_there(path_of(report)),
        "folders": by_folder(WrittenFile(*one) for one in report.contents) if report else [],
        "under_way": job if job and job.is_unfinished else None,
        "failed": job if job and is_after and job.state == JobState.FAILED else None,
    }


@person_page("GET", "HEAD", fresh=True)
@vary_on_headers("HX-Request")
def study_report(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    seen = seen_result(request.user, slug, public_id)
    context = {**seen.context(), "state": report_state(seen.analysis)}
    is_part = asks_for_part(request)
    return render(request, f"readerstudy/results/{'_report' if is_part else 'report'}.html", context)


@person_page("POST")
def study_report_make(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    ask_for_report(seen_analysis(request.user, slug, public_id), actor=request.user, at=timezone.now())
    return redirect("study-report", slug, public_id)


@person_page("POST", fresh=True)
def study_report_file(
    request: AuthenticatedRequest, slug: str, public_id: str, report_id: str
) -> FileResponse | HttpResponse:
    """The ZIP file. A POST, since taking it is noted as a look at the results."""
    try:
        return report_file(request.user, slug, public_id, report_id)
    except StudyRefused as refusal:
        if refusal.code != "report_gone":
            raise
        messages.error(request, str(refusal))
        return redirect("study-report", slug, public_id)
