"""The runs of one model with one prompt beside each other: other images, other orders of the options, repeats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from annotation.models import Revision
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, person_required
from readerstudy.acts.model_runs import run_of
from readerstudy.model_runs.publishing import target_of_run

if TYPE_CHECKING:
    from readerstudy.comparison.variants import RunFamily

PER_PAGE = 50
SETTINGS = {
    "endpoint": gettext_lazy("endpoint"),
    "model": gettext_lazy("model"),
    "picture_policy": gettext_lazy("size of the pictures"),
}


@person_required
@never_cache
@require_GET
@vary_on_headers("HX-Request")
def model_run_variants(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Computed as a job when it is first asked for; the page looks again until it is there.

    The table beside reviewers is read at once, since it depends on who looks.
    """
    from readerstudy.comparison.image_need import image_need  # loads numpy: not at every start
    from readerstudy.comparison.variants import family_of, tables_for

    run = run_of(request.user, public_id)
    family = family_of(run)
    context: dict[str, Any] = {"run": run, "family": family, "target": target_of_run(run)}
    if family.has_tables:
        found = tables_for(family, at=timezone.now())
        computing = not found.result and not found.error
        context |= {"result": _shown(found.result, family), "error": found.error, "computing": computing}
    if asks_for_part(request):
        return render(request, "readerstudy/model_runs/_variants.html", context)
    need = image_need(family, request.user)
    context |= {"need": need, "opens_questions": is_coordinator(request.user)}
    if need is not None:
        page = numbered_page(request.GET, need.right_without, PER_PAGE)
        wordings = Revision.objects.in_bulk([one.revision_id for one in page.object_list])
        context |= {"page": page, "listed": [(one, wordings[one.revision_id]) for one in page.object_list]}
    return render(request, "readerstudy/model_runs/variants.html", context)


def _shown(result: dict[str, Any] | None, family: RunFamily) -> dict[str, Any] | None:
    """Each entry with its runs beside their ids."""
    if result is None:
        return None
    runs = {run.batch.public_id: run for run in family.complete}
    named = {
        name: [
            {
                **row,
                "of": runs.get(row["run"]),
                "plain_run": runs.get(row.get("plain")),
                "differ": [SETTINGS.get(one, one) for one in row.get("other_settings", ())],
            }
            for row in result[name]
        ]
        for name in ("variants", "orders", "repeats")
    }
    return {**result, **named}
