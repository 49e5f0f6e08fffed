"""The public board is written and verified by jobs, since a page would wait too long; asking loads no statistics."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict

from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.jobs.handlers import JobKind, Progress, Result
from annotation.jobs.queueing import enqueue_once
from annotation.models import Job, User
from readerstudy.leaderboard.access import LeaderboardRefused, editions_page
from readerstudy.models import Benchmark, EditionResult


class BoardParams(TypedDict):
    benchmark: int
    actor: int


PUBLISH: JobKind[BoardParams] = JobKind("publish_leaderboard")
VERIFY: JobKind[BoardParams] = JobKind("verify_leaderboard")


def ask_to_publish(benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    """One that waits or runs is enough. Refused before an edition is published."""
    title = _("Public board of %(name)s") % {"name": benchmark.name}
    return _ask(PUBLISH, title, benchmark, actor=actor, at=at)


def ask_to_verify(benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    title = _("Verifying the board of %(name)s") % {"name": benchmark.name}
    return _ask(VERIFY, title, benchmark, actor=actor, at=at)


def _ask(kind: JobKind[BoardParams], title: str, benchmark: Benchmark, *, actor: User, at: datetime) -> Job:
    check_has_results(benchmark)
    params = BoardParams(benchmark=benchmark.pk, actor=actor.pk)
    return enqueue_once(kind, title, params, about="benchmark", actor=actor, at=at)


def check_has_results(benchmark: Benchmark) -> None:
    """Refused before an edition is published."""
    if not EditionResult.objects.filter(edition__benchmark=benchmark).exists():
        sentence = _("No edition of “%(name)s” is published yet: propose one after its date.")
        raise LeaderboardRefused("no_edition", sentence % {"name": benchmark.name})


def run_publishing(progress: Progress, params: BoardParams) -> Result:
    """The handler."""
    from readerstudy.leaderboard.publishing import publish_here  # draws with matplotlib, slow to load

    benchmark = Benchmark.objects.select_related("bank").get(pk=params["benchmark"])
    progress.report(0, 1)
    written = publish_here(benchmark, actor=User.objects.get(pk=params["actor"]), at=timezone.now())
    progress.report(1, 1)
    return {"page": editions_page(benchmark), "files": len(written)}


def run_verifying(progress: Progress, params: BoardParams) -> Result:
    """The handler. What differs is listed in the result, as what a job could not take."""
    from readerstudy.leaderboard.publishing import folder_here
    from readerstudy.leaderboard.verifying import verify

    benchmark = Benchmark.objects.select_related("bank").get(pk=params["benchmark"])
    progress.report(0, 1)
    folder = folder_here(benchmark)
    problems = verify(benchmark, folder if folder.is_dir() else None, at=timezone.now())
    progress.report(1, 1)
    return {"page": editions_page(benchmark), "different": len(problems), "problems": problems}
