"""Agreement of every pair and one pair with its cases; the cases one by one, their times, accuracy by category."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.site.sorted_tables import asked_sorting, numbered_page
from annotation.statistics.kernels.catalogue import ShownOn, shown_at
from annotation.views.site.decorators import AuthenticatedRequest
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis, n_in, value_named
from readerstudy.design.conflicts import note_study_keys
from readerstudy.results.accuracy_tables import breakdown_table, breakdown_tables, calibration_table, time_table
from readerstudy.results.cases import cases_shown, judged_difficulties
from readerstudy.results.kernels.agreement_tables import Agree, Cell, HeatMap, beside_kappa, heatmap, pairs_once
from readerstudy.results.kernels.inferences import planned_pairs_table
from readerstudy.results.kernels.items import SORTED_BY, Show, Which, accuracy_by, items_table
from readerstudy.results.kernels.stored import (
    GRADES,
    large_categories,
    large_tasks,
    order_of,
    pair_between,
    panel_names,
    runs_of,
    with_shown_kappas,
)
from readerstudy.results.looking import Seen
from readerstudy.results.wording import caution
from readerstudy.templatetags.results import (
    as_kappa,
    as_percent,
    as_points,
    kappa_limits,
    percent_limits,
    points_limits,
)
from readerstudy.views.access import panel_named, person_page, rater_at, seen_result
from readerstudy.views.results.overview import for_coordinators

CASES_A_PAGE = 10
MOST_BESIDE = 12  # raters whose heatmaps of all tasks fit beside each other
DIFFERENCES = ("difference", "difference_newcombe", "difference_cluster")


def agreement_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """One panel of the heatmap; which one, and what counts as agreeing, is part of the address."""
    from readerstudy.results.accuracy_tables import groups_table

    result = seen.result
    panel, agree = panel_named(result, request.GET.get("task", "")), _agree(request)
    shown = panel_names(result) if len(order_of(result)) <= MOST_BESIDE else [panel]  # else there is no room for all
    maps = [heatmap(result, name, agree) for name in shown]
    rows = next(one.rows for one in maps if one.panel == panel)
    context: dict[str, Any] = {
        **_of_panel(seen, panel, agree),
        "maps": [(one, _query(one.panel, of=_of(agree))) for one in maps],
        "card": _card(maps, agree),
        "pairs": pairs_once(rows),
        "columns": beside_kappa(),
        "groups": groups_table(result, panel),
    }
    return render(request, "readerstudy/results/agreement.html", context)


study_agreement = for_coordinators(agreement_page)


@person_page("GET", "HEAD", fresh=True)
def study_pair(request: AuthenticatedRequest, slug: str, public_id: str, first: int, second: int) -> HttpResponse:
    """Two raters by their places in the order of the analysis."""
    from readerstudy.results.kernels.agreement_tables import bank_mix_of_pair, disagreements

    seen = seen_result(request.user, slug, public_id)
    result = seen.result
    panel, agree = panel_named(result, request.GET.get("task", "")), _agree(request)
    if first == second:
        raise Http404
    pair = pair_between(result["panels"][panel], rater_at(result, first), rater_at(result, second))
    note_study_keys(seen.analysis.study, actor=request.user, at=timezone.now())
    disagreed = disagreements(result, panel, pair.first, pair.second, agree)
    page = numbered_page(request.GET, disagreed, CASES_A_PAGE)
    names, family = (pair.first, pair.second), planned_pairs_table(result)
    entry = with_shown_kappas(pair.entry)
    context: dict[str, Any] = {
        **_of_panel(seen, panel, agree),
        "pair": pair,
        "entry": entry,
        "statistics": [(one, value) for one in shown_at(ShownOn.PAIR) if (value := value_named(entry, one.name))],
        "bank_mix": bank_mix_of_pair(result, pair.first, pair.second) if panel == ALL_TASKS else None,
        "differences": [one for name in DIFFERENCES if (one := value_named(pair.entry, name))],
        "family": family,
        "planned": family.of(*names) if family else None,
        "is_whole": panel == ALL_TASKS,
        "n_table": n_in(pair.entry["table"]),
        "page": page,
        "cases": cases_shown(seen.analysis.study, names, runs_of(result), list(page.object_list)),
    }
    return render(request, "readerstudy/results/pair.html", context)


def _agree(request: HttpRequest) -> Agree:
    return Agree.RIGHT if request.GET.get("of") == Agree.RIGHT else Agree.OPTION


def _of_panel(seen: Seen, panel: str, agree: Agree) -> dict[str, Any]:
    """What the two pages of agreement show alike."""
    return {
        **seen.context(),
        "panel": seen.result["panels"][panel],
        "panel_name": panel,
        "tabs": _tabs(seen.result, panel, of=_of(agree)),
        "agree": agree,
        "others": _query(panel, of=_of(Agree.RIGHT if agree == Agree.OPTION else Agree.OPTION)),
        "query": _query(panel, of=_of(agree)),
    }


def _of(agree: Agree) -> str:
    return "" if agree == Agree.OPTION else agree.value


def _tabs(result: StoredAnalysis, panel: str, **more: str) -> list[tuple[str, int, str, bool]]:
    """Name, questions, query and whether it is the shown one."""
    return [(name, result["panels"][name]["n"], _query(name, **more), name == panel) for name in panel_names(result)]


def _query(panel: str, **more: str) -> str:
    """What the address says of the panel and of ``more``; the defaults, which are empty, are not named."""
    query = {"task": "" if panel == ALL_TASKS else panel, **more}
    return urlencode({name: value for name, value in query.items() if value})


def _card(maps: list[HeatMap], agree: Agree) -> dict[str, dict[str, str]]:
    """What is shown beside the heatmaps when somebody points at a cell, by panel and pair."""
    return {f"{one.panel} {cell.anchor}": _card_of(cell, agree) for one in maps for cell in pairs_once(one.rows)}


def _card_of(cell: Cell, agree: Agree) -> dict[str, str]:
    entry = cell.entry
    same, errors = entry["percent_agreement"], entry["error_consistency"]
    cases = ngettext("%(n)s case on which they disagree", "%(n)s cases on which they disagree", cell.n_disagreed) % {
        "n": cell.n_disagreed
    }
    return {
        "kappa": as_kappa(cell.shown),
        "limits": kappa_limits(cell.shown),
        "n": str(cell.shown["n"]),
        "same": as_percent(same),
        "sameLimits": f"{percent_limits(same)}, n = {same['n']}",
        "alone": as_percent(entry["agreement_if_independent"]),
        "aloneLimits": percent_limits(entry["agreement_if_independent"]),
        "excess": as_points(entry["excess_agreement"]),
        "excessLimits": points_limits(entry["excess_agreement"]),
        "errors": as_kappa(errors),
        "errorsLimits": f"{kappa_limits(errors)}, n = {errors['n']}",
        "caution": caution(cell.shown),
        "cases": cases,
    }


ITEMS_A_PAGE = 200


@person_page("GET", "HEAD", fresh=True)
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
        "tabs": _tabs(result, panel, which=which, show=show),
        "choices": [(one, _query(panel, which=one, show=show)) for one in Which],
        "shows": [(one, _query(panel, which=which, show=one)) for one in Show],
        "page": numbered_page(request.GET, items, ITEMS_A_PAGE),
    }
    return render(request, "readerstudy/results/items.html", context)


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


study_times = for_coordinators(times_page)


def categories_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """Accuracy of every rater by category and by difficulty of the questions."""
    result = seen.result
    groups_drawn = {"accuracy-by-task": large_tasks(result), "accuracy-by-category": large_categories(result)}
    domains, categories, difficulties = breakdown_tables(result)
    context: dict[str, Any] = {
        **seen.context(),
        "figures": [name for name, groups in groups_drawn.items() if groups],
        "domains": domains,
        "categories": categories,
        "difficulties": difficulties,
    }
    if not seen.routes.is_shared:  # what reviewers say may change; a link shows what was analysed
        found = accuracy_by(result, judged_difficulties(seen.analysis.study), GRADES)
        context["judged"] = breakdown_table(found, "judged", _("Difficulty"), result)
    return render(request, "readerstudy/results/categories.html", context)


study_categories = for_coordinators(categories_page)
