"""What a coordinator does with a round: one act for each address."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.acts.rounds import coordinated_round
from annotation.enums import Role
from annotation.forms.rounds import AdjudicatorForm, RemoveForm, RoundPersonForm
from annotation.models import ReviewRound, User
from annotation.outcomes.adjudicating import name_adjudicator
from annotation.outcomes.fresh_rounds import fresh_round
from annotation.review.assigning import listed
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.reassigning import Handover, add_reviewer, reassign, reassign_all, remove_reviewer
from annotation.views.site.bin import delete_or_ask
from annotation.views.site.confirming import Confirmation, confirm, number_sent, run_and_flash, valid_data
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required


def round_act(act: Callable[[AuthenticatedRequest, ReviewRound], str]) -> Callable[..., HttpResponse]:
    """A view of an act of the coordinators, whose sentence is shown on the page of the round."""

    @wraps(act)
    def view(request: AuthenticatedRequest, slug: str) -> HttpResponse:
        review_round = coordinated_round(request.user, slug)
        run_and_flash(request, lambda: act(request, review_round))
        return redirect("round", slug)

    return person_required(require_POST(view))


@round_act
def round_adjudicator_add(request: AuthenticatedRequest, review_round: ReviewRound) -> str:
    """Somebody decides what the reviews do not settle."""
    form = AdjudicatorForm(review_round, request.user, request.POST, prefix="adjudicator")
    person = valid_data(form, _("Choose a person who can log in."))["person"]
    name_adjudicator(review_round, person, actor=request.user, at=timezone.now())
    return _("%(name)s adjudicates this round.") % {"name": person}


@person_required
@require_POST
def round_fresh(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The revised questions of a round as a draft of their own; to that draft, where it was made."""
    review_round = coordinated_round(request.user, slug)
    made: list[ReviewRound] = []

    def make() -> str:
        made.append(fresh_round(review_round, actor=request.user, at=timezone.now()))
        return _("A draft with the revised questions: choose its reviewers.")

    run_and_flash(request, make)
    return redirect("round", made[0].slug if made else slug)


@role_required(Role.ADMINISTRATOR)
@require_POST
def round_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    return delete_or_ask(request, get_object_or_404(ReviewRound, slug=slug), "rounds")


@round_act
def round_reviewer_add(request: AuthenticatedRequest, review_round: ReviewRound) -> str:
    form = RoundPersonForm(review_round, request.POST, prefix="add")
    person = valid_data(form, _("Choose a person who may review in this round."))["person"]
    n = add_reviewer(review_round, person, actor=request.user, at=timezone.now())
    sentence = ngettext("%(name)s has %(n)s question now.", "%(name)s has %(n)s questions now.", n)
    return sentence % {"name": person, "n": n}


@person_required
@require_POST
def round_reviewer_remove(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """What they submitted stays; what they left open goes to a named person or to the others."""
    review_round = coordinated_round(request.user, slug)
    person = get_object_or_404(User, pk=pk)
    form = RemoveForm(review_round, request.POST, but_not=User.objects.filter(pk=pk), prefix="takes")

    def remove() -> str:
        to = valid_data(form, _("Choose a person who may review in this round."))["person"]
        n = remove_reviewer(review_round, person, to=to, actor=request.user, at=timezone.now())
        sentence = ngettext(
            "%(name)s is out of the round; %(n)s open question went to others.",
            "%(name)s is out of the round; %(n)s open questions went to others.",
            n,
        )
        return sentence % {"name": person, "n": n}

    if run_and_flash(request, remove):
        return redirect("round", slug)
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

    def give() -> str:
        return _went(reassign(review_round, chosen, to=to, actor=request.user, at=timezone.now()), to)

    run_and_flash(request, give)
    return redirect("round-reviewer", slug, pk)


def _went(n: int, to: User) -> str:
    sentence = ngettext("%(n)s question went to %(name)s.", "%(n)s questions went to %(name)s.", n)
    return sentence % {"name": to, "n": n}


def _reassign_all(request: AuthenticatedRequest, review_round: ReviewRound, person: User, to: User) -> HttpResponse:
    """Every open question that the person may have, once the coordinator has read what follows."""
    confirmed, now = number_sent(request, "confirmed_all"), timezone.now()
    back = reverse("round-reviewer", args=[review_round.slug, person.pk])
    try:
        handover = reassign_all(review_round, person, to=to, confirmed=confirmed, actor=request.user, at=now)
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
