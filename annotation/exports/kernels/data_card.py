"""The data card of an exported bank: what is in it and what its reviews found, in Markdown. Pure.

What people changed in questions since a file brought them: one row for each question and field.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct, field

from annotation.enums import Difficulty, ImageState, QuestionState, Task
from annotation.exports.kernels.question_records import RecordWording
from annotation.statistics.kernels.intervals import share

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


# --- The data card of an exported bank: what is in it and what its reviews found, in --------------
SETTLED = (QuestionState.ACCEPTED, QuestionState.NEEDS_REVISION, QuestionState.REJECTED)


class ImportedFile(NamedTuple):
    """One published import of the bank."""

    name: str
    sha256: str
    day: str
    created: int
    updated: int
    unchanged: int
    refused: int


class CardFacts(Struct):
    """All that the card says; counts are of the questions in the export, decisions of the whole bank."""

    bank: str
    simulated: bool
    form: str
    revisions: str
    chosen_states: Sequence[QuestionState] = ()
    gate: str = ""  # with its parts, where only what passes it was chosen
    n_in_bank: int = 0
    states: Counter[str] = field(default_factory=Counter)
    stayed_back: Counter[str] = field(default_factory=Counter)  # questions of the bank that are not in the export
    tasks: Counter[str] = field(default_factory=Counter)
    difficulties: Counter[str] = field(default_factory=Counter)
    exams: set[int] = field(default_factory=set)
    n_changed: int = 0
    n_not_given_back: int = 0
    left_out: Sequence[str] = ()  # fields that the form cannot hold
    images: Counter[str] = field(default_factory=Counter)  # by state
    n_simulated_images: int = 0
    credits: Counter[tuple[str, str]] = field(default_factory=Counter)  # attribution and licence
    outcomes: Counter[str] = field(default_factory=Counter)
    rules: Sequence[str] = ()
    imports: Sequence[ImportedFile] = ()
    newest: str = ""  # day of the newest import or edit
    written_images: dict[str, int] = field(default_factory=dict)

    @property
    def n_questions(self) -> int:
        return self.states.total()


def card_of(facts: CardFacts) -> Iterator[str]:
    """Lines without their ends."""
    yield from (f"# {one_line(facts.bank)}", "")
    if facts.simulated:
        yield from ("**Simulated: the questions were made up for a demonstration.**", "")
    yield from _contents(facts)
    states = {state.value: state.label for state in QuestionState}
    yield from _counts("State", facts.states, states)
    yield from _counts("Stayed back", facts.stayed_back, states, column="state")
    yield from _counts("Task", facts.tasks, {task.value: task.label for task in Task})
    yield from _counts("Difficulty", facts.difficulties, {level.value: level.label for level in Difficulty})
    yield from _images(facts)
    yield from _outcomes(facts)
    yield from _imports(facts)


def _contents(facts: CardFacts) -> Iterator[str]:
    chosen = ", ".join(state.label for state in facts.chosen_states)
    yield f"- form: {facts.form}"
    yield f"- wording: {facts.revisions}"
    yield f"- questions: {facts.n_questions:,} of {facts.n_in_bank:,} in the bank ({chosen})"
    if facts.gate:
        yield f"- only what passes the gate {one_line(facts.gate)}"
    yield f"- exams: {len(facts.exams):,}"
    yield f"- questions that people changed since their file: {facts.n_changed:,} (changes.md, changes.csv)"
    if facts.newest:
        yield f"- newest import or edit: {facts.newest} (UTC)"
    if facts.n_not_given_back:
        yield f"- unchanged questions that could not be written just as their file had them: {facts.n_not_given_back:,}"
    if facts.left_out:
        names = ", ".join(map(one_line, facts.left_out))
        yield f"- fields that have no place in this form, and are left out: {names}"
    yield ""
    yield "The file of questions holds keys, ids of the source and reports. It is not for readers or reviewers."


def _counts(title: str, counts: Counter[str], labels: dict[str, str], *, column: str = "") -> Iterator[str]:
    yield from ("", f"## {title}", "", f"| {column or title.lower()} | questions |", "| --- | ---: |")
    for value, label in labels.items():
        if counts[value]:
            yield f"| {label} | {counts[value]:,} |"


def _images(facts: CardFacts) -> Iterator[str]:
    yield from ("", "## Images", "")
    yield f"The exams have {facts.images.total():,} images" + (":" if facts.images else ".")
    if facts.images:
        yield ""
    for state in ImageState:
        if facts.images[state.value]:
            yield f"- {state.label}: {facts.images[state.value]:,}"
    if facts.n_simulated_images:
        yield f"- simulated: {facts.n_simulated_images:,}"
    if facts.written_images:
        counts = ", ".join(f"{what}: {n:,}" for what, n in facts.written_images.items())
        yield from ("", f"Written beside the questions as PNG of the full stored depth, at their paths: {counts}.")
    if facts.credits:
        yield from ("", "| attribution | licence | images |", "| --- | --- | ---: |")
        for (attribution, licence), n in sorted(facts.credits.items()):
            yield f"| {one_line(attribution)} | {one_line(licence)} | {n:,} |"


def _outcomes(facts: CardFacts) -> Iterator[str]:
    yield from ("", "## What review rounds decided", "")
    n = sum(facts.outcomes[state.value] for state in SETTLED)
    if not n:
        yield "No question of the bank has been settled in a round."
        return
    yield f"The newest decision about each question, for the {n:,} of {facts.n_in_bank:,} in the bank that have one."
    yield from ("", "| outcome | questions | share | 95% CI (Wilson) |", "| --- | ---: | ---: | --- |")
    for state in SETTLED:
        k = facts.outcomes[state.value]
        estimate = share(k, n)
        low, high = estimate.ci95 or (0.0, 1.0)
        yield f"| {state.label} | {k:,} of {n:,} | {k / n:.1%} | {low:.1%} to {high:.1%} |"
    yield from ("", f"Rules of settling: {', '.join(facts.rules)}.")


def _imports(facts: CardFacts) -> Iterator[str]:
    yield from ("", "## Files", "")
    yield "| file | day | created | updated | unchanged | refused | SHA-256 |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for one in facts.imports:
        counts = f"{one.created:,} | {one.updated:,} | {one.unchanged:,} | {one.refused:,}"
        yield f"| {one_line(one.name)} | {one.day} | {counts} | {one.sha256} |"
