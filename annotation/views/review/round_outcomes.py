"""What a round, or all rounds of a bank, found beside the page of a round: sections and figures."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from annotation.acts.rounds import coordinated_round
from annotation.models import QuestionBank
from annotation.review.onlookers import rounds_in_sight
from annotation.site.permissions import is_coordinator
from annotation.views.review.rounds import (
    Scope,
    check_figure,
    check_not_blinded,
    difficulty_response,
    figure_response,
    groups_response,
    outcomes_context,
    scope_of,
    seen_round,
)
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_agreement_page(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """How the reviewers agree on each field of the form; for HTMX the section alone."""
    from annotation.outcomes.agreement import own_agreement, round_agreement  # loads numpy: not at every start

    review_round = seen_round(request, slug)
    template = "_agreement.html" if asks_for_part(request) else "agreement.html"
    own = own_agreement(review_round) if review_round.percent_repeated else None
    context = {"round": review_round, "agreement": round_agreement(review_round), "own": own}
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One issue by task, category, stated difficulty, reviewer or import."""
    return groups_response(request, scope_of(seen_round(request, slug)))


@person_required
@require_GET
@vary_on_headers("HX-Request")
def round_difficulty(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Difficulty as stated and as judged before the key."""
    return difficulty_response(request, scope_of(seen_round(request, slug)))


@person_required
@never_cache
@require_GET
def round_figure(request: AuthenticatedRequest, slug: str, figure: str, width: str, form: str) -> HttpResponse:
    """Outcomes, flow of states or grades, as they are drawn for the page and for a paper."""
    review_round = coordinated_round(request.user, slug)
    check_figure(figure, width, form)
    check_not_blinded(request.user, review_round)
    return figure_response(request, scope_of(review_round), figure, width, form)


# --- over all rounds of a bank -----------------------------------------------------------------------------------
def _seen_bank(request: AuthenticatedRequest, slug: str) -> tuple[QuestionBank, Scope, int]:
    """The bank, its rounds whose outcomes this person may see, and how many of theirs are hidden from them.

    To who coordinates neither the site nor one of its rounds the bank does not exist.
    """
    bank = get_object_or_404(QuestionBank, slug=slug)
    rounds, n_hidden = rounds_in_sight(request.user, bank)
    if not (rounds or n_hidden or is_coordinator(request.user)):
        raise Http404
    return bank, Scope("bank", bank.slug, bank.name, rounds), n_hidden


def _rounds_of_bank(request: AuthenticatedRequest, slug: str) -> Scope:
    """The rounds of a part of the page, or of a figure: there is none without a round."""
    _bank, scope, n_hidden = _seen_bank(request, slug)
    if n_hidden and not scope.rounds:
        raise PermissionDenied(_("You judge in every round of this bank yourself: they are hidden until they close."))
    if not scope.rounds:
        raise Http404
    return scope


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_outcomes(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The outcomes over all rounds of a bank; for HTMX the section alone, by the rule that was chosen."""
    bank, scope, n_hidden = _seen_bank(request, slug)
    context = {"bank": bank, "scope": scope, "n_hidden": n_hidden, "may_see_bank": is_coordinator(request.user)}
    if scope.rounds:
        context |= outcomes_context(request, scope)
    template = "_bank_outcomes.html" if asks_for_part(request) else "bank_outcomes.html"
    return render(request, f"annotation/rounds/{template}", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_groups(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One issue by task, category, stated difficulty, reviewer or import, over all rounds."""
    return groups_response(request, _rounds_of_bank(request, slug))


@person_required
@require_GET
@vary_on_headers("HX-Request")
def bank_difficulty(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Difficulty as stated and as judged before the key, over all rounds."""
    return difficulty_response(request, _rounds_of_bank(request, slug))


@person_required
@never_cache
@require_GET
def bank_figure(request: AuthenticatedRequest, slug: str, figure: str, width: str, form: str) -> HttpResponse:
    """Outcomes, flow of states or grades over all rounds."""
    return figure_response(request, _rounds_of_bank(request, slug), figure, width, form)
