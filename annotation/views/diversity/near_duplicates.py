"""Near-duplicates of a bank, within it and in public banks: what was found, and the button that compares."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from annotation.diversity.embedded_questions import ask_for_embedding, embeddings_of
from annotation.diversity.similar_questions import ask_for_comparison, counts_of_similar, similar_found
from annotation.diversity.vector_sources import has_sources
from annotation.enums import Role
from annotation.forms.diversity import EmbeddingForm
from annotation.models import QuestionBank
from annotation.quality.kernels.rules import BANKWIDE, PUBLIC_TWIN, RULES
from annotation.review.onlookers import withheld_questions
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.confirming import run_and_flash, valid_data
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required
from annotation.views.validators.bank_validators import bank_of

PER_PAGE = 50


@role_required(Role.COORDINATOR)
@require_GET
def bank_near_duplicates(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Pairs with both questions linked, of all rules or of one."""
    bank = bank_of(request, slug)
    found = similar_found(bank, request.user)
    counts = counts_of_similar(found)
    asked = request.GET.get("rule", "")
    chosen = asked if asked in BANKWIDE else ""
    page = numbered_page(request.GET, found.filter(rule=chosen) if chosen else found, PER_PAGE)
    context = {
        "bank": bank,
        "rules": [(RULES[code], counts[code]) for code in BANKWIDE],
        "labels": {code: RULES[code].label for code in BANKWIDE},
        "n_twins": counts[PUBLIC_TWIN],
        "chosen": chosen,
        "n_found": sum(counts.values()),
        "n_public": QuestionBank.objects.filter(is_public=True).exclude(pk=bank.pk).count(),
        "n_hidden": withheld_questions(request.user).filter(bank=bank).count(),
        "embeddings": embeddings_of(bank),
        "form": EmbeddingForm(),
        "has_sources": has_sources(),
        "page": page,
        "shown": [(one, RULES[one.rule].label) for one in page.object_list],
    }
    return render(request, "annotation/diversity/near_duplicates.html", context)


@role_required(Role.COORDINATOR)
@require_POST
def bank_compare(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Compare in the background, with each other or with public banks."""
    bank = bank_of(request, slug)

    def asked() -> str:
        ask_for_comparison(bank, across=request.POST.get("across") == "yes", **by(request))
        return _("The comparison runs in the background; look again in a minute.")

    run_and_flash(request, asked)
    return redirect("bank-near-duplicates", slug)


@role_required(Role.COORDINATOR)
@require_POST
def bank_embed(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask a model for the vectors that are missing, in the background."""
    bank = bank_of(request, slug)

    def asked() -> str:
        data = valid_data(EmbeddingForm(request.POST))
        ask_for_embedding(bank, data["endpoint"], data["model"], **by(request))
        return _("The model is asked in the background; look again in a minute.")

    run_and_flash(request, asked)
    return redirect("bank-near-duplicates", slug)
