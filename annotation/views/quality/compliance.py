"""Compliance of a bank: the 18 identifiers, what looks for each in texts, and how good that is."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation.enums import Role
from annotation.quality.identifier_exams import (
    any_rule,
    changed_since,
    examination_under_way,
    examine_later,
    newest_exam,
    rows_of,
)
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, role_required
from annotation.views.validators.bank_validators import bank_of


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def bank_identifiers(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The table of the 18; a button examines the rules. Counts only: they tell nothing of a key."""
    bank = bank_of(request, slug)
    if request.method == "POST":

        def act() -> str:
            examine_later(bank, **by(request))
            return _("A worker examines the rules; the table shows it once it is done.")

        run_and_flash(request, act)
        return redirect("bank-identifiers", slug)
    exam = newest_exam(bank)
    context = {
        "bank": bank,
        "exam": exam,
        "rows": rows_of(exam),
        "whole": any_rule(exam) if exam else None,
        "changed": changed_since(exam) if exam else [],
        "job": examination_under_way(bank),
    }
    return render(request, "annotation/quality/identifiers.html", context)
