"""Agreement of every pair as a heatmap, and one pair: its 2x2 table, its difference, and the cases behind them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.decorators import AuthenticatedRequest, person_required
from readerstudy.results.bank_mix import bank_mix_of_pair
from readerstudy.results.cases import cases_shown
from readerstudy.results.disagreeing import disagreements
from readerstudy.results.heatmap import Agree, heatmap_rows, pairs_once
from readerstudy.results.stored import ALL_TASKS, pair_between, panel_names, runs_of
from readerstudy.results.tables import group_table, planned_pairs_table
from readerstudy.results.way import Seen
from readerstudy.views.results_access import panel_named, rater_at, seen_result

CASES_A_PAGE = 10
DIFFERENCES = ("difference", "difference_newcombe", "difference_cluster")


@person_required
@never_cache
@require_safe
def study_agreement(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    return agreement_page(request, seen_result(request.user, slug, public_id))


def agreement_page(request: HttpRequest, seen: Seen) -> HttpResponse:
    """One panel of the heatmap; which one, and what counts as agreeing, stands in the address."""
    result = seen.result
    panel, agree = panel_named(result, request.GET.get("task", "")), _agree(request)
    rows = heatmap_rows(result, panel, agree)
    context: dict[str, Any] = {
        **seen.context(),
        "panel": result["panels"][panel],
        "panel_name": panel,
        "tabs": _tabs(result, panel, agree),
        "agree": agree,
        "others": _query(panel, Agree.RIGHT if agree == Agree.OPTION else Agree.OPTION),
        "query": _query(panel, agree),
        "rows": rows,
        "pairs": pairs_once(rows),
        "groups": group_table(result, panel),
    }
    return render(request, "readerstudy/results/agreement.html", context)


@person_required
@never_cache
@require_safe
def study_pair(request: AuthenticatedRequest, slug: str, public_id: str, first: int, second: int) -> HttpResponse:
    """Two raters by their places in the order of the analysis."""
    seen = seen_result(request.user, slug, public_id)
    result = seen.result
    panel, agree = panel_named(result, request.GET.get("task", "")), _agree(request)
    if first == second:
        raise Http404
    pair = pair_between(result["panels"][panel], rater_at(result, first), rater_at(result, second))
    said = disagreements(result, panel, pair.first, pair.second, agree)
    page = Paginator(said, CASES_A_PAGE).get_page(request.GET.get("page"))
    names, family = (pair.first, pair.second), planned_pairs_table(result)
    context: dict[str, Any] = {
        **seen.context(),
        "panel": result["panels"][panel],
        "panel_name": panel,
        "tabs": _tabs(result, panel, agree),
        "agree": agree,
        "others": _query(panel, Agree.RIGHT if agree == Agree.OPTION else Agree.OPTION),
        "query": _query(panel, agree),
        "pair": pair,
        "entry": pair.entry,
        "bank_mix": bank_mix_of_pair(result, pair.first, pair.second) if panel == ALL_TASKS else None,
        "differences": [pair.entry[name] for name in DIFFERENCES if name in pair.entry],
        "family": family,
        "planned": family.of(*names) if family else None,
        "is_whole": panel == ALL_TASKS,
        "n_table": sum(pair.entry["table"].values()),
        "page": page,
        "cases": cases_shown(seen.analysis.study, names, runs_of(result), list(page.object_list)),
    }
    return render(request, "readerstudy/results/pair.html", context)


def _agree(request: HttpRequest) -> Agree:
    return Agree.RIGHT if request.GET.get("of") == Agree.RIGHT else Agree.OPTION


def _tabs(result: dict[str, Any], panel: str, agree: Agree) -> list[tuple[str, int, str, bool]]:
    """Name, questions, query and whether it is the shown one."""
    return [(name, result["panels"][name]["n"], _query(name, agree), name == panel) for name in panel_names(result)]


def _query(panel: str, agree: Agree) -> str:
    """What the address says of panel and agreement; the defaults are not named."""
    said = {"task": "" if panel == ALL_TASKS else panel, "of": "" if agree == Agree.OPTION else agree.value}
    return urlencode({name: value for name, value in said.items() if value})
