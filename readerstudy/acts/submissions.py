"""What teams do with their submissions, and coordinators with statements and with runs for a team."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act
from annotation.acts.banks import COORDINATORS
from annotation.models import User
from readerstudy.acts.models import ModelRunAct
from readerstudy.forms.studies import ReasonForm
from readerstudy.forms.submissions import HandInForm, NameSubmissionForm
from readerstudy.leaderboard.access import LeaderboardRefused, known_benchmark, own_team, runs_leaderboards
from readerstudy.leaderboard.running import hand_in
from readerstudy.leaderboard.statements import pass_statement, refuse_statement, statements_known_to
from readerstudy.leaderboard.submissions import name_for_edition, submissions_known_to, withdraw_submission
from readerstudy.models import Statement, Submission


def known_submission(person: User, slug: str, public_id: str) -> Submission:
    """Raises Http404: to who is neither in the team nor looks on it does not exist."""
    return get_object_or_404(submissions_known_to(person, known_benchmark(person, slug)), public_id=public_id)


def known_statement(person: User, slug: str, public_id: str) -> Statement:
    return get_object_or_404(statements_known_to(person, known_benchmark(person, slug)), public_id=public_id)


def is_of_team(person: User, submission: Submission) -> bool:
    return own_team(person, submission.team.benchmark) == submission.team


class SubmissionAct(Act[Submission]):
    found_by = ("slug", "public_id")

    @classmethod
    def find(cls, person: User, **named: Any) -> Submission:
        found = known_submission(person, named["slug"], named["public_id"])
        if not cls.may(person, found):
            raise PermissionDenied(_("This is for the members of the team."))
        return found

    @classmethod
    def may(cls, person: User, submission: Submission) -> bool:
        return is_of_team(person, submission)

    def page(self) -> str:
        return reverse("leaderboard-submission", args=[self.thing.team.benchmark.slug, self.thing.public_id])


class NameSubmission(SubmissionAct):
    """The team wants it scored in this edition, in place of what it named before. Until the end of its date, in UTC."""

    name, route, summary = "leaderboard-submission-name", "name/", "Name a submission for an edition"
    do, form = name_for_edition, NameSubmissionForm
    misread = gettext_lazy("Choose an edition.")

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        team = self.thing.team
        edition = team.benchmark.editions.filter(number=data["edition"]).first()
        if edition is None:
            sentence = _("There is no edition %(n)d.") % {"n": data["edition"]}
            raise LeaderboardRefused("no_edition", sentence, status=422, field="edition")
        if data["statement"] is None:
            return {"edition": edition}
        statement = team.statements.filter(number=data["statement"]).first()
        if statement is None:
            sentence = _("The team has no statement %(n)d.") % {"n": data["statement"]}
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
    done = gettext_lazy("The submission is withdrawn.")

    @classmethod
    def may(cls, person: User, submission: Submission) -> bool:
        return is_of_team(person, submission) or runs_leaderboards(person)


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
        self.sent = HandInForm(self.thing, sent)
        return self.sent

    def arguments(self, data: dict[str, Any]) -> dict[str, Any]:
        return {"team": self.sent.teams[data["team"]], "way": data["way"]}

    def says(self, arguments: dict[str, Any], result: Any) -> str:
        return _("Handed in for %(team)s as submission %(n)d.") % {"team": arguments["team"], "n": result.number}


BOARD_SUBMISSION_ACTS: tuple[type[SubmissionAct], ...] = (NameSubmission, WithdrawSubmission)
STATEMENT_ACTS: tuple[type[StatementAct], ...] = (PassStatement, RefuseStatement)
HAND_IN_ACTS: tuple[type[HandInModelRun], ...] = (HandInModelRun,)
