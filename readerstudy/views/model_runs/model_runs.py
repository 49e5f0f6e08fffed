"""Runs of models: planned by a form, estimated, started, watched, paused and stopped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from annotation.endpoints.configured_endpoints import endpoints
from annotation.model_calls.call_batches import change_cap, pause, stop
from annotation.models import User
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import (
    Confirmation,
    confirm,
    is_confirmed,
    run_and_flash,
    run_on_form,
    valid_data,
)
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required
from readerstudy.forms.model_runs import CapForm, ModelRunForm
from readerstudy.model_runs.choosing import prompts_to_answer, targets_to_run
from readerstudy.model_runs.estimating import outlasts_permission
from readerstudy.model_runs.following import RunProgress, estimate_rows
from readerstudy.model_runs.planning import plan_run
from readerstudy.model_runs.publishing import is_plain
from readerstudy.model_runs.run_access import runs_seen_by, shows_results
from readerstudy.model_runs.starting import ask_first_questions, resume_run, start_run, why_unknown
from readerstudy.models import ModelRun
from readerstudy.study.permissions import coordinates_a_study
from readerstudy.views.predictions.models import check_works_with_models

PER_PAGE = 50


@person_required
@require_GET
def model_runs(request: AuthenticatedRequest) -> HttpResponse:
    """All runs that this person may watch, newest first."""
    check_runs_models(request.user)
    page = numbered_page(request.GET, runs_seen_by(request.user), PER_PAGE)
    return render(request, "readerstudy/model_runs/list.html", {"page": page})


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def model_run_new(request: AuthenticatedRequest) -> HttpResponse:
    """Plan a run. Nothing is sent by it."""
    check_runs_models(request.user)
    named, targets, prompts = endpoints(), targets_to_run(request.user), prompts_to_answer()
    sent = request.POST if request.method == "POST" else None
    form = ModelRunForm(named, targets, prompts, sent)
    plan = None
    if form.is_bound and form.is_valid():
        plan = run_on_form(form, lambda: plan_run(form.wanted(), **by(request)))
    if plan is not None and plan.run is not None:
        messages.success(request, _("The run is planned. Nothing was sent yet."))
        return redirect("model-run", plan.run.batch.public_id)
    context = {"form": form, "has_endpoints": named, "has_targets": targets, "has_prompts": prompts.exists()}
    return render(request, "readerstudy/model_runs/new.html", context, status=422 if form.errors else 200)


@person_required
@never_cache
@require_GET
@vary_on_headers("HX-Request")
def model_run(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One run: the plan with its estimate, then how far it is and what it cost."""
    run = run_of(request.user, public_id)
    template = "readerstudy/model_runs/_run.html" if asks_for_part(request) else "readerstudy/model_runs/run.html"
    return render(request, template, _context(run))


def _context(run: ModelRun) -> dict[str, Any]:
    found = RunProgress(run)
    estimate = found.estimate
    context: dict[str, Any] = {
        "run": run,
        "batch": run.batch,
        "found": found,
        "is_plain": is_plain(run),
        "shows_results": shows_results(run),
        "cap_form": CapForm(initial={"cap": run.batch.cap}),
        "estimate": estimate,
    }
    if found.state == "planned":
        is_unknown = estimate is None or estimate.cost is None
        context |= {
            "rows": estimate_rows(estimate.as_json() if estimate else {}, run.batch.n_calls, found.currency),
            "outlasts": estimate is not None and outlasts_permission(run, estimate, timezone.now()),
            "cost_unknown": why_unknown(run, estimate) if is_unknown else "",
        }
    return context


@person_required
@require_POST
def model_run_try(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Ask the first questions, for the estimate."""

    def act(run: ModelRun) -> str:
        ask_first_questions(run, **by(request))
        return _("The first questions are being asked.")

    return _act(request, public_id, act)


@person_required
@require_POST
def model_run_start(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(run: ModelRun) -> str:
        start_run(run, accepts_unknown_cost=bool(request.POST.get("accepts_unknown_cost")), **by(request))
        return _("The run is started.")

    return _act(request, public_id, act)


@person_required
@require_POST
def model_run_pause(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(run: ModelRun) -> str:
        pause(run.batch, **by(request))
        return _("Paused. Answers to questions already sent are still stored.")

    return _act(request, public_id, act)


@person_required
@require_POST
def model_run_resume(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(run: ModelRun) -> str:
        resume_run(run, **by(request))
        return _("The run goes on.")

    return _act(request, public_id, act)


@person_required
@require_POST
def model_run_stop(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Asks first: a stopped run never goes on."""
    run = run_of(request.user, public_id)
    if not is_confirmed(request):
        question = Confirmation(
            about=str(run.entry),
            title=_("Stop this run for good?"),
            sentences=[_("It cannot be resumed. What was answered stays stored, and nothing of it is published.")],
            label=_("Stop for good"),
            back=reverse("model-run", args=[public_id]),
        )
        return confirm(request, question)

    def act(run: ModelRun) -> str:
        stop(run.batch, **by(request))
        return _("The run is stopped.")

    return _act(request, public_id, act)


@person_required
@require_POST
def model_run_cap(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(run: ModelRun) -> str:
        change_cap(run.batch, valid_data(CapForm(request.POST))["cap"], **by(request))
        return _("The cap is changed.")

    return _act(request, public_id, act)


def _act(request: AuthenticatedRequest, public_id: str, act: Callable[[ModelRun], str]) -> HttpResponse:
    run = run_of(request.user, public_id)
    run_and_flash(request, lambda: act(run))
    return redirect("model-run", public_id)


def run_of(person: User, public_id: str) -> ModelRun:
    """To everybody but coordinators runs do not exist, nor to coordinators those on what they read."""
    check_works_with_models(person)
    runs = runs_seen_by(person).select_related("batch__permission", "batch__created_by")
    return get_object_or_404(runs, batch__public_id=public_id)


def check_runs_models(person: User) -> None:
    """Raises PermissionDenied."""
    if not is_coordinator(person) and not coordinates_a_study(person):
        raise PermissionDenied(_("This page is for people who coordinate."))
