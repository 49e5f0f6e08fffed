"""Whether what was published is what answers and keys give: every number is computed again, every page written again.

Answers are compared with the hashes in the ledger and in the results, keys with the commitment, a folder byte by byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.leaderboard.benchmarks import commitment_holds
from readerstudy.leaderboard.edition_scoring import computed, ledger_of
from readerstudy.leaderboard.editions import entries_of
from readerstudy.leaderboard.public_board import files_of
from readerstudy.models import Benchmark, EditionResult, Submission

LEDGER = ("submission_id", "what", "value", "rule", "answers", "told_to", "at")


def verify(benchmark: Benchmark, folder: Path | None = None, *, at: datetime) -> list[str]:
    """A line for each thing that is not what it was published as; none where all is."""
    problems = [f"version {one.number}: {text}" for one in benchmark.versions.all() for text in _of_version(one)]
    rows = EditionResult.objects.filter(edition__benchmark=benchmark).order_by("edition__number", "version__number")
    seen: set[int] = set()
    for row in rows.select_related("version", "edition__benchmark__bank"):
        name = f"edition {row.edition.number} on version {row.version.number}"
        problems += [f"{name}: {text}" for text in _of_result(row, seen)]
    if folder is not None:
        problems += _of_folder(benchmark, folder, at)
    return problems


def _of_version(version: Any) -> Iterator[str]:
    if sha256_of(version.protocol) != version.protocol_sha256:
        yield "the protocol is not that of its hash"
    elif not commitment_holds(version):
        yield "the keys are not those of the commitment"


def _of_result(row: EditionResult, seen: set[int]) -> Iterator[str]:
    submissions = list(entries_of(row.edition, row.scored_at))
    for one in submissions:
        if one.pk not in seen and hashlib.sha256(one.answers.encode()).hexdigest() != one.answers_sha256:
            yield f"submission {one.public_id}: its answers are not those of its hash"
        seen.add(one.pk)
    if sha256_of(row.result) != row.result_sha256:
        yield "the stored result is not that of its hash"
    try:
        again = computed(row.edition, row.version, submissions, at=row.scored_at)
    except ValueError as fault:  # answers that are no letters, or too many
        yield f"it cannot be computed again: {fault}"
        return
    if canonical(again) != row.result:
        yield from _differences(again, row.result)
    yield from _of_ledger(row, again, submissions)


def _differences(again: dict[str, Any], stored: str) -> Iterator[str]:
    """Which entries of a stored result are not what they are now."""
    try:
        there = msgspec.json.decode(stored, type=dict[str, Any])
    except msgspec.DecodeError:
        yield "the stored result cannot be read"
        return
    entries = {one.get("entry"): one for one in there.get("entries", [])}
    changed = [one["entry"] for one in again["entries"] if entries.pop(one["entry"], None) != one]
    yield from (f"the result of entry {name} is not what its answers give" for name in [*changed, *entries])
    facts = sorted(name for name in {*again, *there} - {"entries"} if again.get(name) != there.get(name))
    if facts or not changed:
        yield f"the result is another one now ({', '.join(facts) or 'its text'})"


def _of_ledger(row: EditionResult, again: dict[str, Any], submissions: list[Submission]) -> Iterator[str]:
    wanted = {(one.submission_id, one.what): one for one in ledger_of(row, again, submissions)}
    for there in row.numbers.select_related("submission").order_by("pk"):
        of = there.submission.public_id if there.submission else "no entry"
        number = wanted.pop((there.submission_id, there.what), None)
        if number is None or any(getattr(number, name) != getattr(there, name) for name in LEDGER):
            yield f"row {there.pk} of the ledger ({there.what} of {of}) is not what was published"
    for number in wanted.values():
        of = number.submission.public_id if number.submission else "no entry"
        yield f"the ledger has no row for {number.what} of {of}"


def _of_folder(benchmark: Benchmark, folder: Path, at: datetime) -> Iterator[str]:
    if not folder.is_dir():
        yield f"{folder}: there is no such folder"
        return
    wanted = files_of(benchmark, on=at.astimezone(UTC).date())
    there = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
    for name in sorted({*wanted, *there}):
        if name not in there:
            yield f"{name}: the file is missing"
        elif name not in wanted:
            yield f"{name}: the file does not belong to the board"
        elif there[name].read_bytes() != wanted[name]:
            yield f"{name}: the file is not what is written today"
