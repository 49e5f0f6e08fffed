"""The forecast of a study: what its cases and readers can show, under assumptions that coordinators change."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods
from msgspec.structs import replace

from annotation.models import User
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.design.forecasting import forecast_of, frozen_forecast_of, update_assumptions
from readerstudy.design.kernels.analysis_plan import read_analysis
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.enums import StudyState
from readerstudy.forms.drafts import ForecastForm
from readerstudy.models import ReaderStudy
from readerstudy.results.kernels.planning_figures import PlanningFigures, planning_figures
from readerstudy.results.looking import is_seen, newest_analysis, stored_result
from readerstudy.study.overview import studies_known_to
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.design.drafts import form_of_step, step_context, study_of_step
from readerstudy.views.study.access import coordinated_study

MOST_SOURCES = 20


@dataclass(frozen=True)
class FinishedStudy:
    """A finished study whose results somebody has seen already, and what it tells of each of its models."""

    study: ReaderStudy
    analysed_at: datetime
    models: list[PlanningFigures]

    def assumptions(self, place: int, before: Assumptions) -> Assumptions:
        """Its four figures; what they do not say stays as it was. Raises Http404 for a model that is not there."""
        if not 0 <= place < len(self.models):
            raise Http404
        one = self.models[place]
        sentence = f"{one.model} and the readers of “{self.study.name}”, analysis of {self.analysed_at:%Y-%m-%d}"
        return replace(before, **one.figures, taken_from=sentence[:300])


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def study_forecast(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The assumptions, to store, and what follows from those that are stored."""
    study = study_of_step(request, slug)
    source = _source(request.user, request.GET.get("from", ""))
    taken = None
    if source is not None and request.GET.get("model", "").isdecimal():
        before = read_analysis(study.analysis).assumptions or Assumptions()
        taken = source.assumptions(int(request.GET["model"]), before)

    def store(form: ForecastForm) -> None:
        update_assumptions(study, form.assumptions(), **by(request))

    sentence = _("Stored. The forecast follows.")
    form, is_stored = form_of_step(request, study, lambda sent: ForecastForm(study, sent, taken), store, sentence)
    if is_stored:
        return redirect("study-forecast", slug)
    context = step_context(
        request,
        study,
        "study-freeze",
        form=form,
        forecast=forecast_of(study) if study.state == StudyState.DRAFT else frozen_forecast_of(study),
        source=source,
        taken=taken,
        sources=_sources(request.user, study),
    )
    context["title"] = _("Forecast")
    return render(request, "readerstudy/design/forecast.html", context, status=422 if form.errors else 200)


def _source(person: User, slug: str) -> FinishedStudy | None:
    """Raises Http404 or PermissionDenied for a study whose results the person may not see, or that nobody has seen."""
    if not slug:
        return None
    study = coordinated_study(person, slug)
    analysis = newest_analysis(study)
    if analysis is None or not is_seen(study):
        raise Http404
    return FinishedStudy(study, analysis.created_at, planning_figures(stored_result(analysis)))


def _sources(person: User, study: ReaderStudy) -> list[ReaderStudy]:
    """The newest studies that figures can be taken from: taking them is looking at results, and unblinds nothing."""
    if not may_coordinate_study(person, study):
        return []
    rows = studies_known_to(person).filter(unblinded_at__isnull=False, analyses__isnull=False).exclude(pk=study.pk)
    seen = [one for one in rows.distinct().order_by("-created_at")[:MOST_SOURCES] if is_seen(one)]
    return [one for one in seen if may_coordinate_study(person, one)]
