"""Numbers of a result as the words of its pages. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from readerstudy.leaderboard.kernels.board import TASK_MEAN
from readerstudy.leaderboard.kernels.release_rule import ALL


def shown(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A number with ``text``, ``limits`` and the size of what it is counted on, beside what else is known of it."""
    if not told:
        return None
    limits = "" if told["low"] is None else f"{told['low']:.1f}, {told['high']:.1f}".replace("-", "\N{MINUS SIGN}")
    return {**told, "text": f"{told['value']:.1f}".replace("-", "\N{MINUS SIGN}"), "limits": limits}


def rows_of(
    entries: Iterable[Mapping[str, Any]],
    about: Mapping[str, Any],
    n_notes: Mapping[str, int],
    tasks: Sequence[Mapping[str, Any]] = (),
) -> list[dict[str, Any]]:
    """The lines of a table. ``about``: of each id what is shown of it. ``tasks``: the columns, in their order."""
    return [
        {
            **one,
            "about": about[one["entry"]],
            "n_notes": n_notes.get(one["entry"], 0),
            "accuracy": shown(one["numbers"][ALL]),
            "mean": shown(one[TASK_MEAN]),
            "tasks": [shown(one["numbers"][task["name"]]) for task in tasks],
            "without_images": shown(one["without_images"]),
            "on_read": shown(one["on_read"]),
            "above": shown(one["above"]),
            "above_name": about[one["above"]["entry"]].name if one["above"] else "",
        }
        for one in entries
    ]


def cell_lines(
    result: Mapping[str, Any], due: Mapping[int, str], entry: Mapping[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Each cell, of one ``entry`` with its number, and with the edition and day in which it comes next."""
    return [
        {**cell, "told": shown(entry["numbers"][cell["name"]]) if entry else None, "next_on": due.get(cell["next"], "")}
        for cell in result["cells"]
    ]


def interval_words(result: Mapping[str, Any]) -> str:
    """How the intervals of accuracy were made."""
    return f"Wilson, by {result['cluster']}" if result["is_by_cluster"] else "Wilson"


def unit_words(result: Mapping[str, Any]) -> str:
    """Of whom questions are, in the plural."""
    return {"patient": "patients", "exam": "exams"}.get(result["cluster"], "patients or exams")
