"""A reviewer's turns while the worker asks a model at full speed, and the same turns without it, by turns.

The site is served with its worker as ``manage.py serve`` does it; the reviewer never pauses. The run is made, resumed
and paused by processes of their own (``order``), as people do it from elsewhere.
"""

from __future__ import annotations

import json
import time
from typing import Any

from tests.bench.load import review
from tests.bench.measuring import filled, served_in_chromium, site_env
from tests.bench.review_page import logged_in, turn
from tests.bench.rows import Row, p50_and_p95
from tests.bench.under_load import Site, fill, served
from tests.processes import printed_by

N_QUESTIONS, CONNECTIONS = 60_000, 8
N_BLOCKS, N_TURNS, N_WARM = 3, 30, 5  # blocks with and without calls, cases of each
MADE, RESUMED, PAUSED = "made", "resumed", "paused"


def measure_on(name: str, database_url: str, stand_in: str) -> list[Row]:
    """Rows for the table; ``stand_in``: its entry of REXVQA_MODEL_ENDPOINTS."""
    with site_env(database_url, **_asked(stand_in)) as env:
        way_in = fill("load", env, 1, N_WARM + 2 * N_BLOCKS * N_TURNS)
        _order(env, MADE)
        with served(env, is_sqlite=not database_url) as site:
            alone, beside, rate = _turns(env, site, way_in)
    what = f"{name}: a reviewer's submit to the next case beside {rate:.0f} calls/s"
    return p50_and_p95(what, beside, ("", "p95 15"), "without calls", alone)


def _asked(stand_in: str) -> dict[str, str]:
    return {"REXVQA_MODEL_ENDPOINTS": f"{stand_in} connections={CONNECTIONS}"}


def measure_painted(name: str, database_url: str, stand_in: str) -> list[Row]:
    """The same in Chromium: from the key that submits to the next question with both images at full depth."""
    alone: list[float] = []
    beside: list[float] = []
    with site_env(database_url, **_asked(stand_in)) as env:
        way_in = filled("review", env, N_WARM + 2 * N_BLOCKS * N_TURNS + 1)
        _order(env, MADE)
        with served_in_chromium(env) as (browser, address):
            page = logged_in(browser, address, way_in["session"]).new_page()
            page.goto(f"/review/rounds/{way_in['round']}/continue/?begin")
            for _ in range(N_WARM):
                turn(page)
            for _block in range(N_BLOCKS):
                alone += [max(turn(page)) for _ in range(N_TURNS)]
                _order(env, RESUMED)
                beside += [max(turn(page)) for _ in range(N_TURNS)]
                _order(env, PAUSED)
    what = f"{name}: submit to the whole next case in Chromium beside calls"
    return p50_and_p95(what, beside, ("60", "120"), "without calls", alone)


def _turns(env: dict[str, str], site: Site, way_in: dict[str, Any]) -> tuple[list[float], list[float], float]:
    """Milliseconds of each submit without and with calls, and how many calls a second were answered meanwhile."""
    cases = iter(range(N_WARM, N_WARM + 2 * N_BLOCKS * N_TURNS, N_TURNS))
    alone: list[float] = []
    beside: list[float] = []
    n_calls, seconds = 0, 0.0
    review(site, way_in, slice(0, N_WARM))
    for _block in range(N_BLOCKS):
        alone += _submits(site, way_in, next(cases))
        before, start = _order(env, RESUMED), time.perf_counter()
        beside += _submits(site, way_in, next(cases))
        n_calls, seconds = n_calls + _order(env, PAUSED) - before, seconds + time.perf_counter() - start
    return alone, beside, n_calls / seconds


def _submits(site: Site, way_in: dict[str, Any], first: int) -> list[float]:
    found = review(site, way_in, slice(first, first + N_TURNS))
    assert not found["errors"], found["errors"][:3]
    times: list[float] = found["times"]["submit"]
    return times


def _order(env: dict[str, str], order: str) -> int:
    """How many calls are answered by then."""
    return int(printed_by("tests.bench.child", "set-up", __name__, ordered.__name__, json.dumps([order]), env=env))


def ordered(order: str) -> int:
    from annotation.call_enums import BatchState
    from annotation.models import CallAttempt, CallBatch
    from tests.bench.model_calls import filled

    if order == MADE:
        batch = filled(N_QUESTIONS)
        CallBatch.objects.filter(pk=batch.pk).update(state=BatchState.PAUSED)
    else:
        state = BatchState.RUNNING if order == RESUMED else BatchState.PAUSED
        n_before = CallAttempt.objects.count()
        assert CallBatch.objects.exclude(state=BatchState.COMPLETE).update(state=state), "ask more questions"
        while order == RESUMED and CallAttempt.objects.count() < n_before + 50:  # the worker looks every five seconds
            time.sleep(0.1)
    return CallAttempt.objects.count()
