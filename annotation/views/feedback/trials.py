"""Trials of two versions of a prompt, and the history of a prompt that tells what they measured."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.call_enums import PromptPurpose
from annotation.endpoints.configured_endpoints import endpoints
from annotation.enums import Role
from annotation.feedback.kernels.paper_review import first_review, later_errors
from annotation.feedback.kernels.trial_states import TRIAL_ACTS, TrialAct
from annotation.feedback.prompt_flags import GENERATING
from annotation.feedback.prompt_story import prompt_story, standing_of
from annotation.feedback.prompt_trials import draw_trial, start_trial, trials_with_runs
from annotation.feedback.trial_plans import plan_trial
from annotation.forms.prompt_trial import PromptTrialForm
from annotation.generation.generation_progress import GenerationProgress
from annotation.models import PromptTrial, PromptVersion
from annotation.views.site.confirming import run_and_flash, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required


@role_required(Role.COORDINATOR)
@require_GET
def prompt_history(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """All versions of the name, the newest first, and beside them what the paper counted."""
    version = get_object_or_404(PromptVersion, public_id=public_id)
    if version.purpose not in GENERATING:
        raise Http404
    context = {
        "version": version,
        "story": prompt_story(version.name, request.user),
        "paper": first_review(),
        "later": later_errors(),
    }
    return render(request, "annotation/feedback/history.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def prompt_trial_new(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Plan a trial. Nothing is sent by it; the button "How many" stores nothing either."""
    prompts = PromptVersion.objects.select_related("parent").filter(purpose=PromptPurpose.QUESTIONS)
    version = get_object_or_404(prompts, public_id=public_id)
    form = PromptTrialForm(version, request.POST or None)
    plan = None
    if form.is_bound and form.is_valid():
        is_asked = "how_many" in request.POST
        plan = run_on_form(form, lambda: plan_trial(form.wanted(), **by(request), dry_run=is_asked))
    if plan is not None and plan.trial is not None:
        messages.success(request, _("The trial is planned. Nothing was sent yet."))
        return redirect("prompt-trial", plan.trial.public_id)
    context = {"version": version, "form": form, "plan": plan, "has_endpoints": endpoints()}
    return render(request, "annotation/feedback/trial_new.html", context, status=422 if form.errors else 200)


@role_required(Role.COORDINATOR)
@require_GET
def prompt_trial(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """What was planned, how far it is, and once the round is closed what it found."""
    trial = get_object_or_404(trials_with_runs(), public_id=public_id)
    standing = standing_of(trial)
    context = {
        "trial": trial,
        "standing": standing,
        "runs": [(run, GenerationProgress(run)) for run in (trial.first_run, trial.second_run)],
        "may": {act.value: standing.state in TRIAL_ACTS[act] for act in TrialAct},
    }
    return render(request, "annotation/feedback/trial.html", context)


@role_required(Role.COORDINATOR)
@require_POST
def prompt_trial_start(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(trial: PromptTrial) -> str:
        start_trial(trial, **by(request))
        return _("Both versions are being asked.")

    return _act(request, public_id, act)


@role_required(Role.COORDINATOR)
@require_POST
def prompt_trial_draw(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    def act(trial: PromptTrial) -> str:
        n = draw_trial(trial, **by(request)).questions.count() // 2
        return ngettext("%(n)d pair is drawn.", "%(n)d pairs are drawn.", n) % {"n": n}

    return _act(request, public_id, act)


def _act(request: AuthenticatedRequest, public_id: str, act: Callable[[PromptTrial], str]) -> HttpResponse:
    trial = get_object_or_404(PromptTrial, public_id=public_id)
    run_and_flash(request, lambda: act(trial))
    return redirect("prompt-trial", trial.public_id)
