"""Editions: proposed by one coordinator once the date is over, confirmed by another, scored at once by a job.

Until then nothing of a ranking is computed. What an edition published is a row that never changes, and so is every
number of it in the ledger. Scored again on a later version it gets a result beside the first. The public board is
written and verified by jobs, too; asking for one loads no statistics.

What the home page says of leaderboards stands here, too: to coordinators who waits for a word and which edition is due,
to people who submit models where they are in a team.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue_once
from annotation.models import Job, User
from annotation.models.fields import public_id
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.site import home_files
from annotation.site.permissions import site_roles
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.access import (
    LeaderboardRefused,
    benchmarks_known_to,
    check_is_frozen,
    editions_page,
    runs_leaderboards,
)
from readerstudy.leaderboard.benchmarks import current_version
from readerstudy.models import Benchmark, BenchmarkVersion, Edition, EditionResult, Submission, Team


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


_WAITING = {
    "n_teams": Count("teams", filter=Q(teams__state=TeamState.ASKED), distinct=True),
    "n_statements": Count(
        "teams__statements",
        filter=Q(teams__statements__passed_at=None, teams__statements__refused_because=""),
        distinct=True,
    ),
}


def leaderboards_under_way(person: User, at: datetime) -> WorkSection | None:
    """A section of the home page. None for who does not coordinate, and while no leaderboard goes on."""
    if not runs_leaderboards(person):
        return None
    rows = Benchmark.objects.filter(state=BenchmarkState.FROZEN).annotate(**_WAITING).order_by("-frozen_at")
    found = [_line(one, person, at) for one in rows.prefetch_related("editions__entries", "editions__proposed_by")]
    if not found:
        return None
    steps = [step for _item, step in found if step]
    items = [item for item, _step in found]
    return WorkSection(_("Leaderboards"), items, steps[0] if steps else None, url=reverse("leaderboards"))


def _line(benchmark: Benchmark, person: User, at: datetime) -> tuple[WorkItem, NextStep | None]:
    unpublished = [one for one in benchmark.editions.all() if one.published_at is None]
    due = next((one for one in unpublished if is_over(one, at) and one.entries.all()), None)
    planned = next((one for one in unpublished if not is_over(one, at)), None)
    words, state = _words_of_waiting(benchmark), ""
    if due is not None:
        state = _("edition %(n)s is due") % {"n": due.number}
    item = WorkItem(
        name=benchmark.name,
        url=reverse("leaderboard", args=[benchmark.slug]),
        words=words or (_("next edition %(day)s") % {"day": planned.due_on} if planned else _("nothing waits")),
        state=state,
        tone="warn",
    )
    return item, _step_of(due, person) or _step_of_waiting(benchmark, words)


def _words_of_waiting(benchmark: Benchmark) -> str:
    n_teams, n_statements = benchmark.n_teams, benchmark.n_statements  # type: ignore[attr-defined]
    teams = ngettext("%(n)d team to approve", "%(n)d teams to approve", n_teams) % {"n": n_teams}
    read = ngettext("%(n)d statement to read", "%(n)d statements to read", n_statements) % {"n": n_statements}
    return ", ".join(text for n, text in ((n_teams, teams), (n_statements, read)) if n)


def _step_of(due: Edition | None, person: User) -> NextStep | None:
    """For the first person, or for the second; None for who proposed it, and once it is confirmed."""
    if due is None or due.confirmed_at is not None or due.proposed_by == person:
        return None
    name, url = due.benchmark.name, editions_page(due.benchmark)
    if due.proposed_by is None:
        sentence = _("Edition %(n)s of “%(name)s” is due: propose to score it, and another coordinator confirms.")
        return NextStep(_("To the editions"), sentence % {"n": due.number, "name": name}, url)
    sentence = _("%(who)s proposed to score edition %(n)s of “%(name)s”: confirm it.")
    return NextStep(_("To the editions"), sentence % {"who": due.proposed_by.name, "n": due.number, "name": name}, url)


def _step_of_waiting(benchmark: Benchmark, words: str) -> NextStep | None:
    if not words:
        return None
    place = "leaderboard" if benchmark.n_teams else "leaderboard-submissions"  # type: ignore[attr-defined]
    return NextStep(_("Look at it"), f"“{benchmark.name}”: {words}.", reverse(place, args=[benchmark.slug]))


def leaderboards_of_submitter(person: User, at: datetime) -> WorkSection | None:
    """A section of the home page. None for people who do not submit models, and while there is no leaderboard."""
    if Role.MODEL_SUBMITTER not in site_roles(person):
        return None
    open_now = benchmarks_known_to(person).filter(state=BenchmarkState.FROZEN)
    teams = {one.benchmark_id: one for one in Team.objects.filter(members__user=person)}
    items = []
    for one in open_now:
        team = teams.get(one.pk)
        words, state = (team.name, team.get_state_display()) if team else (_("no team yet"), "")
        tone = "good" if team and team.state == TeamState.APPROVED else "warn"
        url = reverse("leaderboard-team", args=[one.slug])
        items.append(WorkItem(name=one.name, url=url, words=words, state=state, tone=tone))
    return WorkSection(_("Leaderboards"), items, is_own=True, url=reverse("leaderboards")) if items else None
