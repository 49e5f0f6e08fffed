"""Editions: proposed by one coordinator once the date is over, confirmed by another, scored at once by a job.

Until then nothing of a ranking is computed. What an edition published is a row that never changes, and so is every
number of it in the ledger. Scored again on a later version it gets a result beside the first. The public board is
written and verified by jobs, too; asking for one loads no statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.models import Job, User
from annotation.models.fields import public_id
from annotation.site import home_files
from readerstudy.leaderboard.access import (
    LeaderboardRefused,
    check_is_frozen,
    editions_page,
)
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.models import Benchmark, BenchmarkVersion, Edition, EditionResult, Submission


class EditionParams(TypedDict):
    edition: int
    version: int
    actor: int


class BoardParams(TypedDict):
    benchmark: int
    actor: int


SCORE: JobKind[EditionParams] = JobKind("score_edition")
PUBLISH: JobKind[BoardParams] = JobKind("publish_leaderboard")
VERIFY: JobKind[BoardParams] = JobKind("verify_leaderboard")


def is_over(edition: Edition, at: datetime) -> bool:
    """Its date has ended, in UTC: teams name nothing any more."""
    return at.astimezone(UTC).date() > edition.due_on


def locked_edition(edition: Edition) -> Edition:
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
    edition = locked_edition(edition)
    check_can_be_scored(edition, at=at)
    if edition.proposed_at is None:
        edition.proposed_by, edition.proposed_at = actor, at
        edition.save(update_fields=["proposed_by", "proposed_at"])
        note_edition("edition.proposed", edition, actor=actor, at=at)
    return edition


@transaction.atomic
def confirm_edition(edition: Edition, *, actor: User, at: datetime) -> Job:
    """The second person. A job then scores everything that is named; confirmed again, it is asked for again."""
    edition = locked_edition(edition)
    check_may_confirm(edition, actor=actor, at=at)
    if edition.confirmed_at is None:
        edition.confirmed_by, edition.confirmed_at = actor, at
        edition.save(update_fields=["confirmed_by", "confirmed_at"])
        note_edition("edition.confirmed", edition, actor=actor, at=at)
    return _ask(edition, current_version(edition.benchmark), actor=actor, at=at)


@transaction.atomic
def score_again(edition: Edition, *, actor: User, at: datetime) -> Job:
    """On the newest version, beside what was published: which stays as it is."""
    edition, version = locked_edition(edition), current_version(edition.benchmark)
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
    params = EditionParams(edition=edition.pk, version=version.pk, actor=actor.pk)
    return enqueue_once(SCORE, title, params, about="edition", actor=actor, at=at)


def check_may_confirm(edition: Edition, *, actor: User, at: datetime) -> None:
    """Refused to the person who proposed it."""
    check_can_be_scored(edition, at=at)
    if edition.proposed_at is None:
        raise LeaderboardRefused("not_proposed", _("Nobody has proposed this edition yet: propose it first."))
    if edition.proposed_by_id == actor.pk:
        raise LeaderboardRefused("same_person", _("You proposed this edition: another coordinator confirms it."))


def check_can_be_scored(edition: Edition, *, at: datetime) -> None:
    """Refused before its date is over, once it is published, and where there is nothing to score."""
    check_is_frozen(edition.benchmark)
    if edition.published_at is not None:
        raise LeaderboardRefused("published", _("This edition is published, and stays as it is."))
    if not is_over(edition, at):
        sentence = _("Teams may name a submission until the end of %(day)s (UTC): propose it after that.")
        raise LeaderboardRefused("too_early", sentence % {"day": edition.due_on.isoformat()})
    if not entries_of(edition, at).exists():
        sentence = _("No team has a submission in this edition that passed its check: there is nothing to score.")
        raise LeaderboardRefused("nothing_named", sentence)


def can_be_scored(edition: Edition, at: datetime) -> bool:
    return _passes(lambda: check_can_be_scored(edition, at=at))


def may_confirm(edition: Edition, person: User, at: datetime) -> bool:
    return _passes(lambda: check_may_confirm(edition, actor=person, at=at))


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except LeaderboardRefused:
        return False
    return True


def note_edition(act: str, edition: Edition, *, actor: User | None, at: datetime, **facts: Any) -> None:
    record(act, actor=actor, at=at, subject=edition.benchmark, facts={"edition": edition.number, **facts})


# --- the public board -----------------------------------------------------------------------------
def folder_here(benchmark: Benchmark) -> Path:
    """From where the site gives it out."""
    return _boards() / benchmark.slug


def give_out(slug: str) -> None:
    """The newest board that was written, by whatever machine, stands under its name here; older ones go. ``*``: all."""
    boards = _boards()
    names = [one.key for one in home_files.children(boards, f".{slug}-{'[0-9]' * 20}")]  # with the time
    newest = {name[1:-21]: name for name in names}
    for its_slug, name in newest.items():
        place = boards / its_slug
        if place.is_symlink() and place.readlink() == Path(name):
            continue
        if not (boards / name).exists():
            boards.mkdir(exist_ok=True)
            copy = home_files.here(boards / name)
            with suppress(OSError):  # another process has brought it
                copy.rename(boards / name)
        link = boards / f".{its_slug}-{public_id()}"
        link.symlink_to(name)
        link.replace(place)
    for name in set(names) - set(newest.values()):
        home_files.drop(boards / name)


def bring_boards() -> None:
    """Those that other machines have written, where each has a home of its own."""
    if home_files.has_bucket():
        give_out("*")


def _boards() -> Path:
    return Path(settings.HOME) / "boards"


def check_has_results(benchmark: Benchmark) -> None:
    """Refused before an edition is published."""
    if not EditionResult.objects.filter(edition__benchmark=benchmark).exists():
        sentence = _("No edition of “%(name)s” is published yet: propose one after its date.")
        raise LeaderboardRefused("no_edition", sentence % {"name": benchmark.name})


def ask_to_publish(benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    """One that waits or runs is enough. Refused before an edition is published."""
    return _ask_for_board(PUBLISH, _("Public board of %(name)s"), benchmark, actor, at)


def ask_to_verify(benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    return _ask_for_board(VERIFY, _("Verifying the board of %(name)s"), benchmark, actor, at)


def _ask_for_board(kind: JobKind[BoardParams], title: str, benchmark: Benchmark, actor: User, at: datetime) -> Job:
    check_has_results(benchmark)
    params = BoardParams(benchmark=benchmark.pk, actor=actor.pk)
    return enqueue_once(kind, title % {"name": benchmark.name}, params, about="benchmark", actor=actor, at=at)


# --- handlers, which load matplotlib and statistics -------------------------------------------------
def run_scoring(progress: Progress, params: EditionParams) -> Result:
    """Run twice it stores once; then the public folder is written."""
    from readerstudy.leaderboard.edition_scoring import score_edition
    from readerstudy.leaderboard.public_board import publish_here

    edition = Edition.objects.select_related("benchmark__bank").get(pk=params["edition"])
    version, actor = BenchmarkVersion.objects.get(pk=params["version"]), User.objects.get(pk=params["actor"])
    progress.report(0, 2)
    made = score_edition(edition, version, actor=actor, at=timezone.now())
    progress.report(1, 2)
    publish_here(edition.benchmark, actor=actor, at=timezone.now())
    progress.report(2, 2)
    return {"page": editions_page(edition.benchmark), "edition": edition.number, "result_sha256": made.result_sha256}


def run_publishing(progress: Progress, params: BoardParams) -> Result:
    from readerstudy.leaderboard.public_board import publish_here

    benchmark = Benchmark.objects.select_related("bank").get(pk=params["benchmark"])
    written = publish_here(benchmark, actor=User.objects.get(pk=params["actor"]), at=timezone.now())
    return {"page": editions_page(benchmark), "files": len(written)}


def sweep_boards(at: datetime) -> int:
    """Write the public boards that are not there, as after a backup was restored. Several workers may run it."""
    published = Benchmark.objects.filter(editions__published_at__isnull=False).distinct()
    missing = [one for one in published if not folder_here(one).exists()]
    if missing:
        bring_boards()
    missing = [one for one in missing if not folder_here(one).exists()]
    for benchmark in missing:
        from readerstudy.leaderboard.public_board import publish_here  # draws with matplotlib, slow to load

        publish_here(benchmark, actor=None, at=at)
    return len(missing)


def run_verifying(progress: Progress, params: BoardParams) -> Result:
    """What differs is listed in the result, as what a job could not take."""
    from readerstudy.leaderboard.edition_scoring import verify

    benchmark = Benchmark.objects.select_related("bank").get(pk=params["benchmark"])
    bring_boards()
    folder = folder_here(benchmark)
    problems = verify(benchmark, folder if folder.is_dir() else None, at=timezone.now())
    return {"page": editions_page(benchmark), "different": len(problems), "problems": problems}
