"""Runs of models: listed, planned by a form, and watched. What is done with one: readerstudy/acts/model_runs.py."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers

from annotation.endpoints.configured_endpoints import endpoints
from annotation.models import User
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required
from readerstudy.acts.model_runs import run_of
from readerstudy.forms.model_runs import ModelRunCapForm, ModelRunForm
from readerstudy.model_runs.choosing import prompts_to_answer, targets_to_run
from readerstudy.model_runs.estimating import outlasts_permission
from readerstudy.model_runs.following import RunProgress, estimate_rows
from readerstudy.model_runs.planning import plan_run, store_run
from readerstudy.model_runs.publishing import is_plain
from readerstudy.model_runs.run_access import runs_seen_by, shows_results
from readerstudy.model_runs.starting import why_unknown
from readerstudy.models import ModelRun
from readerstudy.study.permissions import coordinates_a_study

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
        plan = run_on_form(form, lambda: store_run(plan_run(form.wanted(), **by(request)), **by(request)))
    if plan is not None:
        messages.success(request, _("The run is planned. Nothing was sent yet."))
        return redirect("model-run", plan.stored_run.batch.public_id)
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
        "cap_form": ModelRunCapForm(initial={"cap": run.batch.cap}),
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


def check_runs_models(person: User) -> None:
    """Raises PermissionDenied."""
    if not is_coordinator(person) and not coordinates_a_study(person):
        raise PermissionDenied(_("This page is for people who coordinate."))
