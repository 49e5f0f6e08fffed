"""Files of reviews as people make them elsewhere."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from annotation.review.kernels.form_design import PAPER

GRADES = PAPER.grades


def review_cells(question: int, reviewer: str = "rita@example.org", **changed: Any) -> dict[str, Any]:
    """A whole review without anything to complain of; None: the column is left out."""
    row = {
        "question": question,
        "revision": 1,
        "reviewer": reviewer,
        "blind_best": "B",
        "blind_difficulty": "easy",
        **{f"grade_{name}": 5 for name in GRADES},
        "needs_image": "yes",
        "relevant": "partly",
        "verdict": "accept",
        "comment": "",
        **changed,
    }
    return {name: value for name, value in row.items() if value is not None}


def as_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: str(value).lower() if isinstance(value, bool) else value for name, value in row.items()})
    return text.getvalue()


def as_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def file_of(folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "reviews.csv") -> Path:
    path = folder / name
    path.write_text(as_lines(rows) if name.endswith("jsonl") else as_csv(rows), encoding="utf-8", newline="")
    return path
