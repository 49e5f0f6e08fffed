"""What teams send: received as a file, checked by a job, named for an edition, withdrawn.

The check says which ids are unknown, missing or doubled and from which answers no option could be taken. It never asks
for a key, so that what it says, how long that is and how long it takes are the same whatever the keys are. The file
goes once it is checked; a letter for each question, the hash and the report stay.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, TypedDict

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import JobQueue
from annotation.jobs.queueing import SOON, CheckedFiles, JobKind, Progress, Result, enqueue_once, jobs_about
from annotation.model_calls.kernels.extraction import RULE
from annotation.models import Job, User
from annotation.site.home_files import is_there
from readerstudy.leaderboard.access import MOST_REASON, LeaderboardRefused, one_line, teams_known_to
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.leaderboard.editions import is_over
from readerstudy.leaderboard.teams import check_not_barred, lock_team
from readerstudy.models import (
    Benchmark,
    BenchmarkQuestion,
    BenchmarkVersion,
    Edition,
    EditionEntry,
    Statement,
    Submission,
    Team,
)
from readerstudy.predictions.importing import in_time, without_collection
from readerstudy.predictions.kernels.records import (
    KeptRecords,
    KnownQuestion,
    Matching,
    PredictionProblem,
    PredictionsRefused,
    ReadPredictions,
    match,
    without_hidden,
)
from readerstudy.predictions.kernels.streamed_predictions import read_predictions


class CheckParams(TypedDict):
    submission: str


CHECK: JobKind[CheckParams] = JobKind("check_submission", JobQueue.IMPORTS, SOON)
FILES = CheckedFiles("submission_files", CHECK, CHECK)
FILE = "predictions"  # the name of each in its folder
MISSING, FAILED = "-", "?"  # in the place of a letter
MOST_WAITING = 20  # files of a team that lie on the disk at once
MOST_LISTED = 100  # of each list in the report
LONGEST_ID, LONGEST_RAW = 80, 200  # characters of each there


def submissions_known_to(person: User, benchmark: Benchmark) -> QuerySet[Submission]:
    """The newest first, without their letters; of their reports the counts that lists show."""
    rows = Submission.objects.filter(team__in=teams_known_to(person).filter(benchmark=benchmark))
    rows = rows.select_related("team__benchmark", "version", "statement", "sent_by", "model_run__batch")
    counts = {name: F(f"report__{name}") for name in ("n_answered", "n_failed", "n_missing")}
    rows = rows.defer("answers", "report").annotate(**counts)
    return rows.prefetch_related("entries__edition").order_by("-received_at", "-pk")


# --- received -------------------------------------------------------------------------------------
def receive_submission(
    team: Team, content: Iterable[bytes], name: str, *, duplicates: str = "", actor: User | None, at: datetime
) -> Submission:
    """Keep a file until its check, which begins. The same file of the team again is the same submission.

    ``duplicates``: which of several answers to a question counts, where they differ.
    """
    sent = Submission(
        team=team,
        version=current_version(team.benchmark),
        file_name=without_hidden(Path(name).name)[:200],
        duplicates=duplicates,
        sent_by=actor,
        received_at=at,
    )
    with FILES.received(sent, {FILE: content}):
        with (FILES.folder_of(sent) / FILE).open("rb") as file:
            sent.file_sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        FILES.hand_over(sent)
        kept = _kept(sent, actor=actor, at=at)
    if kept.pk != sent.pk:
        FILES.discard(sent)
    return kept


@transaction.atomic
def _kept(sent: Submission, *, actor: User | None, at: datetime) -> Submission:
    """The row of the file, made where it is not there yet, with a job that checks what is not checked."""
    team = lock_team(sent.team)
    before = same_submission(team, sent)
    if before is None:
        if team.submissions.filter(checked_at=None, withdrawn_at=None).count() >= MOST_WAITING:
            sentence = _("%(n)d files of this team wait for their check. Send the next one when one is checked.")
            raise LeaderboardRefused("many_waiting", sentence % {"n": MOST_WAITING})
        store_numbered(sent, team)
        facts = {"team": team.public_id, "file": sent.file_name, "sha256": sent.file_sha256}
        record("submission.received", actor=actor, at=at, subject=sent, facts=facts)
    kept = before or sent
    if kept.checked_at is None:
        if before is not None and not is_there(FILES.folder_of(kept)):
            FILES.here(sent).rename(FILES.folder_of(kept))  # the first one was lost, such as by a restored backup
            FILES.hand_over(kept)
        title = _("Check submission %(n)d of %(team)s") % {"n": kept.number, "team": team.name}
        params = CheckParams(submission=kept.public_id)
        enqueue_once(CHECK, title[:200], params, about="submission", actor=actor, at=at)
    return kept


def same_submission(team: Team, sent: Submission) -> Submission | None:
    same = {"version": sent.version, "file_sha256": sent.file_sha256, "duplicates": sent.duplicates}
    return team.submissions.filter(**same).first()


def store_numbered(made: Submission, team: Team) -> None:
    """As the next of its team, which is locked."""
    newest = team.submissions.order_by("-number").first()
    made.number = newest.number + 1 if newest else 1
    made.save(force_insert=True)


# --- checked --------------------------------------------------------------------------------------
class Checked(Struct, frozen=True):
    """What a check found; ``answers`` as ``Submission.answers``, empty where it did not pass."""

    report: dict[str, Any]
    answers: str = ""


def check_submission(progress: Progress, params: CheckParams) -> Result:
    """The handler. Run again after it was stopped, it checks once."""
    submission = Submission.objects.select_related("version").get(public_id=params["submission"])
    if submission.checked_at is None and submission.withdrawn_at is None:
        progress.report(0, 1)
        found = check_file(FILES.here(submission) / FILE, submission.version, submission.duplicates)
        store_check(submission, found, at=timezone.now())
        submission.refresh_from_db(fields=["report", "is_sound"])
        progress.report(1, 1)
    FILES.discard(submission)
    return {name: submission.report.get(name) for name in COUNTS} | {"sound": submission.is_sound}


def check_file(content: bytes | Path, version: BenchmarkVersion, duplicates: str = "") -> Checked:
    """What the file answers of the questions of a version. Reads no key."""
    known = known_questions(version)
    with without_collection():
        try:
            read = read_predictions(content, duplicates=duplicates)
            found = match(in_time(read.records), known, duplicates=duplicates)
        except PredictionsRefused as refusal:
            unread = ReadPredictions("", KeptRecords(), (PredictionProblem(0, "", str(refusal)),), 0)
            return Checked(report_of(unread, Matching(), known))
        read = ReadPredictions(read.form, read.records, (*_of_ids(read, found), *read.problems), read.n_read)
        report = report_of(read, found, known)
    return Checked(report, "" if report["n_problems"] else letters_in(found, len(known)))


def known_questions(version: BenchmarkVersion) -> dict[str, KnownQuestion]:
    """By the names that teams know; a question's number is its place."""
    rows = BenchmarkQuestion.objects.filter(version=version).order_by("place")
    columns = rows.values_list("name", "revision_id", "place", "revision__options")
    return {name: KnownQuestion(*rest) for name, *rest in columns.iterator(chunk_size=5_000)}


def _of_ids(read: ReadPredictions, found: Matching) -> list[PredictionProblem]:
    """What is wrong with the ids of the file as a whole."""
    if read.records and not found.answers:
        sentence = _(
            "No id of the file is one of this benchmark. Is it for another benchmark, or for an earlier version? Ids "
            "are those of the questions to take away."
        )
        return [PredictionProblem(0, "", sentence)]
    if not found.unknown:
        return []
    row = next(one.row for one in read.records if one.id == found.unknown[0])
    sentence = ngettext(
        "This id names no question of the benchmark. It is the only such id.",
        "This id names no question of the benchmark. It is the first of %(n)d such ids.",
        len(found.unknown),
    )
    return [PredictionProblem(row, found.unknown[0], sentence % {"n": len(found.unknown)})]


COUNTS = (
    "n_questions", "n_read", "n_answered", "n_failed", "n_missing", "n_duplicate", "n_unknown", "n_two_answers",
    "n_other_order", "n_problems",
)  # fmt: skip


def report_of(read: ReadPredictions, found: Matching, known: Mapping[str, KnownQuestion]) -> dict[str, Any]:
    """Counts, and the first of each list. Missing questions and failed answers count as wrong and refuse nothing."""
    answered = {one.question.revision_id for one in found.answers}
    missing = [name for name, one in known.items() if one.revision_id not in answered]
    problems = sorted([*read.problems, *found.problems])
    lists: dict[str, list[Any]] = {
        "failed": [[one.record.row, one.record.id, one.record.raw[:LONGEST_RAW]] for one in found.failed],
        "missing": missing,
        "duplicate": found.duplicate,
        "unknown": [one[:LONGEST_ID] for one in found.unknown],
        "two_answers": found.two_answers,
        "other_order": found.other_order,
        "problems": [[row, name[:LONGEST_ID], message] for row, name, message in problems],
    }
    counts = {f"n_{name}": len(rows) for name, rows in lists.items()}
    n_answered = len(found.answers) - len(found.failed)
    counts |= {"n_questions": len(known), "n_read": read.n_read, "n_answered": n_answered}
    shown = {name: rows[:MOST_LISTED] for name, rows in lists.items()}
    return {"form": read.form, "rule": RULE, **{name: counts[name] for name in COUNTS}, **shown}


def letters_in(found: Matching, n: int) -> str:
    """A letter for each question in the order of the version."""
    letters = [MISSING] * n
    for one in found.answers:
        letters[one.question.number] = one.option or FAILED
    return "".join(letters)


@transaction.atomic
def store_check(submission: Submission, found: Checked, *, at: datetime) -> None:
    """What the check found, and its time; once."""
    checked = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
    if checked.checked_at is None:
        set_checked(submission, found, at=at)
        submission.save(update_fields=["report", "rule", "is_sound", "answers", "answers_sha256", "checked_at"])
        facts = {"sound": submission.is_sound, **{name: found.report[name] for name in COUNTS}}
        record("submission.checked", actor=None, at=at, subject=submission, facts=facts)


def set_checked(submission: Submission, found: Checked, *, at: datetime) -> None:
    submission.report, submission.rule, submission.checked_at = found.report, RULE, at
    submission.is_sound, submission.answers = bool(found.answers), found.answers
    submission.answers_sha256 = hashlib.sha256(found.answers.encode()).hexdigest() if found.answers else ""


# --- named for an edition -------------------------------------------------------------------------
def takes_names(edition: Edition, at: datetime) -> bool:
    """Until the end of its date in UTC, and while nobody has proposed to score it."""
    return edition.proposed_at is None and edition.published_at is None and not is_over(edition, at)


def editions_to_name(benchmark: Benchmark, at: datetime) -> list[Edition]:
    return [one for one in benchmark.editions.order_by("number") if takes_names(one, at)]


@transaction.atomic
def name_for_edition(
    submission: Submission, edition: Edition, *, statement: Statement | None = None, actor: User | None, at: datetime
) -> EditionEntry:
    """What the team wants scored on that date; it replaces what was named before. Naming it again changes nothing.

    ``statement``: what the team says of this model; else the one it has, else the newest of the team.
    """
    team = lock_team(submission.team)
    edition = Edition.objects.select_for_update(of=("self",)).get(pk=edition.pk, benchmark=team.benchmark)
    submission = Submission.objects.select_related("statement", "version").get(pk=submission.pk)
    if not takes_names(edition, at):
        sentence = _("Edition %(n)d took submissions until %(day)s (UTC). Name it for a later edition.")
        raise LeaderboardRefused("past", sentence % {"n": edition.number, "day": edition.due_on})
    _check_can_be_scored(submission, team)
    for member in team.members.all():
        check_not_barred(member.user, team.benchmark)
    _give_statement(submission, statement)
    before = EditionEntry.objects.filter(edition=edition, team=team).select_related("submission").first()
    if before is not None and before.submission_id == submission.pk:
        return before
    named = {"submission": submission, "named_by": actor, "named_at": at}
    entry, _made = EditionEntry.objects.update_or_create(edition=edition, team=team, defaults=named)
    facts = {"edition": edition.number, "instead_of": before.submission.number if before else None}
    record("submission.named", actor=actor, at=at, subject=submission, facts=facts)
    return entry


def _check_can_be_scored(submission: Submission, team: Team) -> None:
    facts = {"n": submission.number}
    if submission.withdrawn_at is not None:
        raise LeaderboardRefused("withdrawn", _("Submission %(n)d is withdrawn: name another one.") % facts)
    if submission.checked_at is None:
        raise LeaderboardRefused("not_checked", _("Submission %(n)d is not checked yet: wait for it.") % facts)
    if not submission.is_sound:
        sentence = _("Submission %(n)d did not pass its check. Correct what its report names and send it again.")
        raise LeaderboardRefused("not_sound", sentence % facts)
    newest = current_version(team.benchmark)
    if submission.version_id != newest.pk:
        sentence = _("Submission %(n)d answers version %(old)d; it is version %(new)d now. Send a file for that one.")
        facts |= {"old": submission.version.number, "new": newest.number}
        raise LeaderboardRefused("old_version", sentence % facts)


def _give_statement(submission: Submission, chosen: Statement | None) -> None:
    """Refused without one that a coordinator has not refused. What was published keeps its own."""
    team, is_published = submission.team, submission.entries.filter(edition__published_at__isnull=False).exists()
    own = submission.statement
    found = own if is_published else chosen or own or team.statements.order_by("-number").first()
    if found is None or found.team_id != team.pk:
        sentence = _("Say what the model is first: fill in the statement of the team.")
        raise LeaderboardRefused("no_statement", sentence)
    if found.refused_because:
        sentence = _("Statement %(n)d was refused: %(why)s Write another one first.")
        raise LeaderboardRefused("refused_statement", sentence % {"n": found.number, "why": found.refused_because})
    if found != own:
        submission.statement = found
        submission.save(update_fields=["statement"])


# --- withdrawn ------------------------------------------------------------------------------------
@transaction.atomic
def withdraw_submission(submission: Submission, reason: str, *, actor: User, at: datetime) -> Submission:
    """Out of the editions that are not published; in published ones its numbers stay, as a struck line.

    Refused without a reason, and for one that is withdrawn.
    """
    reason = one_line(reason, MOST_REASON, "reason", _("Say why it is withdrawn, which is printed"))
    Team.objects.select_for_update(of=("self",)).get(pk=submission.team_id)
    named = submission.entries.values("edition")
    editions = list(Edition.objects.select_for_update(of=("self",)).filter(pk__in=named).order_by("number"))
    found = Submission.objects.select_related("team__benchmark").get(pk=submission.pk)
    if found.withdrawn_at is not None:
        raise LeaderboardRefused("withdrawn", _("Submission %(n)d is withdrawn already.") % {"n": found.number})
    found.entries.filter(edition__in=[one for one in editions if one.published_at is None]).delete()
    found.withdrawn_at, found.withdrawn_because = at, reason
    found.save(update_fields=["withdrawn_at", "withdrawn_because"])
    transaction.on_commit(lambda: FILES.discard(found))
    left = [one.number for one in editions if one.published_at is None]
    record("submission.withdrawn", actor=actor, at=at, subject=found, facts={"reason": reason, "left": left})
    return found


# --- shown ----------------------------------------------------------------------------------------
def check_job(submission: Submission) -> Job | None:
    """The newest that checks it; None once it is checked, and for a run."""
    return None if submission.checked_at else jobs_about(CHECK, submission=submission.public_id).first()


def steps_of(submission: Submission) -> list[tuple[datetime, str]]:
    """Its states with their times, the oldest first."""
    found: list[tuple[datetime | None, str]] = [
        (submission.received_at, _("received")),
        (submission.checked_at, _("check passed") if submission.is_sound else _("check not passed")),
        (submission.withdrawn_at, _("withdrawn")),
    ]
    for entry in submission.entries.all():
        number = {"n": entry.edition.number}
        found.append((entry.named_at, _("named for edition %(n)d") % number))
        found.append((entry.edition.published_at, _("published in edition %(n)d") % number))
    return sorted(((at, label) for at, label in found if at), key=lambda step: step[0])
