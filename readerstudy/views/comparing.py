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

from annotation.decorators import AuthenticatedRequest, person_required
from annotation.models import QuestionBank, User
from annotation.permissions import is_administrator, is_coordinator
from readerstudy.comparing.gathering import inputs_now
from readerstudy.comparing.listing import (
    banks_compared,
    comparison_file,
    comparison_for,
    newest_comparison,
    sees_all_models,
)
from readerstudy.comparing.queueing import ask_for_comparison, job_under_way
from readerstudy.comparing.tables import band_rows, category_table, model_rows
from readerstudy.permissions import may_enter_models


@person_required
@never_cache
@require_safe
def models_compare(request: AuthenticatedRequest) -> HttpResponse:
    """Of the bank that is asked for, else of the first one."""
    if not may_enter_models(request.user) and not is_administrator(request.user):
        raise PermissionDenied(_("This page is for people who coordinate studies or submit models."))
    banks = list(banks_compared(request.user))
    asked = request.GET.get("bank", "")
    bank = next((one for one in banks if one.slug == asked or not asked), None)
    if bank is None and asked:
        raise Http404
    context: dict[str, Any] = {"banks": banks, "bank": bank, "may_compare": is_coordinator(request.user)}
    if bank is not None:
        context |= _compared(request.user, bank)
    return render(request, "readerstudy/models/compare.html", context)


def _compared(person: User, bank: QuestionBank) -> dict[str, Any]:
    comparison = newest_comparison(bank)
    context: dict[str, Any] = {
        "comparison": comparison,
        "job": job_under_way(bank),
        "sees_all": sees_all_models(person),
    }
    if comparison is None:
        return context
    result = comparison_for(person, comparison)
    return {
        **context,
        "result": result,
        "is_stale": inputs_now(bank) != comparison.inputs_sha256,
        "rows": model_rows(result),
        "bands": band_rows(result),
        "categories": category_table(result),
    }


@person_required
@require_POST
def models_compare_start(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for a comparison; one that waits or runs already is enough."""
    bank = _bank(request.user, slug)
    if not is_coordinator(request.user):
        raise PermissionDenied(_("Only coordinators compare models."))
    ask_for_comparison(bank, actor=request.user, at=timezone.now())
    messages.success(request, _("The comparison is under way. It appears here when it is done."))
    return redirect(reverse("models-compare") + "?" + urlencode({"bank": bank.slug}))


@person_required
@never_cache
@require_safe
def models_compare_file(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What the page shows, as CSV with full precision."""
    bank = _bank(request.user, slug)
    comparison = newest_comparison(bank)
    if comparison is None:
        raise Http404
    file = comparison_file(comparison_for(request.user, comparison))
    response = HttpResponse(file, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{bank.slug}-models-{comparison.public_id}.csv"'
    return response


def _bank(person: User, slug: str) -> QuestionBank:
    """To everybody who knows no model on it the comparison does not exist."""
    if not may_enter_models(person) and not is_administrator(person):
        raise Http404
    return get_object_or_404(banks_compared(person), slug=slug)
