"""Editions: proposed by one coordinator once the date is over, confirmed by another, scored at once.

Until then nothing of a ranking is computed. What an edition published is a row that never changes, and so is every
number of it in the ledger. Scored again on a later version it gets a result beside the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypedDict

import numpy as np
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import CallOutcome
from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue_once
from annotation.models import Job, ModelCall, Revision, User
from annotation.questionbank.priors import patients_of
from annotation.statistics.kernels.comparing import SIGNIFICANT
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import TASKS, Voided
from readerstudy.analysis.kernels.result import LETTERS, READER
from readerstudy.analysis.kernels.scoring import Settings, right_or_wrong
from readerstudy.comparison.comparing_models import keyed_questions
from readerstudy.comparison.kernels.bank_comparison import FAILED, MISSING, BankArrays, Entrant
from readerstudy.design.kernels.documents import canonical, sha256_of
from readerstudy.enums import BenchmarkState, Block
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import cells_of, commitment_holds, current_version
from readerstudy.leaderboard.kernels.board import (
    RULE,
    Board,
    Options,
    ReadStudy,
    ToldCell,
    numbers_of,
    options_from,
    score_board,
)
from readerstudy.leaderboard.kernels.release_rule import RULE as RELEASE_RULE
from readerstudy.leaderboard.running import without_images_of
from readerstudy.models import (
    BenchmarkVersion,
    Edition,
    EditionResult,
    PublishedNumber,
    ReaderStudy,
    StudyCase,
    Submission,
)
from readerstudy.unblinding.looks import OVER


class ScoringParams(TypedDict):
    edition: int
    version: int
    actor: int


SCORE: JobKind[ScoringParams] = JobKind("score_edition")


def is_over(edition: Edition, at: datetime) -> bool:
    """Its date has ended, in UTC: teams name nothing any more."""
    return at.astimezone(UTC).date() > edition.due_on


def _locked(edition: Edition) -> Edition:
    return Edition.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=edition.pk)


def entries_of(edition: Edition, at: datetime) -> QuerySet[Submission]:
    """What was named for it, sound, and not withdrawn at this time: by their ids, so that no order tells anything."""
    standing = Q(withdrawn_at=None) | Q(withdrawn_at__gt=at)
    found = Submission.objects.filter(standing, entries__edition=edition, is_sound=True)
    return found.select_related("version", "team", "model_run__batch").order_by("public_id")


# --- two persons ----------------------------------------------------------------------------------
@transaction.atomic
def propose_edition(edition: Edition, *, actor: User, at: datetime) -> Edition:
    """The first of two persons says that it can be scored. Twice changes nothing."""
    edition = _locked(edition)
    check_can_be_scored(edition, at=at)
    if edition.proposed_at is None:
        edition.proposed_by, edition.proposed_at = actor, at
        edition.save(update_fields=["proposed_by", "proposed_at"])
        _note("edition.proposed", edition, actor=actor, at=at)
    return edition


@transaction.atomic
def take_back_edition(edition: Edition, *, actor: User, at: datetime) -> Edition:
    """As if nobody had proposed it. Refused once it is confirmed."""
    edition = _locked(edition)
    if edition.confirmed_at is not None:
        raise LeaderboardRefused("confirmed", _("This edition is confirmed: it is scored, and stays as it is."))
    if edition.proposed_at is not None:
        edition.proposed_by = edition.proposed_at = None
        edition.save(update_fields=["proposed_by", "proposed_at"])
        _note("edition.taken_back", edition, actor=actor, at=at)
    return edition


@transaction.atomic
def confirm_edition(edition: Edition, *, actor: User, at: datetime) -> Job:
    """The second person. A job then scores everything that is named; confirmed again, it is asked for again."""
    edition = _locked(edition)
    check_can_be_scored(edition, at=at)
    if edition.proposed_at is None:
        raise LeaderboardRefused("not_proposed", _("Nobody has proposed this edition yet: propose it first."))
    if edition.proposed_by_id == actor.pk:
        sentence = _("You proposed this edition: another coordinator confirms it.")
        raise LeaderboardRefused("same_person", sentence)
    if edition.confirmed_at is None:
        edition.confirmed_by, edition.confirmed_at = actor, at
        edition.save(update_fields=["confirmed_by", "confirmed_at"])
        _note("edition.confirmed", edition, actor=actor, at=at)
    return _ask(edition, current_version(edition.benchmark), actor=actor, at=at)


@transaction.atomic
def score_again(edition: Edition, *, actor: User, at: datetime) -> Job:
    """On the newest version, beside what was published: which stays as it is."""
    edition, version = _locked(edition), current_version(edition.benchmark)
    if edition.published_at is None:
        raise LeaderboardRefused("not_published", _("This edition is not published yet."))
    if edition.benchmark.editions.filter(published_at__isnull=False, number__gt=edition.number).exists():
        raise LeaderboardRefused("not_newest", _("Only the newest published edition is scored on another version."))
    if edition.results.filter(version=version).exists():
        sentence = _("This edition stands on version %(n)s already, which is the newest.")
        raise LeaderboardRefused("scored", sentence % {"n": version.number})
    return _ask(edition, version, actor=actor, at=at)


def _ask(edition: Edition, version: BenchmarkVersion, *, actor: User, at: datetime) -> Job:
    facts = {"n": edition.number, "name": edition.benchmark.name, "version": version.number}
    title = _("Edition %(n)s of %(name)s on version %(version)s") % facts
    params = ScoringParams(edition=edition.pk, version=version.pk, actor=actor.pk)
    return enqueue_once(SCORE, title, params, about="edition", actor=actor, at=at)


def check_can_be_scored(edition: Edition, *, at: datetime) -> None:
    """Refused before its date is over, once it is published, and where there is nothing to score."""
    if edition.benchmark.state != BenchmarkState.FROZEN:
        facts = {"name": edition.benchmark.name, "state": edition.benchmark.get_state_display()}
        sentence = _("“%(name)s” is %(state)s: no edition of it is scored.")
        raise LeaderboardRefused("not_open", sentence % facts)
    if edition.published_at is not None:
        raise LeaderboardRefused("published", _("This edition is published, and stays as it is."))
    if not is_over(edition, at):
        sentence = _("Teams may name a submission until the end of %(day)s (UTC): propose it after that.")
        raise LeaderboardRefused("too_early", sentence % {"day": edition.due_on.isoformat()})
    if not entries_of(edition, at).exists():
        sentence = _("No team has a submission in this edition that passed its check: there is nothing to score.")
        raise LeaderboardRefused("nothing_named", sentence)


def _note(act: str, edition: Edition, *, actor: User | None, at: datetime, **facts: Any) -> None:
    record(act, actor=actor, at=at, subject=edition.benchmark, facts={"edition": edition.number, **facts})


# --- scoring --------------------------------------------------------------------------------------
def run_scoring(progress: Progress, params: ScoringParams) -> Result:
    """The handler. Run twice it stores once; then the public folder is written."""
    from readerstudy.leaderboard.publishing import publish_here  # draws with matplotlib, slow to load

    edition = Edition.objects.select_related("benchmark__bank").get(pk=params["edition"])
    version, actor = BenchmarkVersion.objects.get(pk=params["version"]), User.objects.get(pk=params["actor"])
    progress.report(0, 2)
    made = score_edition(edition, version, actor=actor, at=timezone.now())
    progress.report(1, 2)
    publish_here(edition.benchmark, actor=actor, at=timezone.now())
    progress.report(2, 2)
    return {"benchmark": edition.benchmark.slug, "edition": edition.number, "result_sha256": made.result_sha256}


def score_edition(edition: Edition, version: BenchmarkVersion, *, actor: User | None, at: datetime) -> EditionResult:
    """All of it or nothing: the result, the ledger, and the day of publication. Scored twice: the same row.

    Computed before anything is locked, since others would wait for it.
    """
    there = edition.results.filter(version=version).first()
    if there is not None:
        return there
    if edition.confirmed_at is None:
        raise LeaderboardRefused("not_confirmed", _("Two persons have to confirm an edition before it is scored."))
    if not commitment_holds(version):
        sentence = _("The keys are not those of the commitment of version %(n)s: nothing is scored.")
        raise LeaderboardRefused("keys_changed", sentence % {"n": version.number})
    submissions = list(entries_of(edition, at))
    result = computed(edition, version, submissions, at=at)
    return _store(edition, version, submissions, result, actor=actor, at=at)


@transaction.atomic
def _store(
    edition: Edition,
    version: BenchmarkVersion,
    submissions: Sequence[Submission],
    result: dict[str, Any],
    *,
    actor: User | None,
    at: datetime,
) -> EditionResult:
    locked = _locked(edition)
    there = locked.results.filter(version=version).first()
    if there is not None:
        return there
    if [one.pk for one in entries_of(locked, at)] != [one.pk for one in submissions]:
        raise LeaderboardRefused("withdrawn", _("A submission was withdrawn meanwhile: try again."))
    text = canonical(result)
    made = EditionResult.objects.create(
        edition=locked, version=version, result=text, result_sha256=sha256_of(text), scored_by=actor, scored_at=at
    )
    PublishedNumber.objects.bulk_create(ledger_of(made, result, submissions))
    if locked.published_at is None:
        locked.published_at = at
        locked.save(update_fields=["published_at"])
    facts = {"version": version.number, "result_sha256": made.result_sha256, "entries": len(submissions)}
    _note("edition.scored", locked, actor=actor, at=at, **facts)
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
        cells=tuple(ToldCell(one.name, str(one.label), one.n, tuple(one.editions)) for one in cells_of(version)),
        edition=edition.number,
        n_editions=edition.benchmark.editions.count(),
        without_images=_without_images(submissions, found.column_of),
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


def _without_images(submissions: Sequence[Submission], column_of: Mapping[int, int]) -> dict[str, Options]:
    """Answers of the same models without images, where they were run here."""
    found = {}
    for one in submissions:
        run = without_images_of(one) if one.model_run_id else None
        if run is None:
            continue
        options = np.full(len(column_of), MISSING, dtype=np.int8)
        calls = ModelCall.objects.filter(batch=run.batch_id, rotation=0, repeat=0)
        for revision, option, outcome in calls.values_list("revision_id", "option", "outcome"):
            if revision in column_of and outcome != CallOutcome.NOT_ASKED:
                options[column_of[revision]] = LETTERS.index(option) if option else FAILED
        found[one.public_id] = options
    return found


def _read_studies(version: BenchmarkVersion, column_of: Mapping[int, int], at: datetime) -> list[ReadStudy]:
    """Closed studies that somebody has seen the results of, whose cases are questions of this version."""
    cases = StudyCase.objects.filter(block=Block.MAIN, revision__in=version.questions.values("revision"))
    seen = ReaderStudy.objects.filter(state__in=OVER, closed_at__lte=at, unblinded_at__lte=at)
    studies = seen.filter(pk__in=cases.values("study"))
    found = []
    for study in studies.order_by("pk"):
        if study.arms.count() != 1:
            continue  # an analysis needs one
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
