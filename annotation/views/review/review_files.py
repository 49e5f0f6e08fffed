"""Reviews made elsewhere, as a file into an open round: checked, then imported; all rows or none."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.acts.rounds import coordinated_round
from annotation.exports.review_import import ReviewsImported, import_reviews
from annotation.forms.outcomes import ReviewFileForm
from annotation.models import ReviewRound
from annotation.views.review.outcome_context import check_not_blinded
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required

SHOWN = 200  # refused cells


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_import(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form; with a file what it would do, or has done: then back to the round."""
    review_round = coordinated_round(request.user, slug)
    check_not_blinded(request.user, review_round)
    sent = request.method == "POST"
    form = ReviewFileForm(request.POST if sent else None, request.FILES if sent else None)
    found = _run(request, form, review_round) if sent and form.is_valid() else None
    if found is not None and found.stored:
        sentence = ngettext("%(n)s review imported.", "%(n)s reviews imported.", found.n_reviews)
        messages.success(request, sentence % {"n": found.n_reviews})
        return redirect("round", slug)
    faults = found.faults if found else []
    context: dict[str, Any] = {"round": review_round, "form": form, "found": found, "faults": faults[:SHOWN]}
    context["n_faults"] = len(faults)
    status = 422 if sent and (form.errors or faults) else 200
    return render(request, "annotation/rounds/import.html", context, status=status)


def _run(request: AuthenticatedRequest, form: ReviewFileForm, review_round: ReviewRound) -> ReviewsImported | None:
    file = form.cleaned_data["file"]
    dry_run = "check" in request.POST
    return run_on_form(
        form,
        lambda: import_reviews(review_round, name=file.name, content=file.read(), dry_run=dry_run, **by(request)),
        field="file",
    )
