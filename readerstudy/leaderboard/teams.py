"""Teams: asked for by a submitter of models, decided about by a coordinator; their members, where a token is good, and
what they state of their models.

Whoever has seen a key of the bank, or could have, is in no team. A statement is required before a submission is named,
never changed, and shown once a coordinator has passed it. Another one is a further number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import Role
from annotation.models import BankImport, Edit, Membership, SeenKey, User
from annotation.models.people import TokenScope
from annotation.people.person_data import PersonFile
from annotation.people.tokens import TokenPlace, revoke_tokens
from annotation.site.permissions import site_roles
from readerstudy.enums import TeamState
from readerstudy.leaderboard.access import (
    MOST_REASON,
    LeaderboardRefused,
    check_is_frozen,
    lock_benchmark,
    one_line,
    teams_known_to,
)
from readerstudy.leaderboard.kernels.statement import ASKED, FORM, Problem, cleaned, problems_of
from readerstudy.models import Benchmark, Statement, Submission, Team, TeamMember
from readerstudy.predictions.entries import banks_judged

MOST_NAME, MOST_INSTITUTION, MOST_LINK = 100, 200, 500
MOST_MEMBERS = 30
MOST_ANONYMOUS = timedelta(days=366)  # 12 months


# --- who could have seen answers ------------------------------------------------------------------
def barred_because(person: User, benchmark: Benchmark) -> str:
    """Why this person is in no team, for coordinators: to others it is only said that they could have seen answers.
    Empty: they may. By what they hold and did themselves, whatever token they come with.
    """
    bank = benchmark.bank
    oversee = (Role.COORDINATOR, Role.ADMINISTRATOR)
    reasons = {
        _("%(name)s coordinates or administers this site."): Membership.objects.filter(
            user=person, role__in=oversee, round=None
        ).exists(),
        _("%(name)s has seen keys of “%(bank)s”."): SeenKey.objects.filter(person=person, question__bank=bank).exists(),
        _("%(name)s reads, reviews or adjudicates questions of “%(bank)s”, or has done so."): bank.pk
        in banks_judged(person),
        _("%(name)s imported questions of “%(bank)s”."): BankImport.objects.filter(bank=bank, actor=person).exists(),
        _("%(name)s revised questions of “%(bank)s”."): Edit.objects.filter(
            author=person, revision__bank=bank
        ).exists(),
    }
    facts = {"name": person, "bank": bank.name}
    return " ".join(sentence % facts for sentence, is_so in reasons.items() if is_so)


def reasons_against(team: Team) -> list[str]:
    reasons = (barred_because(one.user, team.benchmark) for one in team.members.all())
    return [reason for reason in reasons if reason]


def check_not_barred(person: User, benchmark: Benchmark) -> None:
    if barred_because(person, benchmark):
        sentence = _(
            "%(email)s cannot be in a team of this leaderboard: they could have seen answers to its questions."
        )
        raise LeaderboardRefused("barred", sentence % {"email": person.email}, field="email")


# --- a team ---------------------------------------------------------------------------------------
@transaction.atomic
def ask_for_team(
    benchmark: Benchmark,
    *,
    name: str,
    institution: str,
    contact: str,
    link: str = "",
    anonymous_until: date | None = None,
    actor: User,
    at: datetime,
) -> Team:
    """It waits for a coordinator; who asks is its first member. Raises LeaderboardRefused."""
    lock_benchmark(benchmark)
    check_is_frozen(benchmark)
    check_not_barred(actor, benchmark)
    if Role.MODEL_SUBMITTER not in site_roles(actor):
        sentence = _("Teams are of people who submit models: ask an administrator for that role.")
        raise LeaderboardRefused("no_role", sentence, status=403)
    if TeamMember.objects.filter(benchmark=benchmark, user=actor).exists():
        raise LeaderboardRefused("in_a_team", _("You are in a team of this leaderboard already."))
    name = one_line(name, MOST_NAME, "name", _("Give the team a name"))
    others = Team.objects.filter(benchmark=benchmark).exclude(state=TeamState.REFUSED)
    if others.filter(name__iexact=name).exists():
        sentence = _("A team of this leaderboard has this name already: choose another.")
        raise LeaderboardRefused("name_taken", sentence, status=422, field="name")
    made = Team.objects.create(
        benchmark=benchmark,
        name=name,
        institution=one_line(institution, MOST_INSTITUTION, "institution", _("Name the institution")),
        contact=contact,
        link=_checked_link(link),
        anonymous_until=_checked_day(anonymous_until, at),
        asked_by=actor,
        asked_at=at,
    )
    TeamMember.objects.create(team=made, benchmark=benchmark, user=actor, added_at=at)
    record("team.asked", actor=actor, at=at, subject=made, facts={"name": name, "leaderboard": benchmark.slug})
    return made


def _checked_link(link: str) -> str:
    if link and (not link.startswith(("http://", "https://")) or len(link) > MOST_LINK or len(link.split()) > 1):
        sentence = _("A link begins with http:// or https:// and has at most %(n)d characters.") % {"n": MOST_LINK}
        raise LeaderboardRefused("bad_link", sentence, status=422, field="link")
    return link


def _checked_day(day: date | None, at: datetime) -> date | None:
    today = at.astimezone(UTC).date()
    if day is not None and not today < day <= today + MOST_ANONYMOUS:
        sentence = _("A team is anonymous until a day within the next 12 months.")
        raise LeaderboardRefused("bad_day", sentence, status=422, field="anonymous_until")
    return day


@transaction.atomic
def approve_team(team: Team, *, actor: User, at: datetime) -> Team:
    """It may send submissions. Refused with the reasons where a member could have seen answers by now."""
    _lock_asked(team)
    if reasons := reasons_against(team):
        raise LeaderboardRefused("barred", " ".join(reasons))
    _decide(team, TeamState.APPROVED, actor, at)
    record("team.approved", actor=actor, at=at, subject=team, facts={"name": team.name})
    return team


@transaction.atomic
def refuse_team(team: Team, reason: str, *, actor: User, at: datetime) -> Team:
    """Who asked reads the reason; its members may be in another team."""
    _lock_asked(team)
    team.refused_because = one_line(reason, MOST_REASON, "reason", _("Say why the team is refused"))
    _decide(team, TeamState.REFUSED, actor, at)
    team.members.all().delete()
    record("team.refused", actor=actor, at=at, subject=team, facts={"name": team.name, "reason": team.refused_because})
    return team


def _decide(team: Team, state: TeamState, actor: User, at: datetime) -> None:
    team.state, team.decided_by, team.decided_at = state, actor, at
    team.save(update_fields=["state", "decided_by", "decided_at", "refused_because"])


def _lock_asked(team: Team) -> None:
    lock_benchmark(team.benchmark)
    team.refresh_from_db(fields=["state"])
    if team.state != TeamState.ASKED:
        sentence = _("“%(name)s” is %(state)s already.") % {"name": team.name, "state": team.get_state_display()}
        raise LeaderboardRefused("decided", sentence)


@transaction.atomic
def add_member(team: Team, email: str, *, actor: User, at: datetime) -> TeamMember:
    """By the address of an account for submitting models. Raises LeaderboardRefused: with the same words whether there
    is no such account, or it has another role or team.
    """
    lock_benchmark(team.benchmark)
    person = User.objects.filter(email=email.strip().lower(), is_active=True).first()
    is_taken = TeamMember.objects.filter(benchmark=team.benchmark, user=person).exists()
    if person is None or is_taken or Role.MODEL_SUBMITTER not in site_roles(person):
        sentence = _("Nobody who submits models here and is in no team of this leaderboard has the address %(email)s.")
        raise LeaderboardRefused("no_such_person", sentence % {"email": email[:254]}, status=422, field="email")
    check_not_barred(person, team.benchmark)
    if team.members.count() >= MOST_MEMBERS:
        sentence = _("A team has at most %(n)d members.") % {"n": MOST_MEMBERS}
        raise LeaderboardRefused("too_many", sentence, field="email")
    made = TeamMember.objects.create(team=team, benchmark=team.benchmark, user=person, added_at=at)
    record("team.member_added", actor=actor, at=at, subject=team, facts={"member": person.pk})
    return made


@transaction.atomic
def remove_member(team: Team, email: str, *, actor: User, at: datetime) -> None:
    """Their tokens for the team end. Refused for the last member."""
    lock_benchmark(team.benchmark)
    member = team.members.select_related("user").filter(user__email=email.strip().lower()).first()
    if member is None:
        sentence = _("Nobody with the address %(email)s is in this team.") % {"email": email[:254]}
        raise LeaderboardRefused("no_member", sentence, status=422, field="email")
    if team.members.count() == 1:
        raise LeaderboardRefused("last_member", _("The last member stays: add somebody else first."))
    tokens = member.user.access_tokens.filter(scope=TokenScope.TEAM, place_id=team.pk)
    revoke_tokens(tokens, actor=actor, at=at, reason="team")
    member.delete()
    record("team.member_removed", actor=actor, at=at, subject=team, facts={"member": member.user_id})


def refused_team(person: User, benchmark: Benchmark) -> Team | None:
    """The last one that was refused to this person, who is in none."""
    asked = Team.objects.filter(benchmark=benchmark, asked_by=person, state=TeamState.REFUSED)
    return asked.order_by("-decided_at").first()


# --- what other rooms know of teams ---------------------------------------------------------------
def token_places(person: User, pk: int | None) -> Iterator[TokenPlace]:
    """The approved teams of the person, or the team of this id: for tokens that are good for one team."""
    mine = set(TeamMember.objects.filter(user=person).values_list("team", flat=True))
    rows = Team.objects.select_related("benchmark").order_by("benchmark", "name")
    for team in rows.filter(pk__in=mine) if pk is None else rows.filter(pk=pk):
        is_good = team.pk in mine and team.state == TeamState.APPROVED
        roles = site_roles(person) & {Role.MODEL_SUBMITTER} if is_good else frozenset()
        if is_good or pk is not None:
            name = f"{team.name}, {team.benchmark.name}"[:200]
            yield TokenPlace(TokenScope.TEAM, team.pk, name, team.public_id, roles)


def data_of_member(person: User) -> Iterator[PersonFile]:
    """The teams of a person, for whoever asks what is kept about them."""
    columns = ("team__benchmark__slug", "team__name", "team__institution", "team__contact", "added_at")
    rows = TeamMember.objects.filter(user=person).order_by("pk").values(*columns)
    yield PersonFile("teams.csv", "teams of leaderboards", columns, rows.iterator())


def statements_known_to(person: User, benchmark: Benchmark) -> QuerySet[Statement]:
    """The newest first."""
    rows = Statement.objects.select_related("team__benchmark", "made_by", "passed_by")
    return rows.filter(team__in=teams_known_to(person).filter(benchmark=benchmark)).order_by("-made_at", "-pk")


def lock_team(team: Team) -> Team:
    """As it is now, until the transaction ends. Refused unless it is approved and its benchmark takes submissions."""
    locked = Team.objects.select_for_update(of=("self",)).select_related("benchmark").get(pk=team.pk)
    check_is_frozen(locked.benchmark)
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
    found.refused_because = one_line(reason, MOST_REASON, "reason", _("Say why the statement is refused"))
    found.save(update_fields=["refused_because"])
    record("statement.refused", actor=actor, at=at, subject=found, facts={"reason": found.refused_because})
    return found


def _lock_undecided(statement: Statement, *, is_passed: bool) -> Statement:
    found = Statement.objects.select_for_update(of=("self",)).select_related("team").get(pk=statement.pk)
    if found.refused_because or (found.passed_at is not None and not is_passed):
        sentence = _("Statement %(n)d of “%(team)s” was decided about: the team can write another one.")
        raise LeaderboardRefused("decided", sentence % {"n": found.number, "team": found.team.name})
    return found
