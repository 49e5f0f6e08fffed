"""The statement of a team on its model: required before a submission is named, never changed, and shown once a
coordinator has passed it. Another one is a further number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from readerstudy.enums import TeamState
from readerstudy.leaderboard.access import LeaderboardRefused, check_takes_submissions, one_line, teams_known_to
from readerstudy.leaderboard.kernels.statement import ASKED, FORM, Problem, cleaned, problems_of
from readerstudy.models import Benchmark, Statement, Submission, Team

MOST_REASON = 1_000


def statements_known_to(person: User, benchmark: Benchmark) -> QuerySet[Statement]:
    """The newest first."""
    rows = Statement.objects.select_related("team__benchmark", "made_by", "passed_by")
    return rows.filter(team__in=teams_known_to(person).filter(benchmark=benchmark)).order_by("-made_at", "-pk")


def lock_team(team: Team) -> Team:
    """As it is now, until the transaction ends. Refused unless it is approved and its benchmark takes submissions."""
    locked = Team.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=team.pk)
    check_takes_submissions(locked.benchmark)
    if locked.state != TeamState.APPROVED:
        sentence = _("The team “%(name)s” is not approved: a coordinator decides about it first.")
        raise LeaderboardRefused("not_approved", sentence % {"name": locked.name})
    return locked


@transaction.atomic
def add_statement(team: Team, answers: Mapping[str, object], *, actor: User | None, at: datetime) -> Statement:
    """Keep it as the next number; the same as the newest is that one.

    A submission whose statement was refused has this one from now on. Refused with what is wrong in each line.
    """
    if problems := problems_of(answers):
        raise _unanswered(problems)
    team, said = lock_team(team), cleaned(answers)
    newest = team.statements.order_by("-number").first()
    if newest is not None and (newest.form, newest.answers) == (FORM, said) and not newest.refused_because:
        return newest
    number = newest.number + 1 if newest else 1
    made = Statement.objects.create(team=team, number=number, form=FORM, answers=said, made_by=actor, made_at=at)
    open_ones = Submission.objects.filter(team=team).exclude(entries__edition__published_at__isnull=False)
    open_ones.exclude(statement__refused_because="").filter(statement__isnull=False).update(statement=made)
    record("statement.added", actor=actor, at=at, subject=made, facts={"team": team.public_id, "number": number})
    return made


def _unanswered(problems: list[Problem]) -> LeaderboardRefused:
    first, faults = problems[0], [Problem(one.field, _(one.message)) for one in problems]
    label = _(ASKED[first.field].label) if first.field in ASKED else first.field
    sentence = _("Lines of the statement to be answered otherwise: %(n)d. The first is “%(label)s”: %(message)s")
    facts = {"n": len(problems), "label": label, "message": _(first.message)}
    return LeaderboardRefused("unanswered", sentence % facts, status=422, faults=faults)


@transaction.atomic
def pass_statement(statement: Statement, *, actor: User, at: datetime) -> Statement:
    """It shows from now on. Twice changes nothing."""
    found = _lock_undecided(statement, is_passed=True)
    if found.passed_at is None:
        found.passed_by, found.passed_at = actor, at
        found.save(update_fields=["passed_by", "passed_at"])
        record("statement.passed", actor=actor, at=at, subject=found)
    return found


@transaction.atomic
def refuse_statement(statement: Statement, reason: str, *, actor: User, at: datetime) -> Statement:
    """It never shows, and the team reads why. Refused for one that was passed: what shows does not change."""
    found = _lock_undecided(statement, is_passed=False)
    found.refused_because = reason = one_line(reason, MOST_REASON, "reason", _("Say why the statement is refused"))
    found.save(update_fields=["refused_because"])
    record("statement.refused", actor=actor, at=at, subject=found, facts={"reason": reason})
    return found


def _lock_undecided(statement: Statement, *, is_passed: bool) -> Statement:
    found = Statement.objects.select_for_update(of=("self",)).select_related("team").get(pk=statement.pk)
    if found.refused_because or (found.passed_at is not None and not is_passed):
        sentence = _("Statement %(n)d of “%(team)s” was decided about: the team can write another one.")
        raise LeaderboardRefused("decided", sentence % {"n": found.number, "team": found.team.name})
    return found
