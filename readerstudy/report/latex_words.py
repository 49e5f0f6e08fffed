"""What the captions and heads of the printed tables share: rules in words, and how columns are laid out. Pure."""

from __future__ import annotations

from readerstudy.report.latex import escaped
from readerstudy.results.stored import ALL_TASKS, Json

INTERVAL = r"95\,\% interval"
Rows = list[list[str]]


def caption(result: Json, text: str) -> str:
    """The study is named, and simulated data says so in every caption."""
    simulated = " Simulated data." if result["simulated"] else ""
    return f"{text} Study: {escaped(result['study'])}.{simulated}"


def failed_rule(result: Json) -> str:
    is_wrong = result["settings"]["failed_in_accuracy"] == "wrong"
    return "count as wrong" if is_wrong else "are left out of accuracy"


def bootstrap_rule(result: Json) -> str:
    drawn = "patients or exams" if result["panels"][ALL_TASKS]["unit"] == "cluster" else "questions"
    settings = result["settings"]
    draws = f"{settings['draws']} draws, seed {settings['seed']}"
    return rf"95\,\% intervals: percentile bootstrap over {drawn}, {draws}, raters fixed."


def layout(n_columns: int) -> str:
    return "l" + "r" * n_columns


def with_n(text: str, n: int) -> str:
    return f"{text} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n})"


def quotes(text: str) -> str:
    return text.replace("“", "``").replace("”", "''")
