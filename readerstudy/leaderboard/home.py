"""What the home page says of leaderboards: to coordinators who waits for a word and which edition is due, to people who
submit models where they are in a team.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Count, Q
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.enums import Role
from annotation.models import User
from annotation.people.open_work import NextStep, WorkItem, WorkSection
from annotation.site.permissions import site_roles
from readerstudy.enums import BenchmarkState, TeamState
from readerstudy.leaderboard.access import (
    benchmarks_known_to,
    editions_page,
    runs_leaderboards,
)
from readerstudy.leaderboard.editions import is_over
from readerstudy.models import Benchmark, Edition, Team

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
