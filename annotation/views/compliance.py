"""Compliance of a bank, equation 6: the identifiers of HIPAA as a check-list."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation.enums import Role
from annotation.quality.checking import count_identifiers
from annotation.review.onlookers import withheld_questions
from annotation.views.bank_validators import bank_of
from annotation.views.site.decorators import AuthenticatedRequest, role_required


@role_required(Role.COORDINATOR)
@require_GET
def bank_compliance(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What the rules for identifiers find."""
    bank = bank_of(request, slug)
    hidden = withheld_questions(request.user)
    context = {
        "bank": bank,
        "identifiers": count_identifiers(bank, hidden),
        "n_hidden": hidden.filter(bank=bank).count(),
    }
    return render(request, "annotation/validators/compliance.html", context)
