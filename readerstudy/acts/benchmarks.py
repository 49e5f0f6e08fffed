"""What is done with a leaderboard and its teams."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act, Confirmation
from annotation.models import User
from readerstudy.forms.leaderboard import MemberForm, TwinsForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.leaderboard.access import (
    known_benchmark,
    looks_on,
    own_team,
    runs_leaderboards,
    teams_known_to,
)
from readerstudy.leaderboard.benchmarks import check_nothing_blocks, close_benchmark, freeze_benchmark
from readerstudy.leaderboard.inputs import ask_to_pack
from readerstudy.leaderboard.public_twins import decide, pool_of
from readerstudy.leaderboard.teams import add_member, approve_team, refuse_team, remove_member
from readerstudy.models import Benchmark, Team


def run_benchmark(person: User, slug: str) -> Benchmark:
    """For coordinators; others who know it may not, to everybody else it does not exist."""
    found = known_benchmark(person, slug)
    if not runs_leaderboards(person):
        raise PermissionDenied(_("This is for the coordinators of the site."))
    return found


def taken_benchmark(person: User, slug: str) -> Benchmark:
    """For whoever takes its questions away: members of approved teams, and coordinators."""
    found = known_benchmark(person, slug)
    if not runs_leaderboards(person) and own_team(person, found) is None:
        raise PermissionDenied(_("This is for the approved teams of the leaderboard."))
    return found


# --- a leaderboard --------------------------------------------------------------------------------
class BenchmarkAct(Act[Benchmark]):
    then = "leaderboard"

    @classmethod
    def find(cls, person: User, **named: Any) -> Benchmark:
        return run_benchmark(person, named["slug"])

    def ask(self, title: str, sentences: list[str], *, is_danger: bool) -> Confirmation:
        about, back = self.thing.name, self.page()
        return Confirmation(title=title, sentences=sentences, label=title, back=back, about=about, is_danger=is_danger)


class DecideTwins(BenchmarkAct):
    """Questions that nearly stand in a public bank stay for a reason, or are left out; without numbers all of which
    nothing else was decided.
    """

    name, route, summary = "leaderboard-decide", "decide/", "Decide about near-duplicates in public banks"
    do, form, done = decide, TwinsForm, gettext_lazy("The decision is stored.")


class FreezeBenchmark(BenchmarkAct):
    """Questions, keys, rules and dates are fixed, and teams can come. Refused with everything that is in the way."""

    name, route, summary = "leaderboard-freeze", "freeze/", "Freeze a leaderboard"
    do, done = freeze_benchmark, gettext_lazy("The leaderboard is frozen: teams can ask to take part.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        check_nothing_blocks(self.thing, at)
        sentence = _("%(n)d questions, their keys, the rules and the dates are fixed, and cannot change any more.")
        sentences = [
            sentence % {"n": pool_of(self.thing).n},
            _("While it is not closed, predictions for the bank are taken for the leaderboard alone."),
        ]
        return self.ask(_("Freeze the leaderboard"), sentences, is_danger=False)


class CloseBenchmark(BenchmarkAct):
    """No further submission or edition; what was published stays."""

    name, route, summary = "leaderboard-close", "close/", "Close a leaderboard"
    do, done = close_benchmark, gettext_lazy("The leaderboard is closed.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation | None:
        sentence = _("Nobody sends anything any more, and no edition follows. What was published stays.")
        return self.ask(_("Close the leaderboard"), [sentence], is_danger=True)


class PackInputs(BenchmarkAct):
    """A job writes the questions and images that teams take away, where the file is not there. One that waits or runs
    is enough.
    """

    name, route, summary = "leaderboard-pack", "pack/", "Have the inputs of a leaderboard written"
    do, done = ask_to_pack, gettext_lazy("The file is being written. Load this page again in a while.")

    @classmethod
    def find(cls, person: User, **named: Any) -> Benchmark:
        return taken_benchmark(person, named["slug"])

    def page(self) -> str:
        return reverse(page_for(self.person), args=[self.thing.slug])


def page_for(person: User) -> str:
    return "leaderboard" if looks_on(person) else "leaderboard-team"


# --- a team ---------------------------------------------------------------------------------------
def known_team(person: User, slug: str, public_id: str) -> Team:
    return get_object_or_404(teams_known_to(person), benchmark__slug=slug, public_id=public_id)


class TeamAct(Act[Team]):
    found_by = ("slug", "public_id")

    @classmethod
    def find(cls, person: User, **named: Any) -> Team:
        """Coordinators decide about teams."""
        found = known_team(person, named["slug"], named["public_id"])
        if not runs_leaderboards(person):
            raise PermissionDenied(_("This is for the coordinators of the site."))
        return found

    def page(self) -> str:
        return reverse(page_for(self.person), args=[self.thing.benchmark.slug])


class ApproveTeam(TeamAct):
    """It may send submissions. Refused with the reasons where a member could have seen answers."""

    name, route, summary = "leaderboard-team-approve", "approve/", "Approve a team"
    do, done = approve_team, gettext_lazy("The team is approved.")


class RefuseTeam(TeamAct):
    """Who asked reads the reason."""

    name, route, summary = "leaderboard-team-refuse", "refuse/", "Refuse a team"
    do, form, done = refuse_team, ReasonForm, gettext_lazy("The team is refused.")
    misread = gettext_lazy("Say why the team is refused: who asked for it reads that.")


class MemberAct(TeamAct):
    """Of members, and of coordinators for them."""

    form, misread = MemberForm, gettext_lazy("Give the e-mail address of a person.")

    @classmethod
    def find(cls, person: User, **named: Any) -> Team:
        found = known_team(person, named["slug"], named["public_id"])
        if looks_on(person) and not runs_leaderboards(person):
            raise PermissionDenied(_("This is for the coordinators of the site."))
        return found


class AddMember(MemberAct):
    """By the e-mail address of their account for submitting models. Without it the answer tells nothing of accounts."""

    name, route, summary = "leaderboard-member-add", "add-member/", "Add a person to a team"
    do, done = add_member, gettext_lazy("The person is in the team.")


class RemoveMember(MemberAct):
    """Their tokens for the team end. The last member stays."""

    name, route, summary = "leaderboard-member-remove", "remove-member/", "Remove a person from a team"
    do, done = remove_member, gettext_lazy("The person is not in the team any more.")

    def page(self) -> str:
        gone = not looks_on(self.person) and not self.thing.members.filter(user=self.person).exists()
        return reverse("leaderboards") if gone else super().page()


BENCHMARK_ACTS: tuple[type[BenchmarkAct], ...] = (DecideTwins, FreezeBenchmark, CloseBenchmark, PackInputs)
TEAM_ACTS: tuple[type[TeamAct], ...] = (ApproveTeam, RefuseTeam, AddMember, RemoveMember)
