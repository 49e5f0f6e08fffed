"""Runs in which a model writes questions from reports: begun, listed, watched, paused. No word of a report."""

from __future__ import annotations

from datetime import datetime

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers

from annotation.endpoints.configured_endpoints import endpoints
from annotation.enums import Role
from annotation.forms.generation_runs import GenerationForm
from annotation.generation.generation_plans import (
    GenerationPlan,
    GenerationWanted,
    begin_generation,
    plan_generation,
)
from annotation.generation.generation_progress import GenerationProgress
from annotation.model_calls.call_batches import act_named
from annotation.models import GenerationRun, QuestionBank, User
from annotation.views.site.confirming import run_and_flash, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required

MOST_LISTED = 100


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def generation_runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The newest runs of a bank. A new one is planned first, which sends nothing, and then started."""
    bank = get_object_or_404(QuestionBank, slug=slug)
    form, plan = GenerationForm(request.POST or None), None
    if request.method == "POST" and form.is_valid():
        plan = run_on_form(form, lambda: _planned(form.wanted(bank), begins="start" in request.POST, **by(request)))
    if plan is not None and plan.run is not None:
        messages.success(request, _("Started: a worker asks the model for the findings of each report."))
        return redirect("generation-run", slug, plan.run.public_id)
    runs = GenerationRun.objects.filter(bank=bank).select_related("bullets_batch", "created_by")[:MOST_LISTED]
    context = {"bank": bank, "runs": runs, "form": form, "plan": plan, "has_endpoints": bool(endpoints())}
    if plan is not None:
        context["facts"] = plan.as_json()
    return render(request, "annotation/generation/list.html", context, status=422 if form.errors else 200)


def _planned(wanted: GenerationWanted, *, begins: bool, actor: User, at: datetime) -> GenerationPlan:
    plan = plan_generation(wanted, at=at)
    return begin_generation(plan, actor=actor, at=at) if begins else plan


@role_required(Role.COORDINATOR)
@require_GET
@vary_on_headers("HX-Request")
def generation_run(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """What was made of which reports, and what was not made by which rule."""
    runs = GenerationRun.objects.select_related(
        "bank", "bullets_batch__prompt", "questions_batch", "questions_prompt", "bank_import", "created_by"
    )
    run = get_object_or_404(runs, bank__slug=slug, public_id=public_id)
    context = {"bank": run.bank, "run": run, "progress": GenerationProgress(run)}
    template = "_run.html" if asks_for_part(request) else "run.html"
    return render(request, f"annotation/generation/{template}", context)


@role_required(Role.COORDINATOR)
@require_POST
def generation_run_act(request: AuthenticatedRequest, slug: str, public_id: str, act: str) -> HttpResponse:
    """Pause, resume or stop the calls that are asked at the moment."""
    runs = GenerationRun.objects.select_related("bullets_batch", "questions_batch")
    run = get_object_or_404(runs, bank__slug=slug, public_id=public_id)
    batch = run.questions_batch or run.bullets_batch

    def done() -> str:
        act_named(batch, act, **by(request))
        return _("Done: the run is %(state)s.") % {"state": batch.get_state_display()}

    run_and_flash(request, done)
    return redirect("generation-run", slug, public_id)
