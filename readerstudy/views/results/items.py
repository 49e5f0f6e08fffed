"""The cases of a study one by one, and how long they took; from its stored analysis."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.site.sorted_tables import asked_sorting, numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.design.conflicts import note_study_keys
from readerstudy.results.accuracy_tables import breakdown_table, breakdown_tables, calibration_table, time_table
from readerstudy.results.cases import judged_difficulties
from readerstudy.results.kernels.items import SORTED_BY, Show, Which, accuracy_by, items_table
from readerstudy.results.kernels.stored import GRADES, large_categories, large_tasks, order_of, panel_names
from readerstudy.results.looking import Seen
from readerstudy.views.access import panel_named, seen_result

ITEMS_A_PAGE = 200


@person_required
@never_cache
@require_safe
def study_items(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    seen = seen_result(request.user, slug, public_id)
    result = seen.result
    panel = panel_named(result, request.GET.get("task", ""))
    asked = request.GET.get("which", "")
    which = Which(asked) if asked in set(Which) else Which.ALL
    show = Show.BEHAVIOUR if request.GET.get("show") == Show.BEHAVIOUR else Show.ANSWERS
    note_study_keys(seen.analysis.study, actor=request.user, at=timezone.now())
    sorting = asked_sorting(request.GET, SORTED_BY)
    items = items_table(result, panel, which, sorting.column, is_down=sorting.is_down)
    context: dict[str, Any] = {
        **seen.context(),
        "names": order_of(result),
        "sorting": sorting,
        "which": which,
        "show": show,
        "tabs": [
            (one, result["panels"][one]["n"], _query(one, which, show), one == panel) for one in panel_names(result)
        ],
        "choices": [(one, _query(panel, one, show)) for one in Which],
        "shows": [(one, _query(panel, which, one)) for one in Show],
        "page": numbered_page(request.GET, items, ITEMS_A_PAGE),
    }
    return render(request, "readerstudy/results/items.html", context)


@person_required
@never_cache
@require_safe
def study_times(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    return times_page(request, seen_result(request.user, slug, public_id))


def times_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Time per case, its change along the order, and accuracy by place in the order and by stated confidence."""
    result = seen.result
    context: dict[str, Any] = {
        **seen.context(),
        "time": time_table(result),
        "positions": result["tables"]["positions"],
        "confidence": result["tables"]["confidence"],
        "calibration": calibration_table(result),
    }
    return render(request, "readerstudy/results/times.html", context)


@person_required
@never_cache
@require_safe
def study_categories(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    return categories_page(request, seen_result(request.user, slug, public_id))


def categories_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Accuracy of every rater by category and by difficulty of the questions."""
    result = seen.result
    groups_drawn = {"accuracy-by-task": large_tasks(result), "accuracy-by-category": large_categories(result)}
    categories, difficulties = breakdown_tables(result)
    context: dict[str, Any] = {
        **seen.context(),
        "figures": [name for name, groups in groups_drawn.items() if groups],
        "categories": categories,
        "difficulties": difficulties,
    }
    if not seen.routes.is_shared:  # what reviewers say may change; a link shows what was analysed
        found = accuracy_by(result, judged_difficulties(seen.analysis.study), GRADES)
        context["judged"] = breakdown_table(found, "judged", _("Difficulty"), result)
    return render(request, "readerstudy/results/categories.html", context)


def _query(panel: str, which: Which, show: Show) -> str:
    query = {"task": "" if panel == ALL_TASKS else panel, "which": which.value, "show": show.value}
    return urlencode({name: value for name, value in query.items() if value})
