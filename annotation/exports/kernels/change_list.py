"""What people changed in questions since a file brought them: one row for each question and field. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from annotation.exports.kernels.question_records import RecordWording

COLUMNS = ("id", "field", "before", "after", "why", "round")


class EditStep(NamedTuple):
    """One edit: the wording of the question then, why it was made, and the round that prompted it."""

    wording: RecordWording
    reason: str
    round: str


class RecordChange(NamedTuple):
    id: str
    field: str
    before: str
    after: str
    why: str
    round: str


def changes_of(key: str, imported: RecordWording, steps: Sequence[EditStep]) -> Iterator[RecordChange]:
    """The fields that differ in the end, each with the reasons of all edits that touched it."""
    if not steps:
        return
    wordings = [imported.compared(), *(step.wording.compared() for step in steps)]
    for name, before in wordings[0].items():
        if wordings[-1][name] == before:
            continue
        touched = [
            step for step, old, new in zip(steps, wordings, wordings[1:], strict=False) if old[name] != new[name]
        ]
        why, rounds = (_joined(part) for part in zip(*((step.reason, step.round) for step in touched), strict=True))
        yield RecordChange(key, name, before, wordings[-1][name], why, rounds)


def _joined(texts: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(filter(None, texts)))


def markdown_of(title: str, changes: Iterable[RecordChange]) -> Iterator[str]:
    """The list for reading, question by question; lines without their ends."""
    yield f"# Changes of {one_line(title)}"
    n_questions = 0
    for key, rows in groupby(changes, key=lambda one: one.id):
        n_questions += 1
        yield from ("", f"## {one_line(key)}", "")
        for row in rows:
            yield f"- **{row.field}**" + (f", round {one_line(row.round)}" if row.round else "")
            yield f"  - before: {one_line(row.before) or '(empty)'}"
            yield f"  - after: {one_line(row.after) or '(empty)'}"
            yield f"  - why: {one_line(row.why) or '(no reason given)'}"
    if not n_questions:
        yield from ("", "No question differs from its file.")


def one_line(text: str) -> str:
    """The text in one line, with nothing in it that Markdown or HTML would take for a sign of its own."""
    plain = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_[]<>#|&" else sign for sign in plain)
