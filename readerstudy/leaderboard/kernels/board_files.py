"""The files of a public board: lines of its CSV, the schema of its JSON, badge, citation, hashes, numbers as words of
its pages, and its picture. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from annotation.tables.kernels.forms import BLUE, ORANGE, Width
from annotation.tables.kernels.style import QUIET, mark_simulated, new_figure, rows_of_names, write_beside
from annotation.tables.kernels.table import REAL, TEXT, WHOLE, Column
from readerstudy.leaderboard.kernels.board import FORMAT, TASK_MEAN, numbers_of
from readerstudy.leaderboard.kernels.release_rule import ALL, FEWEST, kind_of

CSV_COLUMNS = (
    Column("edition", WHOLE, "number of the edition"),
    Column("version", WHOLE, "number of the version of the benchmark"),
    Column("date", TEXT, "until when teams named a submission, UTC"),
    Column("entry", TEXT, "id of the entry; empty: of no entry"),
    Column("name", TEXT, "model, as its team calls it"),
    Column("team", TEXT, "team, or under which name it is shown"),
    Column("what", TEXT, "all, task_mean, task:..., category:..., difficulty:..., band, above, n_failed, ..."),
    Column("n", WHOLE, "questions, of readers answers"),
    Column("value", REAL, "percent, points of a difference, a count; of a band its best rank"),
    Column("low", REAL, "lower limit at 95 %, rounded outwards; of a band its best rank"),
    Column("high", REAL, "upper limit at 95 %, rounded outwards; of a band its worst rank"),
    Column("beside", TEXT, "the entry that a difference is to"),
    Column("withdrawn", TEXT, "day, where the entry was withdrawn"),
)


def csv_rows(result: Mapping[str, Any], entries: Mapping[str, Any]) -> Iterator[tuple[str | int | float | None, ...]]:
    """A line for each number of a result. ``entries``: of each id what is shown of it."""
    head = (result["edition"], result["version"], result["due_on"])
    for one in numbers_of(result):
        value = one.value if isinstance(one.value, dict) else {"value": one.value}
        if one.what == "band":
            value = {"value": one.value[0], "low": one.value[0], "high": one.value[1]}
        numbers = (value.get("n"), value["value"], value.get("low"), value.get("high"))
        about = entries.get(one.entry)
        name, team, withdrawn = (about.name, about.team, about.withdrawn_on) if about else ("", "", "")
        yield (*head, one.entry, name, team, one.what, *numbers, value.get("entry", ""), withdrawn)


def as_json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


# --- the schema of board.json ---------------------------------------------------------------------
Schema = dict[str, Any]
TEXTS: Schema = {"type": "string"}
NUMBER: Schema = {"type": ["number", "null"]}
AT_LEAST: dict[int, Schema] = {least: {"type": "integer", "minimum": least} for least in (0, 1, FEWEST)}


def _object(*required: str, **properties: Schema) -> Schema:
    shape: Schema = {"type": "object", "required": list(required)}
    return {**shape, "properties": properties} if properties else shape


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _by_name(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


POINTS: Schema = {
    **_object(*("value", "low", "high", "n"), value=NUMBER, low=NUMBER, high=NUMBER, n=AT_LEAST[FEWEST]),
    "type": ["object", "null"],
}
CELL = _object(*("name", "label", "n", "is_told", "next"), name=TEXTS, next={"type": ["integer", "null"]})
ENTRY = _object(
    *("entry", "answers_sha256", "n_failed", "n_missing", "numbers", TASK_MEAN, "band", "above"),
    entry=TEXTS,
    answers_sha256={**TEXTS, "pattern": "^[0-9a-f]{64}$"},
    n_failed=AT_LEAST[0],
    n_missing=AT_LEAST[0],
    numbers=_by_name(POINTS),
    band={"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    **dict.fromkeys((TASK_MEAN, "above", "without_images", "on_read"), POINTS),
)
RESULT = _object(
    *("format", "rule", "edition", "version", "due_on", "n", "cells", "chance", "entries"),
    format={"const": FORMAT},
    edition=AT_LEAST[1],
    version=AT_LEAST[1],
    due_on={**TEXTS, "format": "date"},
    cells=_list_of(CELL),
    commonest=POINTS,
    readers=POINTS,
    entries=_list_of(ENTRY),
)
BOARD_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Public leaderboard",
    **_object(
        *("benchmark", "results", "entries", "notes"),
        benchmark=_object("name", "slug", "simulated", "versions"),
        results=_list_of(RESULT),
        entries=_by_name(_object("name", "team")),
        notes=_list_of(_object("day", "text", "entry")),
    ),
}

SIGN, PAD, HEIGHT = 6.6, 8, 20  # of a badge, pixels


def badge(left: str, right: str) -> bytes:
    """Two words beside each other, as repositories show them; text that a screen reader reads."""
    widths = [round(SIGN * len(one)) + 2 * PAD for one in (left, right)]
    title, whole = escape(f"{left}: {right}"), sum(widths)
    text = 'font-family="Verdana, DejaVu Sans, sans-serif" font-size="11" fill="#fff"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{whole}" height="{HEIGHT}" role="img">'
        f"<title>{title}</title>"
        f'<rect width="{widths[0]}" height="{HEIGHT}" fill="#3b444d"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="{HEIGHT}" fill="#0b3c6f"/>'
        f'<text x="{PAD}" y="14" {text}>{escape(left)}</text>'
        f'<text x="{widths[0] + PAD}" y="14" {text}>{escape(right)}</text></svg>\n'
    ).encode()


def citation(name: str, contact: str, day: str, edition: int, protocol_sha256: str) -> bytes:
    """CITATION.cff; each text is one JSON string, which YAML reads as well."""
    return f"""\
cff-version: "1.2.0"
message: "Cite a board with its edition: its numbers stay as they are."
type: "dataset"
title: {json.dumps(f"{name}: leaderboard")}
version: "edition {edition}"
date-released: "{day}"
authors:
  - name: {json.dumps(f"Coordinators of {name}")}
identifiers:
  - type: other
    value: "sha256:{protocol_sha256}"
    description: {json.dumps(f"protocol of the benchmark; contact: {contact}")}
""".encode()


def sums(files: Mapping[str, bytes]) -> bytes:
    """As ``sha256sum`` writes and checks them."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


# --- words of its pages ---------------------------------------------------------------------------
def shown(told: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A number with ``text``, ``limits`` and the size of what it is counted on, beside what else is known of it."""
    if not told:
        return None
    limits = "" if told["low"] is None else f"{told['low']:.1f}, {told['high']:.1f}".replace("-", "\N{MINUS SIGN}")
    return {**told, "text": f"{told['value']:.1f}".replace("-", "\N{MINUS SIGN}"), "limits": limits}


def told_tasks(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The columns of the table: cells of tasks that are told, in the order of the result."""
    return [cell for cell in result["cells"] if cell["is_told"] and cell["name"].startswith("task:")]


def rows_of(
    result: Mapping[str, Any],
    entries: Iterable[Mapping[str, Any]],
    about: Mapping[str, Any],
    n_notes: Mapping[str, int],
) -> list[dict[str, Any]]:
    """The lines of the table for these entries of a result. ``about``: of each id what is shown of it."""
    tasks = [cell["name"] for cell in told_tasks(result)]
    return [
        {
            **one,
            "about": about[one["entry"]],
            "n_notes": n_notes.get(one["entry"], 0),
            "accuracy": shown(one["numbers"][ALL]),
            "mean": shown(one[TASK_MEAN]),
            "tasks": [shown(one["numbers"][name]) for name in tasks],
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
    """Each cell that is not too small, of one ``entry`` with its number; the edition and day in which it comes next."""
    return [
        {
            **cell,
            "kind": kind_of(cell["name"]),
            "told": shown(entry["numbers"][cell["name"]]) if entry else None,
            "next_on": due.get(cell["next"], ""),
        }
        for cell in result["cells"]
        if cell["n"] >= FEWEST
    ]


def interval_words(result: Mapping[str, Any]) -> str:
    """How the intervals of accuracy were made."""
    return f"Wilson, by {result['cluster']}" if result["is_by_cluster"] else "Wilson"


def unit_words(result: Mapping[str, Any]) -> str:
    """Of whom questions are, in the plural."""
    return {"patient": "patients", "exam": "exams"}.get(result["cluster"], "patients or exams")


DASHES, DOTS = (0, (5, 2)), (0, (2, 2))
READERS = "#f3dcc0"  # light, behind everything


def board_figure(result: Mapping[str, Any], names: Mapping[str, str]) -> Figure:
    """Models with intervals, and beside them chance, one letter, no images, and readers.

    A row for each entry in the order of the result. ``names``: by id, as the board shows them.
    """
    entries = result["entries"]
    figure = new_figure(Width.TWO, 1.15 + 0.2 * max(len(entries), 3))
    axes = figure.add_subplot()
    left_out = rows_of_names(axes, [names[one["entry"]] for one in entries])
    handles: list[Artist] = [
        Line2D([], [], color=QUIET, linewidth=0.8, linestyle=DOTS, label=f"chance, {result['chance']:g} %")
    ]
    axes.axvline(result["chance"], color=QUIET, linewidth=0.8, linestyle=DOTS)
    if commonest := result["commonest"]:
        label = f"always {commonest['letter']}, {commonest['value']:.1f} %"
        axes.axvline(commonest["value"], color=QUIET, linewidth=0.8, linestyle=DASHES)
        handles.append(Line2D([], [], color=QUIET, linewidth=0.8, linestyle=DASHES, label=label))
    if readers := result["readers"]:
        low, high = (readers["value"] if readers[name] is None else readers[name] for name in ("low", "high"))
        axes.axvspan(low, high, color=READERS, linewidth=0)
        label = f"{readers['n_readers']} readers, {readers['value']:.1f} % of {readers['n']:,} answers"
        handles.append(Patch(facecolor=READERS, label=label))
    for row, one in enumerate(entries):
        for told, colour, face in ((one["numbers"][ALL], BLUE, BLUE), (one["without_images"], ORANGE, "white")):
            if not told:
                continue
            if told["low"] is not None:
                axes.plot([told["low"], told["high"]], [row, row], color=colour, linewidth=1.1)
            axes.plot([told["value"]], [row], marker="o", markersize=4.2, color=colour, markerfacecolor=face)
    if any(one["without_images"] for one in entries):
        handles.append(Line2D([], [], color=ORANGE, marker="o", markerfacecolor="white", label="without images"))
    _write_numbers(axes, entries)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"Accuracy on {result['n']:,} questions, %" if result["commonest"] else "Accuracy is told later")
    figure.legend(handles=handles, loc="outside upper left", ncols=2, frameon=False, borderpad=0)
    mark_simulated(figure, simulated=result["simulated"], left_out=left_out)
    return figure


def _write_numbers(axes: Any, entries: list[Mapping[str, Any]]) -> None:
    write_beside(axes, -0.8, [(8, "% (95% CI)"), (84, "ranks")], va="bottom", color=QUIET)
    for row, one in enumerate(entries):
        if not (told := one["numbers"][ALL]):
            continue
        limits = "" if told["low"] is None else f" ({told['low']:.1f}, {told['high']:.1f})"
        best, worst = one["band"]
        ranks = f"{best}" if best == worst else f"{best} to {worst}"
        write_beside(axes, row, [(8, f"{told['value']:.1f}{limits}"), (84, ranks)])
