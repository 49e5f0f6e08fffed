"""The step that ends a design: what blocks freezing, indications to be read, freezing; the protocol as a file."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.design.checking import Place, notes_of, problems_by_place
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.forecasting import forecast_of, frozen_forecast_of
from readerstudy.design.freezing import design_sha256, freeze_study, take_protocol
from readerstudy.design.indications import (
    cases_with_information,
    indication_notes,
    sha256_of_information,
    shows_indications,
)
from readerstudy.design.kernels.analysis_plan import AnalysisPlan, is_made, parts_read, readable_analysis, with_choices
from readerstudy.design.kernels.ordering import orders_needed
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import lines_of
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.design.drafts import STEPS, step_context, study_of_step
from readerstudy.views.study.access import coordinated_study

STEP_OF = {Place.CASES: "study-cases", Place.ARMS: "study-arms", Place.RULES: "study-rules"}


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def study_freeze(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A checklist with a link to fix each point, and the button once there is none."""
    study = study_of_step(request, slug)
    if request.method == "POST":
        is_frozen = run_and_flash(request, lambda: _freeze(request, study))
        return redirect("study" if is_frozen else "study-freeze", slug)
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


@person_required
@require_GET
def study_protocol(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The frozen protocol, byte by byte as it was hashed."""
    study = coordinated_study(request.user, slug)
    protocol = take_protocol(study, **by(request))
    if not protocol:
        raise Http404
    answer = HttpResponse(protocol, content_type="application/json")
    answer["Content-Disposition"] = f'attachment; filename="{study.slug}-protocol.json"'
    return answer


# --- the indications that readers will see, to be read before somebody states that none gives an answer away
PER_PAGE = 50


@person_required
@require_GET
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
