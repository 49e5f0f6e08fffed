"""An edition is scored: rows to arrays, the result and its ledger stored at once; and what was published is verified.

Loads the statistics of comparisons: what only asks for a score imports ``editions`` beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.models import Revision, User
from annotation.questionbank.priors import patients_of
from annotation.statistics.kernels.ranking import SIGNIFICANT
from readerstudy.analysis.comparing_models import keyed_questions, options_of
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import TASKS, Voided
from readerstudy.analysis.kernels.bank_comparison import MISSING, BankArrays, Entrant
from readerstudy.analysis.kernels.result import READER
from readerstudy.analysis.kernels.scoring import Settings, right_or_wrong
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.enums import OVER, Block
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import cells_of, commitment_holds
from readerstudy.leaderboard.editions import entries_of, locked_edition, note_edition
from readerstudy.leaderboard.kernels.board import RULE, Board, Options, ReadStudy, numbers_of, options_from, score_board
from readerstudy.leaderboard.kernels.release_rule import RULE as RELEASE_RULE
from readerstudy.leaderboard.public_board import files_of
from readerstudy.leaderboard.running import without_images_of
from readerstudy.models import (
    Benchmark,
    BenchmarkVersion,
    Edition,
    EditionResult,
    PublishedNumber,
    ReaderStudy,
    StudyCase,
    Submission,
)


def score_edition(edition: Edition, version: BenchmarkVersion, *, actor: User | None, at: datetime) -> EditionResult:
    """All of it or nothing: the result, the ledger, and the day of publication. Scored twice: the same row.

    Computed before anything is locked, since others would wait for it.
    """
    if there := edition.results.filter(version=version).first():
        return there
    if edition.confirmed_at is None:
        raise LeaderboardRefused("not_confirmed", _("Two persons have to confirm an edition before it is scored."))
    if not commitment_holds(version):
        sentence = _("The keys are not those of the commitment of version %(n)s: nothing is scored.")
        raise LeaderboardRefused("keys_changed", sentence % {"n": version.number})
    submissions = list(entries_of(edition, at))
    result = computed(edition, version, submissions, at=at)
    made = EditionResult(edition=edition, version=version, result=canonical(result), scored_by=actor, scored_at=at)
    return _store(made, result, submissions)


@transaction.atomic
def _store(made: EditionResult, result: dict[str, Any], submissions: Sequence[Submission]) -> EditionResult:
    edition, at = locked_edition(made.edition), made.scored_at
    if there := edition.results.filter(version=made.version).first():
        return there
    if [one.pk for one in entries_of(edition, at)] != [one.pk for one in submissions]:
        raise LeaderboardRefused("withdrawn", _("A submission was withdrawn meanwhile: try again."))
    made.result_sha256 = sha256_of(made.result)
    made.save(force_insert=True)
    PublishedNumber.objects.bulk_create(ledger_of(made, result, submissions))
    if edition.published_at is None:
        edition.published_at = at
        edition.save(update_fields=["published_at"])
    facts = {"version": made.version.number, "result_sha256": made.result_sha256, "entries": len(submissions)}
    note_edition("edition.scored", edition, actor=made.scored_by, at=at, **facts)
    return made


def ledger_of(made: EditionResult, result: dict[str, Any], submissions: Sequence[Submission]) -> list[PublishedNumber]:
    """A row for each number, with the hashes of the answers that it was computed from."""
    by_id = {one.public_id: one for one in submissions}
    return [
        PublishedNumber(
            result=made,
            submission=by_id[one.entry] if one.entry else None,
            what=one.what,
            value=one.value,
            rule=f"{RULE} {RELEASE_RULE}",
            answers=sorted(by_id[name].answers_sha256 for name in one.among),
            at=made.scored_at,
        )
        for one in numbers_of(result)
    ]


def computed(
    edition: Edition, version: BenchmarkVersion, submissions: Sequence[Submission], *, at: datetime
) -> dict[str, Any]:
    """The result of these submissions on this version. Stores nothing."""
    benchmark = edition.benchmark
    return {
        **score_board(gather_board(edition, version, submissions, at=at)),
        "benchmark": benchmark.slug,
        "version": version.number,
        "protocol_sha256": version.protocol_sha256,
        "edition": edition.number,
        "n_editions": benchmark.editions.count(),
        "due_on": edition.due_on.isoformat(),
        "simulated": benchmark.bank.simulated,
        "release_rule": RELEASE_RULE,
        "significant": SIGNIFICANT,
    }


# --- rows to arrays -------------------------------------------------------------------------------
_ABOUT = (
    *("revision_id", "name", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__question__exam__pseudonym", "revision__question__exam__patient_pseudonym"),
)


def gather_board(
    edition: Edition, version: BenchmarkVersion, submissions: Sequence[Submission], *, at: datetime
) -> Board:
    bank, questions = edition.benchmark.bank, version.questions.order_by("place")
    rows = list(questions.values_list(*_ABOUT).iterator(chunk_size=5000))
    revisions = Revision.objects.filter(pk__in=questions.values("revision"))
    found = keyed_questions(rows, revisions, patients_of(bank.pk))
    names = [row[1] for row in rows]
    carried = {one.pk: _options_on(one, version, names) for one in submissions}
    blind = [(one, without_images_of(one, at)) for one in submissions]
    arrays = BankArrays(
        bank=bank.name,
        slug=bank.slug,
        simulated=bank.simulated,
        cluster_level=found.cluster_level,
        n_without_key=found.n_without_key,
        entrants=tuple(Entrant(one.public_id, _facts(one, carried[one.pk][1])) for one in submissions),
        key=found.key,
        task=np.array([TASKS.index(row[2]) for row in found.rows], dtype=np.int8),
        category=tuple(row[3] for row in found.rows),
        cluster=found.cluster,
        option=np.array([carried[one.pk][0] for one in submissions], dtype=np.int8).reshape(len(submissions), -1),
    )
    return Board(
        arrays=arrays,
        difficulty=tuple(row[4] for row in found.rows),
        cells=tuple(cells_of(version)),
        edition=edition.number,
        n_editions=edition.benchmark.editions.count(),
        without_images={one.public_id: options_of(run, found)[0, 0] for one, run in blind if run},
        studies=tuple(_read_studies(version, found.column_of, at)),
    )


def _facts(one: Submission, n_reworded: int) -> dict[str, Any]:
    """What a result says of an entry beside its numbers; nothing in it depends on a key."""
    batch = one.model_run.batch if one.model_run else None
    return {
        "answers_sha256": one.answers_sha256,
        "way": str(one.way),
        "number": one.number,
        "n_before": one.number - 1,
        "n_runs": batch.n_repeats if batch else None,
        "n_orders": batch.n_orders if batch else None,
        "n_reworded": n_reworded,
    }


def _options_on(one: Submission, version: BenchmarkVersion, names: Sequence[str]) -> tuple[Options, int]:
    """Its answers in the order of a version, and how many questions of it have another wording than it answered."""
    options = options_from(one.answers)
    if one.version_id == version.pk:
        return options, 0
    own = one.version.questions.order_by("place").values_list("name", flat=True)
    of_name = dict(zip(own, options.tolist(), strict=True))
    carried = np.array([of_name.get(name, MISSING) for name in names], dtype=np.int8)
    return carried, sum(name not in of_name for name in names)


def _read_studies(version: BenchmarkVersion, column_of: Mapping[int, int], at: datetime) -> list[ReadStudy]:
    """Closed studies that somebody has seen the results of, whose cases are questions of this version."""
    cases = StudyCase.objects.filter(block=Block.MAIN, revision__in=version.questions.values("revision"))
    seen = ReaderStudy.objects.filter(state__in=OVER, closed_at__lte=at, unblinded_at__lte=at)
    studies = seen.filter(pk__in=cases.values("study"))
    found = []
    for study in studies.annotate(n_arms=Count("arms")).filter(n_arms=1).order_by("pk"):  # an analysis needs one
        arrays = gather(study)
        rows = [row for row, rater in enumerate(arrays.raters) if rater.kind == READER]
        right = right_or_wrong(arrays.state[rows], arrays.option[rows], arrays.questions.key, Settings(seed=study.seed))
        right[:, arrays.questions.voided == Voided.BEFORE_UNBLINDING] = -1
        of_case = dict(study.cases.filter(block=Block.MAIN).values_list("number", "revision_id"))
        correct = np.full((len(rows), len(column_of)), -1, dtype=np.int8)
        for place, number in enumerate(arrays.questions.number.tolist()):
            if of_case[number] in column_of:
                correct[:, column_of[of_case[number]]] = right[:, place]
        found.append(ReadStudy(study.protocol_sha256, correct))
    return found


LEDGER = ("submission_id", "what", "value", "rule", "answers", "told_to", "at")


def verify(benchmark: Benchmark, folder: Path | None = None, *, at: datetime) -> list[str]:
    """A line for each thing that is not what it was published as; none where all is what answers and keys give.

    Every number is computed again, every page written again. Answers are compared with the hashes in the ledger and in
    the results, keys with the commitment, a folder byte by byte.
    """
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
