"""The files of a public board for programs: lines of its CSV, schema of its JSON, badges, citation, hashes. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from annotation.tables.kernels.table import REAL, TEXT, WHOLE, Column
from readerstudy.leaderboard.kernels.board import FORMAT, numbers_of

SCHEMA = "https://json-schema.org/draft/2020-12/schema"
CSV_COLUMNS = (
    Column("edition", WHOLE, "number of the edition"),
    Column("version", WHOLE, "number of the version of the benchmark"),
    Column("date", TEXT, "until when teams named a submission, UTC"),
    Column("entry", TEXT, "id of the entry; empty: of no entry"),
    Column("name", TEXT, "model, as its team calls it"),
    Column("team", TEXT, "team, or under which name it is shown"),
    Column(
        "what", TEXT, "all, task_mean, task:..., category:..., difficulty:..., band, above, n_failed, n_missing, ..."
    ),
    Column("n", WHOLE, "questions, of readers answers"),
    Column("value", REAL, "percent, points of a difference, a count; of a band its best rank"),
    Column("low", REAL, "lower limit at 95 %, rounded outwards; of a band its best rank"),
    Column("high", REAL, "upper limit at 95 %, rounded outwards; of a band its worst rank"),
    Column("beside", TEXT, "the entry that a difference is to"),
    Column("withdrawn", TEXT, "day, where the entry was withdrawn"),
)


def csv_rows(
    result: Mapping[str, Any], entries: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str | int | float | None, ...]]:
    """A line for each number of a result. ``entries``: of each id what is shown of it."""
    head = (result["edition"], result["version"], result["due_on"])
    for one in numbers_of(result):
        shown = entries.get(one.entry, {})
        value = one.value if isinstance(one.value, dict) else {"value": one.value}
        if one.what == "band":
            value = {"value": one.value[0], "low": one.value[0], "high": one.value[1]}
        numbers = (value.get("n"), value["value"], value.get("low"), value.get("high"))
        about = (shown.get("name", ""), shown.get("team", ""), one.what)
        yield (*head, one.entry, *about, *numbers, value.get("entry", ""), shown.get("withdrawn_on") or "")


def schema() -> dict[str, Any]:
    """JSON Schema of ``board.json``."""
    number = {"type": ["number", "null"]}
    points = {
        "type": ["object", "null"],
        "required": ["value", "low", "high", "n"],
        "properties": {"value": number, "low": number, "high": number, "n": {"type": "integer", "minimum": 30}},
    }
    entry = {
        "type": "object",
        "required": ["entry", "answers_sha256", "n_failed", "n_missing", "numbers", "task_mean", "band", "above"],
        "properties": {
            "entry": {"type": "string"},
            "answers_sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "n_failed": {"type": "integer", "minimum": 0},
            "n_missing": {"type": "integer", "minimum": 0},
            "numbers": {"type": "object", "additionalProperties": points},
            "task_mean": points,
            "band": {"type": ["array", "null"], "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
            "above": points,
            "without_images": points,
            "on_read": points,
        },
    }
    cell = {
        "type": "object",
        "required": ["name", "label", "n", "is_told", "next"],
        "properties": {"name": {"type": "string"}, "next": {"type": ["integer", "null"]}},
    }
    result = {
        "type": "object",
        "required": ["format", "rule", "edition", "version", "due_on", "n", "cells", "chance", "entries"],
        "properties": {
            "format": {"const": FORMAT},
            "edition": {"type": "integer", "minimum": 1},
            "version": {"type": "integer", "minimum": 1},
            "due_on": {"type": "string", "format": "date"},
            "cells": {"type": "array", "items": cell},
            "commonest": points,
            "readers": points,
            "entries": {"type": "array", "items": entry},
        },
    }
    return {
        "$schema": SCHEMA,
        "title": "Public leaderboard",
        "type": "object",
        "required": ["benchmark", "results", "entries", "notes"],
        "properties": {
            "benchmark": {"type": "object", "required": ["name", "slug", "simulated", "versions"]},
            "results": {"type": "array", "items": result},
            "entries": {"type": "object", "additionalProperties": {"type": "object", "required": ["name", "team"]}},
            "notes": {"type": "array", "items": {"type": "object", "required": ["day", "text", "entry"]}},
        },
    }


def as_json(data: Any) -> bytes:
    return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


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
    facts = {
        "cff-version": "1.2.0",
        "message": "Cite a board with its edition: its numbers stay as they are.",
        "type": "dataset",
        "title": f"{name}: leaderboard",
        "version": f"edition {edition}",
        "date-released": day,
    }
    lines = [f"{key}: {json.dumps(value)}" for key, value in facts.items()]
    lines += ["authors:", f"  - name: {json.dumps(f'Coordinators of {name}')}"]
    lines += ["identifiers:", "  - type: other", f"    value: {json.dumps(f'sha256:{protocol_sha256}')}"]
    lines += [f"    description: {json.dumps(f'protocol of the benchmark; contact: {contact}')}"]
    return ("\n".join(lines) + "\n").encode()


def sums(files: Mapping[str, bytes]) -> bytes:
    """As ``sha256sum`` writes and checks them."""
    return "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()
