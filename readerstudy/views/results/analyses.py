"""The stored analyses of a study: asked for by a button, taken as a file."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.models import Job
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.analysis.seeing import see_analysis, stale_among
from readerstudy.conducting.lifecycle import analysis_under_way, ask_for_results
from readerstudy.models import Analysis, ReaderStudy
from readerstudy.unblinding.looks import may_see_results
from readerstudy.views.study.access import coordinated_study

SHOWN = 10


@dataclass(frozen=True)
class AnalysisLine:
    analysis: Analysis
    is_stale: bool


@dataclass(frozen=True)
class Analyses:
    """What templates/readerstudy/studies/_analyses.html shows as ``analyses``."""

    lines: list[AnalysisLine]
    may_see: bool
    warns: bool  # taking one unblinds the study
    job: Job | None  # one that waits or runs


def analyses_of(study: ReaderStudy) -> Analyses:
    """The newest first. Nothing is offered while readers read."""
    may_see = may_see_results(study)
    rows = list(study.analyses.defer("result").select_related("created_by")[:SHOWN]) if may_see else []
    stale = stale_among(study, rows)
    return Analyses(
        lines=[AnalysisLine(one, one.pk in stale) for one in rows],
        may_see=may_see,
        warns=study.unblinded_at is None,
        job=analysis_under_way(study) if may_see else None,
    )


@person_required
@require_POST
def study_analyse(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for an analysis; one that waits or runs already is enough."""
    study = coordinated_study(request.user, slug)

    def ask() -> str:
        ask_for_results(study, **by(request))
        return _("The analysis is running. It appears here when it is done.")

    run_and_flash(request, ask)
    return redirect(reverse("study-data", args=[slug]) + "#analyses")


@person_required
@never_cache
@require_POST
def study_analysis(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """The stored JSON of one analysis. A POST, since taking it unblinds the study."""
    study = coordinated_study(request.user, slug)
    analysis = get_object_or_404(Analysis.objects.select_related("study"), study=study, public_id=public_id)
    result = see_analysis(analysis, actor=request.user, at=timezone.now())
    response = HttpResponse(result, content_type="application/json")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-analysis-{public_id}.json"'
    return response
