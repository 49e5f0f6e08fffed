"""What the captions and heads of the printed tables share: rules in words, and how columns are laid out. Pure."""

from __future__ import annotations

from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis
from readerstudy.report.kernels.latex import escaped, row_head
from readerstudy.results.kernels.stored import post_hoc_models

INTERVAL = r"95\,\% interval"
SHARED_DIFFICULTY = (
    "Raters who share nothing but the difficulty of questions have 7 to 13 points of excess and an error consistency "
    "of 0.27 to 0.45, one attractive distractor adds 3 to 4 points; excess is no proof of a shared way of thinking."
)
Rows = list[list[str]]


def caption(result: StoredAnalysis, text: str) -> str:
    """The study is named, and simulated data says so in every caption."""
    simulated = " Simulated data." if result["simulated"] else ""
    return f"{text} Study: {escaped(result['study'])}.{simulated}"


def rater_head(result: StoredAnalysis, *names: str) -> str:
    """The head of a row about these raters, which says of a model that it is post hoc."""
    late = {one["name"] for one in post_hoc_models(result)}
    return row_head(*(f"{name} (post hoc)" if name in late else name for name in names))


def failed_rule(result: StoredAnalysis) -> str:
    is_wrong = result["settings"]["failed_in_accuracy"] == "wrong"
    return "count as wrong" if is_wrong else "are left out of accuracy"


def bootstrap_rule(result: StoredAnalysis) -> str:
    drawn = "patients or exams" if result["panels"][ALL_TASKS]["unit"] == "cluster" else "questions"
    settings = result["settings"]
    draws = f"{settings['draws']:,} draws, seed {settings['seed']}"
    return rf"95\,\% intervals: percentile bootstrap over {drawn}, {draws}, raters fixed."


def pair_rule(result: StoredAnalysis) -> str:
    """The intervals of pairs: what agrees by Wilson where questions are drawn, and none without a disagreement."""
    by_wilson = ""
    if result["panels"][ALL_TASKS]["unit"] == "question":
        by_wilson = " Brennan--Prediger: Wilson's limits of the same option, rescaled."
    return f"{bootstrap_rule(result)}{by_wilson} None where two agree on all questions or on none."


def layout(n_columns: int) -> str:
    return "l" + "r" * n_columns


def with_n(text: str, n: int) -> str:
    return f"{text} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n})"


def quotes(text: str) -> str:
    return text.replace("“", "``").replace("”", "''")
