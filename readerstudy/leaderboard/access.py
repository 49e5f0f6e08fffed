"""Who meets which benchmark and team, and what is refused.

Coordinators of the site and administrators know every benchmark, submitters of models the frozen ones. What a team
sends is known to its members and to them. A person who has seen a key of the bank is in no team.
"""

from __future__ import annotations

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.enums import Role
from annotation.models import User
from annotation.models.people import TokenScope
from annotation.refusals import Refused
from annotation.site.permissions import acts_as, is_administrator, is_coordinator, site_roles
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.models import Benchmark, Team
from readerstudy.predictions.kernels.records import without_hidden

ROLES = (Role.COORDINATOR, Role.ADMINISTRATOR, Role.MODEL_SUBMITTER)  # that have to do with leaderboards
MOST_REASON = 1_000  # characters


class LeaderboardRefused(Refused):
    """Something cannot be done with a benchmark, a team or what it sends; the sentence says why and what to do."""


def _team_of_token(person: User) -> int | None:
    limits = person.limits
    return limits.place_id if limits is not None and limits.scope == TokenScope.TEAM else None


def runs_leaderboards(person: User) -> bool:
    """Coordinators of the site; a token of one place is none."""
    return is_coordinator(person) and (person.limits is None or person.limits.is_read_only)


def looks_on(person: User) -> bool:
    """Coordinators, and administrators, who read."""
    return runs_leaderboards(person) or (
        is_administrator(person) and (person.limits is None or person.limits.is_read_only)
    )


def benchmarks_known_to(person: User) -> QuerySet[Benchmark]:
    rows = Benchmark.objects.select_related("bank", "created_by")
    if looks_on(person):
        return rows
    frozen = rows.exclude(state=BenchmarkState.DRAFT)
    team = _team_of_token(person)
    if team is not None:
        return frozen.filter(teams=team, teams__members__user=person)
    if person.limits is None and Role.MODEL_SUBMITTER in site_roles(person):
        return frozen
    return rows.none()


def known_benchmark(person: User, slug: str) -> Benchmark:
    """Refused with 404: to everybody else it does not exist."""
    found = benchmarks_known_to(person).filter(slug=slug).first()
    if found is None:
        raise nothing_there()
    return found


def nothing_there() -> LeaderboardRefused:
    """The same words for what is unknown and what is private."""
    return LeaderboardRefused("not_found", _("There is nothing here."), status=404)


def teams_known_to(person: User) -> QuerySet[Team]:
    rows = Team.objects.select_related("benchmark__bank", "asked_by", "decided_by")
    if looks_on(person):
        return rows
    if not acts_as(person, Role.MODEL_SUBMITTER) or Role.MODEL_SUBMITTER not in site_roles(person):
        return rows.none()
    mine, team = rows.filter(members__user=person), _team_of_token(person)
    if person.limits is None:
        return mine
    return mine.filter(pk=team) if team is not None else rows.none()


def own_team(person: User, benchmark: Benchmark) -> Team | None:
    """The approved team of a member; None for everybody else."""
    return teams_known_to(person).filter(benchmark=benchmark, members__user=person, state=TeamState.APPROVED).first()


def team_of(person: User, slug: str) -> Team:
    """The approved team of this person on a benchmark. Refused with 404."""
    team = own_team(person, known_benchmark(person, slug))
    if team is None:
        raise nothing_there()
    return team


def editions_page(benchmark: Benchmark) -> str:
    """Where a coordinator goes on, when an edition is due and when a job about the board is done."""
    return reverse("leaderboard-editions", args=[benchmark.slug])


def board_address(benchmark: Benchmark) -> str:
    """Where everybody reads what was published: files that the site gives out by itself, rexvqa_site/lanes.py."""
    return f"/board/{benchmark.slug}/"


def check_is_frozen(benchmark: Benchmark) -> None:
    """Refused for a draft, and once it is closed."""
    if benchmark.state != BenchmarkState.FROZEN:
        sentence = _("“%(name)s” is %(state)s: nothing is sent to it, taken from it or scored.")
        facts = {"name": benchmark.name, "state": benchmark.get_state_display()}
        raise LeaderboardRefused("not_open", sentence % facts)


def lock_benchmark(benchmark: Benchmark) -> None:
    """Bring the row up to date and lock it until the transaction ends."""
    bank = benchmark.bank
    benchmark.refresh_from_db(from_queryset=Benchmark.objects.select_for_update())
    benchmark.bank = bank


def lock_draft(benchmark: Benchmark) -> None:
    """Refused once it is frozen."""
    lock_benchmark(benchmark)
    if benchmark.state != BenchmarkState.DRAFT:
        sentence = _("“%(name)s” is frozen: it does not change any more.") % {"name": benchmark.name}
        raise LeaderboardRefused("frozen", sentence)


def one_line(text: str, most: int, field: str, what: str) -> str:
    """One line without characters that are not shown."""
    line = without_hidden(text)
    if not 1 <= len(line) <= most:
        sentence = _("%(what)s, in at most %(n)d characters.") % {"what": what, "n": most}
        raise LeaderboardRefused("bad_text", sentence, status=422, field=field)
    return line
