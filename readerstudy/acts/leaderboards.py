"""What is done with a leaderboard: with its teams, what they send and say, its editions, versions and public board."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act, Confirmation
from annotation.acts.banks import COORDINATORS
from annotation.models import User
from readerstudy.acts.models import ModelRunAct
from readerstudy.forms.leaderboard import HandInForm, MemberForm, NameSubmissionForm, NoteForm, TwinsForm, VersionForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.leaderboard import editions
from readerstudy.leaderboard.access import (
    LeaderboardRefused,
    known_benchmark,
    looks_on,
    own_team,
    runs_leaderboards,
    teams_known_to,
)
from readerstudy.leaderboard.benchmarks import check_nothing_blocks, close_benchmark, freeze_benchmark
from readerstudy.leaderboard.public_twins import decide, pool_of
from readerstudy.leaderboard.running import hand_in
from readerstudy.leaderboard.submissions import name_for_edition, submissions_known_to, withdraw_submission
from readerstudy.leaderboard.teams import (
    add_member,
    approve_team,
    pass_statement,
    refuse_statement,
    refuse_team,
    remove_member,
    statements_known_to,
)
from readerstudy.leaderboard.versions import add_note, ask_to_pack, make_new_version
from readerstudy.models import Benchmark, Edition, Statement, Submission, Team


def check_runs_leaderboards(person: User) -> None:
    """Raises PermissionDenied."""
    if not runs_leaderboards(person):
        raise PermissionDenied(_("This is for the coordinators of the site."))


def run_benchmark(person: User, slug: str) -> Benchmark:
    """For coordinators; others who know it may not, to everybody else it does not exist."""
    found = known_benchmark(person, slug)
    check_runs_leaderboards(person)
    return found


def taken_benchmark(person: User, slug: str) -> Benchmark:
    """For whoever takes its questions away: members of approved teams, and coordinators."""
    found = known_benchmark(person, slug)
    if not runs_leaderboards(person) and own_team(person, found) is None:
        raise PermissionDenied(_("This is for the approved teams of the leaderboard."))
    return found


def known_team(person: User, slug: str, public_id: str) -> Team:
    return get_object_or_404(teams_known_to(person), benchmark__slug=slug, public_id=public_id)


def known_submission(person: User, slug: str, public_id: str) -> Submission:
    """Raises Http404: to who is neither in the team nor looks on it does not exist."""
    return get_object_or_404(submissions_known_to(person, known_benchmark(person, slug)), public_id=public_id)


def known_statement(person: User, slug: str, public_id: str) -> Statement:
    return get_object_or_404(statements_known_to(person, known_benchmark(person, slug)), public_id=public_id)


def is_of_team(person: User, submission: Submission) -> bool:
    return own_team(person, submission.team.benchmark) == submission.team


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

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
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

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
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
class TeamAct(Act[Team]):
    found_by = ("slug", "public_id")

    @classmethod
    def find(cls, person: User, **named: Any) -> Team:
        """Coordinators decide about teams."""
        found = known_team(person, named["slug"], named["public_id"])
        check_runs_leaderboards(person)
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
        if looks_on(person):
            check_runs_leaderboards(person)
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


# --- what a team sends and says -------------------------------------------------------------------
class SubmissionAct(Act[Submission]):
    found_by = ("slug", "public_id")
    is_for_coordinators = False  # too

    @classmethod
    def find(cls, person: User, **named: Any) -> Submission:
        found = known_submission(person, named["slug"], named["public_id"])
        if not (is_of_team(person, found) or (cls.is_for_coordinators and runs_leaderboards(person))):
            raise PermissionDenied(_("This is for the members of the team."))
        return found

    def page(self) -> str:
        return reverse("leaderboard-submission", args=[self.thing.team.benchmark.slug, self.thing.public_id])


class NameSubmission(SubmissionAct):
    """The team wants it scored in this edition, in place of what it named before. Until the end of its date, in UTC."""

    name, route, summary = "leaderboard-submission-name", "name/", "Name a submission for an edition"
    do, form = name_for_edition, NameSubmissionForm
    misread = gettext_lazy("Choose an edition.")

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        team, n = self.thing.team, data["statement"]
        edition = team.benchmark.editions.filter(number=data["edition"]).first()
        if edition is None:
            sentence = _("There is no edition %(n)d.") % {"n": data["edition"]}
            raise LeaderboardRefused("no_edition", sentence, status=422, field="edition")
        statement = team.statements.filter(number=n).first()
        if statement is None and n is not None:
            sentence = _("The team has no statement %(n)d.") % {"n": n}
            raise LeaderboardRefused("no_statement", sentence, status=422, field="statement")
        return {"edition": edition, "statement": statement}

    def says(self, arguments: dict[str, Any], result: Any) -> str:
        facts = {"n": arguments["edition"].number, "day": arguments["edition"].due_on}
        return _("Named for edition %(n)d. You can name another one until %(day)s (UTC).") % facts


class WithdrawSubmission(SubmissionAct):
    """It leaves the editions that are not published; where it was published it stays as a struck line with date and
    reason. By the team or a coordinator, for good.
    """

    name, route, summary = "leaderboard-submission-withdraw", "withdraw/", "Withdraw a submission"
    do, form, misread = withdraw_submission, ReasonForm, gettext_lazy("Say why it is withdrawn.")
    done, is_for_coordinators = gettext_lazy("The submission is withdrawn."), True


class StatementAct(Act[Statement]):
    roles, found_by = COORDINATORS, ("slug", "public_id")

    @classmethod
    def find(cls, person: User, **named: Any) -> Statement:
        return known_statement(person, named["slug"], named["public_id"])

    def page(self) -> str:
        return reverse("leaderboard-statement", args=[self.thing.team.benchmark.slug, self.thing.public_id])


class PassStatement(StatementAct):
    """What the team says of its model may show from now on. Twice changes nothing."""

    name, route, summary = "leaderboard-statement-pass", "pass/", "Pass the statement of a team"
    do, done = pass_statement, gettext_lazy("The statement is passed: it shows beside its entries.")


class RefuseStatement(StatementAct):
    """It never shows; the team reads why, and can write another one."""

    name, route, summary = "leaderboard-statement-refuse", "refuse/", "Refuse the statement of a team"
    do, form, misread = refuse_statement, ReasonForm, gettext_lazy("Say why the statement is refused.")
    done = gettext_lazy("The statement is refused. The team reads why.")


class HandInModelRun(ModelRunAct):
    """The first answers of a complete run on a benchmark become a checked submission of a team."""

    name, route, summary = "model-run-hand-in", "hand-in/", "Hand a run of a model in for a team"
    roles, do = COORDINATORS, hand_in

    def form_for(self, sent: Mapping[str, Any]) -> HandInForm:
        return HandInForm(self.thing, sent)

    def says(self, arguments: dict[str, Any], result: Any) -> str:
        return _("Handed in for %(team)s as submission %(n)d.") % {"team": arguments["team"], "n": result.number}


# --- editions, versions and the public board ------------------------------------------------------
class EditionAct(Act[Edition]):
    found_by = ("slug", "number")

    @classmethod
    def find(cls, person: User, **named: Any) -> Edition:
        benchmark = run_benchmark(person, named["slug"])
        return get_object_or_404(benchmark.editions.select_related("benchmark"), number=named["number"])

    def page(self) -> str:
        return reverse("leaderboard-editions", args=[self.thing.benchmark.slug])


class ProposeEdition(EditionAct):
    """Say, once its date is over, that an edition can be scored. Another coordinator confirms."""

    name, route, summary = "leaderboard-edition-propose", "propose/", "Propose an edition of a leaderboard"
    do = editions.propose_edition
    done = gettext_lazy("The edition is proposed. Another coordinator confirms it.")


class ConfirmEdition(EditionAct):
    """The second person. A job then scores every named submission at once, and writes the public board."""

    name, route, summary = "leaderboard-edition-confirm", "confirm/", "Confirm and score an edition of a leaderboard"
    do = editions.confirm_edition
    done = gettext_lazy("The edition is confirmed. A job scores it and writes the public board.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
        editions.check_may_confirm(self.thing, actor=self.person, at=at)
        names = sorted(str(one.team) for one in editions.entries_of(self.thing, at))
        sentences = [
            _("Scored at once: %(n)s, of %(teams)s.") % {"n": len(names), "teams": ", ".join(names)},
            _("Its numbers are published at once, and stand for ever."),
        ]
        return Confirmation(
            about=self.thing.benchmark.name,
            title=_("Score and publish edition %(n)s?") % {"n": self.thing.number},
            sentences=sentences,
            label=_("Score and publish"),
            back=self.page(),
            is_danger=False,
        )


class ScoreAgain(EditionAct):
    """Score the newest published edition on the newest version of the benchmark, beside what was published."""

    name, route, summary = "leaderboard-edition-score-again", "score-again/", "Score an edition on the newest version"
    do, done = editions.score_again, gettext_lazy("A job scores the edition on the newest version.")


class BoardAct(BenchmarkAct):
    then = "leaderboard-editions"


class PublishBoard(BoardAct):
    """A job writes the public board anew, with what was withdrawn or noted since."""

    name, route, summary = "leaderboard-publish", "publish/", "Write the public board of a leaderboard"
    do, done = editions.ask_to_publish, gettext_lazy("A job writes the public board.")


class VerifyBoard(BoardAct):
    """A job computes every published number again and compares rows, answers, keys and files."""

    name, route, summary = "leaderboard-verify", "verify/", "Verify what a leaderboard published"
    do, done = editions.ask_to_verify, gettext_lazy("A job verifies what was published.")


class MakeVersion(BoardAct):
    """The next version of the benchmark, with what was withdrawn or corrected in its bank since the newest one."""

    name, route, summary = "leaderboard-version-make", "new-version/", "Make the next version of a benchmark"
    do, form, done = make_new_version, VersionForm, gettext_lazy("The next version is made.")


class AddNote(BoardAct):
    """A dispute or a correction that everybody reads beside an entry or the benchmark."""

    name, route, summary = "leaderboard-note", "note/", "Add a note to a leaderboard"
    do, form, done = add_note, NoteForm, gettext_lazy("The note is stored. It shows once the board is written again.")


Acts = tuple[type[Act[Any]], ...]
BENCHMARK_ACTS: Acts = (
    *(DecideTwins, FreezeBenchmark, CloseBenchmark, PackInputs),
    *(PublishBoard, VerifyBoard, MakeVersion, AddNote),
)
TEAM_ACTS: Acts = (ApproveTeam, RefuseTeam, AddMember, RemoveMember)
BOARD_SUBMISSION_ACTS: Acts = (NameSubmission, WithdrawSubmission)
STATEMENT_ACTS: Acts = (PassStatement, RefuseStatement)
HAND_IN_ACTS: Acts = (HandInModelRun,)
EDITION_ACTS: Acts = (ProposeEdition, ConfirmEdition, ScoreAgain)
LEADERBOARD_ACTS: Acts = (
    *(*BENCHMARK_ACTS, *TEAM_ACTS, *BOARD_SUBMISSION_ACTS, *STATEMENT_ACTS, *HAND_IN_ACTS, *EDITION_ACTS),
)
