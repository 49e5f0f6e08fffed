"""Runs of models: listed, planned by a form, and watched. What is done with one: readerstudy/acts/model_runs.py."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods
from django.views.decorators.vary import vary_on_headers

from annotation.call_enums import CallOutcome
from annotation.endpoints.configured_endpoints import endpoints
from annotation.ingest.model_pictures import picture_bytes
from annotation.models import User
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required
from readerstudy.acts.model_runs import run_of
from readerstudy.forms.model_runs import ModelRunCapForm, ModelRunForm
from readerstudy.model_runs.following import RunProgress, estimate_rows
from readerstudy.model_runs.planning import plan_run, prompts_to_answer, store_run, targets_to_run
from readerstudy.model_runs.publishing import is_plain
from readerstudy.model_runs.raw_answers import open_call, picture_of_call, readable_calls
from readerstudy.model_runs.run_access import runs_seen_by, shows_results
from readerstudy.model_runs.starting import outlasts_permission, why_unknown
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
    targets, prompts, plan = targets_to_run(request.user), prompts_to_answer(), None
    form = ModelRunForm(targets, prompts, request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        plan = run_on_form(form, lambda: store_run(plan_run(form.wanted(), **by(request)), **by(request)))
    if plan is not None:
        messages.success(request, _("The run is planned. Nothing was sent yet."))
        return redirect("model-run", plan.stored_run.batch.public_id)
    context = {"form": form, "has_endpoints": endpoints(), "has_targets": targets, "has_prompts": prompts.exists()}
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


# --- the raw answers of a run ---
@person_required
@never_cache
@require_GET
def model_run_calls(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Which calls there are and what became of each. It tells no answer, so that looking through it notes nothing."""
    run = run_of(request.user, public_id)
    asked = request.GET.get("outcome", "")
    outcome = CallOutcome(asked) if asked in CallOutcome.values() else None
    calls = readable_calls(run, request.user, outcome).select_related("revision__question")
    page = numbered_page(request.GET, calls, PER_PAGE)
    context = {"run": run, "found": RunProgress(run), "page": page, "outcome": outcome}
    return render(request, "readerstudy/model_runs/calls.html", context)


@person_required
@never_cache
@require_GET
def model_run_call(request: AuthenticatedRequest, public_id: str, number: int) -> HttpResponse:
    """One call word by word. That it was opened is stored."""
    run = run_of(request.user, public_id)
    opened = open_call(run, number, **by(request))
    return render(request, "readerstudy/model_runs/call.html", {"run": run, "opened": opened, "call": opened.call})


@person_required
@never_cache
@require_GET
def model_run_picture(request: AuthenticatedRequest, public_id: str, number: int, sha256: str) -> HttpResponse:
    """A picture as the model got it with this call."""
    run = run_of(request.user, public_id)
    if not picture_of_call(run, number, sha256, request.user):
        raise Http404
    return HttpResponse(picture_bytes(sha256), content_type="image/png")
