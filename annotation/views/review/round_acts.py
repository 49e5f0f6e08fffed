"""What a coordinator does with a round, one act for each address; and its design on one page."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.acts.rounds import OpenRound, coordinated_round
from annotation.enums import Role, RoundState
from annotation.forms import valid_data
from annotation.forms.reviews import FormDesignForm
from annotation.forms.rounds import AdjudicatorForm, RemoveForm, RoundDesignForm, RoundForm, RoundPersonForm
from annotation.models import ReviewForm, ReviewRound, SamplingPlan, User
from annotation.outcomes.adjudicating import name_adjudicator, name_adjudicator_and_begin
from annotation.outcomes.prompt_flags import fresh_round
from annotation.review.assigning import listed
from annotation.review.kernels.form_design import CHOSEN, FOLLOWING, stored_design
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import Handover, add_reviewer, reassign, reassign_all, remove_reviewer
from annotation.review.round_design import cost_of, newest_forms, store_form
from annotation.review.rounds import change_draft, create_round, not_a_draft, open_round
from annotation.site.permissions import coordinates_any_round
from annotation.views.site.administration import delete_or_ask
from annotation.views.site.confirming import (
    Confirmation,
    confirm,
    flashed,
    number_sent,
    refusals_on,
    said,
)
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required, role_required


def round_act(act: Callable[[AuthenticatedRequest, ReviewRound], str]) -> Callable[..., HttpResponse]:
    """A view of an act of the coordinators, whose sentence is shown on the page of the round."""

    @wraps(act)
    def view(request: AuthenticatedRequest, slug: str) -> HttpResponse:
        review_round = coordinated_round(request.user, slug)
        with flashed(request) as say:
            say(act(request, review_round))
        return redirect("round", slug)

    return person_required(require_POST(view))


@round_act
def round_adjudicator_add(request: AuthenticatedRequest, review_round: ReviewRound) -> str:
    """Somebody decides what the reviews do not settle."""
    form = AdjudicatorForm(review_round, request.user, request.POST, prefix="adjudicator")
    person = valid_data(form, _("Choose a person who can log in."))["person"]
    act = name_adjudicator_and_begin if "begin" in request.POST else name_adjudicator
    act(review_round, person, **by(request))
    return _("%(name)s adjudicates this round.") % {"name": person}


@person_required
@require_POST
def round_fresh(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The revised questions of a round as a draft of their own; to that draft, where it was made."""
    review_round = coordinated_round(request.user, slug)
    with flashed(request):
        made = fresh_round(review_round, **by(request))
        return said(request, _("A draft with the revised questions: choose its reviewers."), "round", made.slug)
    return redirect("round", slug)


@role_required(Role.ADMINISTRATOR)
@require_POST
def round_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    return delete_or_ask(request, get_object_or_404(ReviewRound, slug=slug), "rounds")


@round_act
def round_reviewer_add(request: AuthenticatedRequest, review_round: ReviewRound) -> str:
    form = RoundPersonForm(review_round, request.POST, prefix="add")
    person = valid_data(form, _("Choose a person who may review in this round."))["person"]
    n = add_reviewer(review_round, person, **by(request))
    sentence = ngettext("%(name)s has %(n)s question now.", "%(name)s has %(n)s questions now.", n)
    return sentence % {"name": person, "n": n}


@person_required
@require_POST
def round_reviewer_remove(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """What they submitted stays; what they left open goes to a named person or to the others."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = RemoveForm(review_round, request.POST, but_not=User.objects.filter(pk=pk), prefix="takes")
    with flashed(request):
        to = valid_data(form, _("Choose a person who may review in this round."))["person"]
        n = remove_reviewer(review_round, person, to=to, **by(request))
        sentence = ngettext(
            "%(name)s is out of the round; %(n)s open question went to others.",
            "%(name)s is out of the round; %(n)s open questions went to others.",
            n,
        )
        return said(request, sentence % {"name": person, "n": n}, "round", slug)
    return redirect("round-reviewer", slug, pk)


@person_required
@require_POST
def round_reassign(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """Give the ticked questions of one reviewer, or all that are open, to another person."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = RoundPersonForm(review_round, request.POST, but_not=User.objects.filter(pk=person.pk), prefix="to")
    chosen = request.POST.getlist("assignment")
    is_all = "all" in request.POST
    if not (chosen or is_all) or not form.is_valid():
        messages.error(request, _("Select at least one question, and choose the reviewer who takes it over."))
        return redirect("round-reviewer", slug, pk)
    to = form.cleaned_data["person"]
    if is_all:
        return _reassign_all(request, review_round, person, to)
    with flashed(request) as say:
        say(_went(reassign(review_round, chosen, to=to, **by(request)), to))
    return redirect("round-reviewer", slug, pk)


def _went(n: int, to: User) -> str:
    sentence = ngettext("%(n)s question went to %(name)s.", "%(n)s questions went to %(name)s.", n)
    return sentence % {"name": to, "n": n}


def _reassign_all(request: AuthenticatedRequest, review_round: ReviewRound, person: User, to: User) -> HttpResponse:
    """Every open question that the person may have, once the coordinator has read what follows."""
    confirmed = number_sent(request, "confirmed_all")
    back = reverse("round-reviewer", args=[review_round.slug, person.pk])
    try:
        handover = reassign_all(review_round, person, to=to, confirmed=confirmed, **by(request))
    except ReviewRefused as refusal:
        if refusal.code != "handover_changed":
            messages.error(request, str(refusal))
            return redirect(back)
        handover = refusal.facts["handover"]
        if handover.names:
            return confirm(request, _confirm_handover(handover, person, to, back))
        messages.error(request, " ".join(_what_stays(handover, person, to)) or _("No open question is left."))
        return redirect(back)
    messages.success(request, _went(len(handover.names), to))
    for sentence in _what_stays(handover, person, to):
        messages.warning(request, sentence)
    return redirect(back)


def _confirm_handover(handover: Handover, person: User, to: User, back: str) -> Confirmation:
    n = len(handover.names)
    names = {"n": n, "all": handover.n_open, "name": to, "person": person}
    sentences = [
        ngettext(
            "%(n)s of %(all)s open questions of %(person)s goes to %(name)s, at the end of their list.",
            "%(n)s of %(all)s open questions of %(person)s go to %(name)s, at the end of their list.",
            n,
        )
        % names
    ]
    if handover.n_begun:
        begun = ngettext(
            "%(n)s of them was opened by %(person)s. What they entered stays stored and is not used; %(name)s "
            "starts afresh and does not see it.",
            "%(n)s of them were opened by %(person)s. What they entered stays stored and is not used; %(name)s "
            "starts afresh and does not see it.",
            handover.n_begun,
        )
        sentences.append(begun % (names | {"n": handover.n_begun}))
    sentences += [*_what_stays(handover, person, to), _("Submitted reviews stay and count.")]
    return Confirmation(
        title=ngettext("Reassign %(n)s question to %(name)s?", "Reassign %(n)s questions to %(name)s?", n) % names,
        sentences=sentences,
        label=ngettext("Reassign %(n)s question", "Reassign %(n)s questions", n) % names,
        back=back,
        about=person.name,
        sent={"all": "yes", "confirmed_all": n, "to-person": to.pk},
    )


def _what_stays(handover: Handover, person: User, to: User) -> list[str]:
    """Which questions the person cannot be given, and why: a sentence, or none."""
    if not handover.stay:
        return []
    sentence = ngettext(
        "Question %(numbers)s stays with %(person)s, since it cannot go to %(name)s. %(reasons)s",
        "Questions %(numbers)s stay with %(person)s, since they cannot go to %(name)s. %(reasons)s",
        len(handover.stay),
    )
    facts = {"numbers": listed(handover.stay), "person": person, "name": to, "reasons": handover.reasons}
    return [sentence % facts]


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def round_new(request: AuthenticatedRequest) -> HttpResponse:
    """A new round on a stored sample; ``?from=`` names one to begin as a copy of."""
    initial: dict[str, Any] = {"sample": request.GET.get("sample")}
    if copied := request.GET.get("from", ""):
        initial = RoundForm.copy_of(coordinated_round(request.user, copied))
    form = RoundForm(request.user.time_zone, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        with refusals_on(form):
            review_round = create_round(
                data["sample"],
                name=data["name"],
                reviewers=list(data["reviewers"]),
                reviewers_per_question=data["per_question"],
                steps=data["steps"],
                instructions=data["instructions"],
                seed=data["seed"],
                viewing=form.viewing(form.cleaned_data),
                design=form.design(),
                **by(request),
            )
            if "open" in request.POST:
                with flashed(request) as say:
                    open_round(review_round, **by(request))
                    say(str(OpenRound.done))
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
        data, due_at = form.cleaned_data, review_round.due_at
        with refusals_on(form):
            change_draft(
                review_round,
                name=data["name"],
                plan=data["sample"],
                steps=data["steps"],
                instructions=data["instructions"],
                reviewers_per_question=data["per_question"],
                seed=data["seed"],
                design=form.design(due_at),
                **by(request),
            )
            return said(request, _("The round is changed."), "round", slug)
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
        with refusals_on(form):
            made = store_form(form.cleaned_data["name"], form.design(), **by(request))
            return said(request, _("The form is stored as %(form)s.") % {"form": made}, "review-form", made.pk)
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
