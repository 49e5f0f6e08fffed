"""The last steps of a design. The forecast: what its cases and readers can show, under assumptions that coordinators
change. Freezing: what blocks it, indications to be read, the protocol as a file.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct
from msgspec.structs import replace

from annotation.models import User
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import flashed
from annotation.views.site.decorators import AuthenticatedRequest, by
from readerstudy.acts.studies import coordinated_study
from readerstudy.design.checking import (
    Place,
    cases_with_information,
    indication_notes,
    notes_of,
    problems_by_place,
    sha256_of_information,
    shows_indications,
)
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.drafting import forecast_of, frozen_forecast_of, update_assumptions
from readerstudy.design.freezing import design_sha256, freeze_study, take_protocol
from readerstudy.design.kernels.analysis_plan import (
    AnalysisPlan,
    is_made,
    parts_read,
    read_analysis,
    readable_analysis,
    with_choices,
)
from readerstudy.design.kernels.assumptions import Assumptions
from readerstudy.design.kernels.ordering import orders_needed
from readerstudy.enrolment.progress import order_balance
from readerstudy.enums import StudyState
from readerstudy.forms.drafts import ForecastForm
from readerstudy.models import ReaderStudy
from readerstudy.predictions.looks import is_seen
from readerstudy.results.kernels.stored import PlanningFigures, planning_figures
from readerstudy.results.looking import own_analysis, stored_result
from readerstudy.study.overview import lines_of, studies_known_to
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.access import as_file, person_page
from readerstudy.views.design.drafts import STEPS, form_of_step, step_context, study_of_step

STEP_OF = {Place.CASES: "study-cases", Place.ARMS: "study-arms", Place.RULES: "study-rules"}


@person_page("GET", "HEAD", "POST")
def study_freeze(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A checklist with a link to fix each point, and the button once there is none."""
    study = study_of_step(request, slug)
    if request.method == "POST":
        with flashed(request) as say:
            say(_freeze(request, study))
            return redirect("study", slug)
        return redirect("study-freeze", slug)
    is_draft = study.state == StudyState.DRAFT
    coordinates = may_coordinate_study(request.user, study)
    [line] = lines_of([study])
    problems = _checklist(study) if is_draft else []
    only_images = bool(problems) and not problems_by_place(study, read_elsewhere=True)
    may_freeze = is_draft and (only_images or not problems)
    plan = _plan(study)
    context = step_context(
        request,
        study,
        "study-freeze",
        problems=problems,
        only_images=only_images,
        notes=_notes(study, shows_keys=coordinates) if is_draft else [],
        line=line,
        balance=order_balance(study),
        n_sets=study.sets.count(),
        n_orders=orders_needed(study.n_readers, study.n_orders),
        coordinates=coordinates,
        design=design_sha256(study) if may_freeze and coordinates else "",
        needs_statement=is_draft and shows_indications(study),
        to_read=_to_read(study) if is_draft and coordinates else None,
        pairs=plan.pairs if plan else (),
        runs=plan.runs if plan else (),
        plan=plan,
        parts=parts_read(plan) if plan else {},
        is_planned=plan is not None and is_made(plan.as_json()),
        forecast=forecast_of(study) if is_draft else frozen_forecast_of(study),
    )
    return render(request, "readerstudy/design/freeze.html", context)


def _freeze(request: AuthenticatedRequest, study: ReaderStudy) -> str:
    freeze_study(
        study,
        **by(request),
        seen=request.POST.get("design", ""),
        indications_read=request.POST.get("indications", "") if request.POST.get("indications_read") else "",
        read_elsewhere=bool(request.POST.get("read_elsewhere")),
    )
    return _("The design is frozen. Invite readers, then open the study.")


def _plan(study: ReaderStudy) -> AnalysisPlan | None:
    """As it is frozen, or would be; None where it cannot be read: the problems name it."""
    plan = readable_analysis(study.analysis)
    return with_choices(plan) if plan and study.state == StudyState.DRAFT else plan


def _notes(study: ReaderStudy, *, shows_keys: bool) -> list[str]:
    """``shows_keys``: also notes that come of keys and reports."""
    return [*notes_of(study, at=timezone.now()), *(indication_notes(study) if shows_keys else [])]


def _to_read(study: ReaderStudy) -> dict[str, Any] | None:
    """What the statement is about; None where readers see no indication."""
    if not shows_indications(study):
        return None
    indicated = cases_with_information(study)
    return {"n": sum(bool(one.indication) for one in indicated), "sha256": sha256_of_information(indicated)}


def _checklist(study: ReaderStudy) -> list[dict[str, str]]:
    return [
        {"sentence": sentence, "url": _where(study, place), "label": _label(place)}
        for place, sentence in problems_by_place(study)
    ]


def _where(study: ReaderStudy, place: Place) -> str:
    if place == Place.BANK:
        return reverse("bank", args=[study.bank.slug])
    return reverse(STEP_OF[place], args=[study.slug])


def _label(place: Place) -> str:
    return _("Bank") if place == Place.BANK else str(STEPS[STEP_OF[place]])


@person_page("GET")
def study_protocol(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The frozen protocol, byte by byte as it was hashed."""
    study = coordinated_study(request.user, slug)
    protocol = take_protocol(study, **by(request))
    if not protocol:
        raise Http404
    return as_file(HttpResponse(protocol, content_type="application/json"), f"{study.slug}-protocol.json")


# --- the indications that readers will see, to be read before somebody states that none gives an answer away
PER_PAGE = 50


@person_page("GET")
def study_indications(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """All of them, or those in which the rule marks words. Keys are shown beside them: for coordinators alone."""
    study = coordinated_study(request.user, slug)
    indicated = cases_with_information(study) if shows_indications(study) else []
    if indicated:
        note_study_keys(study, **by(request))
    with_text = [one for one in indicated if one.indication]
    marked = [one for one in with_text if one.hint]
    only_marked = "marked" in request.GET
    page = numbered_page(request.GET, marked if only_marked else with_text, PER_PAGE)
    context = step_context(
        request,
        study,
        "study-freeze",
        title=_("Indications"),
        page=page,
        only_marked=only_marked,
        n=len(with_text),
        n_marked=len(marked),
        without=[one.case for one in indicated if not one.indication],
        are_shown=bool(indicated) or shows_indications(study),
    )
    return render(request, "readerstudy/design/indications.html", context)


# --- The forecast of a study: what its cases and readers can show, under assumptions --------------
MOST_SOURCES = 20


class FinishedStudy(Struct, frozen=True):
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


@person_page("GET", "HEAD", "POST")
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
    analysis = own_analysis(study)
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
