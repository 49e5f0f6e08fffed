"""The design of a round on one page, with what it will cost; and the review forms that a round can ask."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

from annotation.acts.rounds import coordinated_round
from annotation.enums import Role, RoundState
from annotation.forms.reviews import FormDesignForm
from annotation.forms.rounds import RoundDesignForm, RoundForm
from annotation.models import ReviewForm, SamplingPlan
from annotation.review.kernels.form_design import CHOSEN, FOLLOWING, stored_design
from annotation.review.round_design import cost_of, newest_forms, store_form
from annotation.review.rounds import change_draft, create_round, not_a_draft
from annotation.site.permissions import coordinates_any_round
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def round_new(request: AuthenticatedRequest) -> HttpResponse:
    """A new round on a stored sample; ``?from=`` names one to begin as a copy of."""
    initial: dict[str, Any] = {"sample": request.GET.get("sample")}
    if copied := request.GET.get("from", ""):
        initial = RoundForm.copy_of(coordinated_round(request.user, copied))
    form = RoundForm(request.user.time_zone, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data, now = form.cleaned_data, timezone.now()
        review_round = run_on_form(
            form,
            lambda: create_round(
                data["sample"],
                name=data["name"],
                reviewers=list(data["reviewers"]),
                reviewers_per_question=data["per_question"],
                steps=data["steps"],
                instructions=data["instructions"],
                seed=data["seed"],
                viewing=form.viewing(form.cleaned_data),
                design=form.design(),
                actor=request.user,
                at=now,
            ),
        )
        if review_round is not None:
            return redirect("round", review_round.slug)
    has_samples = SamplingPlan.objects.filter(archived_at__isnull=True).exists()
    context = {"form": form, "has_samples": has_samples, "is_new": True}
    return render(request, "annotation/rounds/design.html", context, status=422 if form.errors else 200)


@person_required
@require_http_methods(["GET", "HEAD", "POST"])
def round_edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The design of a draft; its reviewers, window and due date are changed on its page."""
    review_round = coordinated_round(request.user, slug)
    if review_round.state != RoundState.DRAFT:
        messages.error(request, str(not_a_draft()))
        return redirect("round", slug)
    form = RoundDesignForm(request.POST or None, initial=RoundDesignForm.initial_of(review_round))
    if request.method == "POST" and form.is_valid():
        data, now, due_at = form.cleaned_data, timezone.now(), review_round.due_at
        run_on_form(
            form,
            lambda: change_draft(
                review_round,
                name=data["name"],
                plan=data["sample"],
                steps=data["steps"],
                instructions=data["instructions"],
                reviewers_per_question=data["per_question"],
                seed=data["seed"],
                design=form.design(due_at),
                actor=request.user,
                at=now,
            ),
        )
        if not form.errors:
            messages.success(request, _("The round is changed."))
            return redirect("round", slug)
    context = {"round": review_round, "form": form, "has_samples": True}
    return render(request, "annotation/rounds/design.html", context, status=422 if form.errors else 200)


@person_required
@require_GET
def round_cost(request: AuthenticatedRequest) -> HttpResponse:
    """What a round designed as the form says would cost; nothing while a field that counts cannot be read."""
    if not coordinates_any_round(request.user):
        raise PermissionDenied(_("This page is for people who coordinate a round."))
    form = RoundDesignForm(request.GET)
    form.is_valid()
    data = form.cleaned_data
    if not {"sample", "per_question", "steps"} <= set(data):
        return render(request, "annotation/rounds/_cost.html", {"cost": None})
    cost = cost_of(
        data["sample"],
        per_question=data["per_question"],
        n_reviewers=len(set(request.GET.getlist("reviewers"))),
        steps=data["steps"],
        percent_repeated=data.get("percent_repeated") or 0,
        shared_answers=data.get("shared_answers"),
    )
    return render(request, "annotation/rounds/_cost.html", {"cost": cost})


# --- forms of one's own ---------------------------------------------------------------------------
@role_required(Role.COORDINATOR)
@require_GET
def review_forms(request: AuthenticatedRequest) -> HttpResponse:
    """The newest version of each form."""
    return render(request, "annotation/rounds/forms.html", {"forms": newest_forms()})


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def review_form_new(request: AuthenticatedRequest) -> HttpResponse:
    """A new form, or the next version of the one that ``?from=`` names."""
    name = request.GET.get("from", "")
    before = newest_forms().filter(name=name).first() if name else None
    form = FormDesignForm.beginning_with(before, request.POST or None)
    if request.method == "POST" and form.is_valid():
        data, now = form.cleaned_data, timezone.now()
        made = run_on_form(form, lambda: store_form(data["name"], form.design(), actor=request.user, at=now))
        if made is not None:
            messages.success(request, _("The form is stored as %(form)s.") % {"form": made})
            return redirect("review-form", made.pk)
    context = {"form": form, "before": before}
    return render(request, "annotation/rounds/form_new.html", context, status=422 if form.errors else 200)


@role_required(Role.COORDINATOR)
@require_GET
def review_form(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """One version as it was stored: what it asks, its anchors, and which rounds have it."""
    stored = get_object_or_404(ReviewForm.objects.select_related("created_by"), pk=pk)
    design = stored_design(stored.design)
    context = {
        "stored": stored,
        "design": design,
        "not_asked": [flag for flag in CHOSEN if flag not in design.flags],
        "not_asked_open": [flag for flag in FOLLOWING if flag not in design.flags],
        "rows": FormDesignForm.beginning_with(stored).rows(),
        "rounds": stored.rounds.order_by("-created_at"),
        "versions": ReviewForm.objects.filter(name=stored.name).order_by("-version"),
    }
    return render(request, "annotation/rounds/form.html", context)
