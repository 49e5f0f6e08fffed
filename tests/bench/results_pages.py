"""Results pages of a stored analysis, of 200 and of 41,007 questions, beside a small form.

Each study is measured in a process of its own (``python -m tests.bench.results_pages CASES``), which prints one JSON
object. Milliseconds of the processor in the server, the median of TIMES requests after a first one: what a process
reads and decodes once is a row of its own. Figures are those that the job of the analysis has drawn.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from tests.bench.measuring import coordinator, told_by
from tests.bench.rows import Row, median
from tests.large_frames import with_large_frame

CASES = (200, 41_007)
TIMES = 7
PAGES: dict[str, tuple[str, tuple[object, ...], str]] = {  # name of the address, what follows the analysis, query
    "comparison and accuracy": ("study-analysed", (), ""),
    "agreement": ("study-agreement", (), ""),
    "a pair and its cases": ("study-pair", (0, 5), ""),
    "categories": ("study-categories", (), ""),
    "cases": ("study-items", (), ""),
    "cases missed by the readers": ("study-items", (), "?which=readers-missed"),
    "time and order": ("study-times", (), ""),
    "whether it is stale": ("study-analysed-stands", (), ""),
    "a figure": ("study-figure", ("accuracy", "two", "svg"), ""),
}


def measure() -> list[Row]:
    """Rows of both sizes."""
    rows = []
    for n in CASES:
        told = told_by("results_pages", n, DJANGO_SETTINGS_MODULE="tests.settings")
        beside = ("the form for a new study", told.pop("form"))
        rows += [Row(f"{n:,} cases: {name}", ms, "ms", "300", *beside) for name, ms in told.items()]
    return rows


def run(n_cases: int) -> dict[str, Any]:
    """Milliseconds of each page, in an empty home that stays behind filled."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.urls import reverse

    from readerstudy.results.looking import prepare_figures
    from tests.bench.analysed_site import analysed, made_study

    call_command("migrate", verbosity=0)
    analysis = analysed(made_study(n_cases))
    prepare_figures(analysis)
    client = coordinator()
    found = {"form": _milliseconds(client, reverse("study-new"))[1]}
    for name, (view, more, query) in PAGES.items():
        address = reverse(view, args=[analysis.study.slug, analysis.public_id, *more]) + query
        first, found[name] = _milliseconds(client, address)
        if name == next(iter(PAGES)):
            found["the first page of a process"] = first
    return found


@with_large_frame  # else it would be luck how many calls deep the slow part of a page begins
def _milliseconds(client: Any, address: str) -> tuple[float, float]:
    """Of the first request, and the median of the others."""
    times = []
    for _turn in range(TIMES + 1):
        begun = time.process_time()
        response = client.get(address)
        times.append(1000 * (time.process_time() - begun))
        if response.status_code != 200:
            raise RuntimeError(f"{address} answered {response.status_code}")
    return times[0], median(times[1:])


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    print(json.dumps(run(int(sys.argv[1]))))
