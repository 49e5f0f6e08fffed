"""The models on one bank, compared: accuracy by task and category, and the ranks that the data leave to each."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.models import QuestionBank, User
from annotation.site.permissions import is_coordinator
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.comparison.comparison_job import (
    ask_for_comparison,
    banks_compared,
    comparison_under_way,
    newest_comparison,
    result_of,
    take_comparison,
)
from readerstudy.comparison.kernels.comparison_tables import band_rows, category_table, model_rows
from readerstudy.predictions.entries import knows_scores
from readerstudy.results.accuracy_tables import breakdown_table


@person_required
@never_cache
@require_safe
def models_compare(request: AuthenticatedRequest) -> HttpResponse:
    """Of the bank that is asked for, else of the first one."""
    _check_knows_scores(request.user)
    banks = list(banks_compared())
    asked = request.GET.get("bank", "")
    bank = next((one for one in banks if one.slug == asked or not asked), None)
    if bank is None and asked:
        raise Http404
    context: dict[str, Any] = {"banks": banks, "bank": bank, "may_compare": is_coordinator(request.user)}
    if bank is not None:
        context |= _compared(bank)
    return render(request, "readerstudy/models/compare.html", context)


def _compared(bank: QuestionBank) -> dict[str, Any]:
    from readerstudy.comparison.comparing_models import inputs_now  # loads numpy: not at every start

    comparison = newest_comparison(bank)
    context: dict[str, Any] = {"comparison": comparison, "job": comparison_under_way(bank)}
    if comparison is None:
        return context
    result = result_of(comparison)
    return {
        **context,
        "result": result,
        "is_stale": inputs_now(bank) != comparison.inputs_sha256,
        "rows": model_rows(result),
        "bands": band_rows(result),
        "categories": breakdown_table(category_table(result), "categories", _("Category")),
    }


@person_required
@require_POST
def models_compare_start(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for a comparison; one that waits or runs already is enough."""
    bank = bank_compared(request.user, slug)
    if not is_coordinator(request.user):
        raise PermissionDenied(_("Only coordinators compare models."))
    ask_for_comparison(bank, actor=request.user, at=timezone.now())
    messages.success(request, _("The comparison is running. It appears here when it is done."))
    return redirect(reverse("models-compare") + "?" + urlencode({"bank": bank.slug}))


@person_required
@never_cache
@require_safe
def models_compare_file(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What the page shows, as CSV with full precision."""
    bank = bank_compared(request.user, slug)
    comparison = newest_comparison(bank)
    if comparison is None:
        raise Http404
    file = take_comparison(comparison, **by(request))
    response = HttpResponse(file, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{bank.slug}-models-{comparison.public_id}.csv"'
    return response


def bank_compared(person: User, slug: str) -> QuestionBank:
    """Raises PermissionDenied for who may not know scores, Http404 for a bank without a main run."""
    _check_knows_scores(person)
    return get_object_or_404(banks_compared(), slug=slug)


def _check_knows_scores(person: User) -> None:
    """Refused before any bank is looked up: to others none is compared."""
    if not knows_scores(person):
        raise PermissionDenied(_("Only coordinators and administrators see how models score on a bank."))
