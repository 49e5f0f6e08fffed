"""Results pages of a stored analysis, of 200 and of 41,007 questions, beside a small form.

Milliseconds of the processor in the server, the median of TIMES requests after a first one: what a process reads and
decodes once is a row of its own. Figures are those that the job of the analysis has drawn.
"""

from __future__ import annotations

from tests.bench.measuring import asked_in_turns, coordinator, got, processor, told_in_tests
from tests.bench.rows import Row, median

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
        told = told_in_tests(run, n)
        beside = ("the form for a new study", told.pop("form"))
        rows += [Row(f"{n:,} cases: {name}", ms, "ms", "300", *beside) for name, ms in told.items()]
    return rows


def run(n_cases: int) -> dict[str, float]:
    """Milliseconds of each page."""
    from django.urls import reverse

    from readerstudy.results.looking import prepare_figures
    from tests.bench.analysed_site import analysed, made_study

    analysis = analysed(made_study(n_cases))
    prepare_figures(analysis)
    client, of = coordinator(), (analysis.study.slug, analysis.public_id)
    pages = {name: reverse(view, args=[*of, *more]) + query for name, (view, more, query) in PAGES.items()}
    got(client, reverse("study-new"))
    begun = processor()
    got(client, next(iter(pages.values())))
    first = {"the first page of a process": processor() - begun}
    asked = asked_in_turns(client, {"form": reverse("study-new"), **pages}, TIMES)
    return {name: median(times) for name, (times, _n) in asked.items()} | first
