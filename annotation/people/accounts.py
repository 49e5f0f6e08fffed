"""Accounts: how they come, rest, come back, and are removed on request. None is ever deleted: reviews name them.

Where a person is logged in, and logging them out there.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from unicodedata import normalize

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from axes.utils import reset as lift_lock
from django.apps import apps
from django.conf import settings
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Count, F, Model, Prefetch, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import FINAL_STATES, AssignmentState, KeyUse, Role
from annotation.models import AccessToken, Assignment, AuditEvent, Competence, Invitation, KeptAnswer, Membership, User
from annotation.models.fields import AsRead, composed
from annotation.people.roles import check_is_not_last_administrator, grant, revoke_issued_by
from annotation.people.tokens import PeopleRefused, revoke_links, revoke_tokens
from annotation.site import home_files

UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104 - of sessions that are older than this list; not listened on
BROWSERS = (("Firefox", "Firefox/"), ("Edge", "Edg/"), ("Chrome", "Chrome/"), ("Safari", "Safari/"))
SYSTEMS = (
    *(("Windows", "Windows"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android")),
    *(("macOS", "Mac OS X"), ("Linux", "Linux")),
)


class OpenSession(Struct, frozen=True):
    pk: int
    browser: str  # empty where it does not say
    system: str
    address: str
    since: datetime
    is_current: bool


def sessions_of(person: User, current_key: str) -> list[OpenSession]:
    """Those that still work, the one that asks first. Rows of those that ended are cleared."""
    rows = UserSession.objects.purge_and_list(person)
    found = [
        OpenSession(
            pk=row.pk,
            browser=_first_in(row.user_agent, BROWSERS),
            system=_first_in(row.user_agent, SYSTEMS),
            address="" if row.ip == UNKNOWN_ADDRESS else row.ip,
            since=row.created_at,
            is_current=row.session_key == current_key,
        )
        for row in rows
    ]
    return sorted(found, key=lambda one: (not one.is_current, -one.since.timestamp()))


@transaction.atomic
def end_session(person: User, pk: int, *, at: datetime) -> bool:
    """False where the person has no such session."""
    row = UserSession.objects.filter(user=person, pk=pk).first()
    if row is None:
        return False
    row.end()
    record("session.ended", actor=person, at=at, subject=person, facts={"n": 1})
    return True


@transaction.atomic
def end_others(person: User, current_key: str, *, at: datetime) -> int:
    """How many were ended."""
    rows = list(UserSession.objects.filter(user=person).exclude(session_key=current_key))
    for row in rows:
        row.end()
    if rows:
        record("session.ended", actor=person, at=at, subject=person, facts={"n": len(rows)})
    return len(rows)


def stored_sessions(person: User) -> Iterator[Session]:
    return (one for one in Session.objects.iterator() if one.get_decoded().get("_auth_user_id") == str(person.pk))


def end_sessions(person: User) -> None:
    """Every browser in which the person is logged in has to log in again."""
    for session in stored_sessions(person):
        session.delete()
    UserSession.objects.filter(user=person).delete()


def _first_in(user_agent: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for name, mark in names if mark in user_agent), "")


MOST_COMPETENCES = 50
RESTORED = "backup.restored"


class LinkTokens(PasswordResetTokenGenerator):
    """Of password links. One that was sent before a restore works no more: it may have been used since the backup."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        last = AuditEvent.objects.filter(act=RESTORED).order_by("-pk").values_list("sha256", flat=True).first()
        return f"{super()._make_hash_value(user, timestamp)}{last or ''}"


link_tokens = LinkTokens()


@transaction.atomic
def add_person(*, email: str, name: str, time_zone: str, roles: Collection[Role], actor: User, at: datetime) -> User:
    """An account without a password: its owner sets one with a one-time link. Raises PeopleRefused."""
    advice = _("Find it on the People page.")
    person = new_account(email, None, name=name, time_zone=time_zone, advice=advice, is_confirmed=True)
    record("person.added", actor=actor, at=at, subject=person)
    for role in roles:
        grant(person, role, actor=actor, at=at)
    return person


def account_for(link: Invitation, *, email: str, name: str, password: str | None, time_zone: str) -> User:
    """The account of somebody new behind a link, in the transaction of the act that needs it. Raises PeopleRefused.

    The address of a link that has one cannot be changed: it is how the person was meant.
    """
    email = email.strip().lower()
    if link.email and link.email != email:
        raise PeopleRefused("other_address", _("The invitation is for another address."), field="email")
    advice = _("Log in with it, then open the link again.")
    return new_account(email, password, name=name, time_zone=time_zone, advice=advice, is_confirmed=bool(link.email))


def new_account(
    email: str, password: str | None, *, name: str, time_zone: str, advice: str, is_confirmed: bool
) -> User:
    """An account with its address. ``is_confirmed``: somebody else named the address, or vouches for it.

    Raises PeopleRefused where another account has the address, also in a race.
    """
    try:
        with transaction.atomic():
            person = User.objects.create_user(email, password, name=name, time_zone=time_zone)
            EmailAddress.objects.create(user=person, email=person.email, primary=True, verified=is_confirmed)
            return person
    except IntegrityError as reason:
        sentence = f"{_('There is an account with this address.')} {advice}"
        raise PeopleRefused("address_taken", sentence, field="email") from reason


@transaction.atomic
def deactivate(person: User, *, actor: User | None, at: datetime) -> None:
    """Log the person out for good and revoke their tokens and the open links that they gave out; roles and work stay.

    Doing it twice changes nothing. Raises PeopleRefused for oneself and for the last administrator.
    """
    if actor is not None and person.pk == actor.pk:
        raise PeopleRefused("own_roles", _("You cannot deactivate your own account; another administrator can."))
    check_is_not_last_administrator(person)
    if not User.objects.filter(pk=person.pk, is_active=True).update(is_active=False):
        return
    person.is_active = False
    revoke_issued_by(person, actor=actor, at=at)
    revoke_tokens(person.access_tokens.all(), actor=actor, at=at, reason="deactivated")
    end_sessions(person)
    record("person.deactivated", actor=actor, at=at, subject=person)


@transaction.atomic
def reactivate(person: User, *, actor: User, at: datetime) -> None:
    """Let the person log in again, with the roles and the password they had.

    Doing it twice changes nothing, nor does it for an account that was removed.
    """
    if not User.objects.filter(pk=person.pk, is_active=False, removed_at=None).update(is_active=True):
        return
    person.is_active = True
    record("person.reactivated", actor=actor, at=at, subject=person)


@transaction.atomic
def change_profile(
    person: User, *, name: str, time_zone: str, at: datetime, wants_digest: bool = False, keys: str = KeyUse.ALL
) -> None:
    """What people say about themselves."""
    person.name = name
    person.time_zone = time_zone
    person.wants_digest = wants_digest
    person.keys = KeyUse(keys)
    person.save(update_fields=["name", "time_zone", "wants_digest", "keys"])
    record("profile.changed", actor=person, at=at, subject=person, facts={"time_zone": time_zone})


@transaction.atomic
def set_password(person: User, password: str, *, at: datetime, kept: Sequence[str] = ()) -> None:
    """Store a password that its owner chose. Ends every other session of theirs, and their tokens but those with the
    ids ``kept``; lifts a lock after wrong tries.
    """
    person.set_password(password)
    person.save(update_fields=["password"])
    lift_lock(username=person.email)
    revoke_tokens(person.access_tokens.exclude(public_id__in=kept), actor=person, at=at, reason="password")
    record("password.set", actor=person, at=at, subject=person, facts={"kept": sorted(kept)} if kept else {})


@transaction.atomic
def issue_password_link(person: User, *, actor: User, at: datetime) -> str:
    """A link with which the person sets a password; good once, for PASSWORD_RESET_TIMEOUT.

    Recorded: who holds such a link can log in as the person.
    """
    record("password.link_issued", actor=actor, at=at, subject=person)
    return password_link(person)


def password_link(person: User) -> str:
    parts = [urlsafe_base64_encode(force_bytes(person.pk)), link_tokens.make_token(person)]
    return f"{settings.PUBLIC_URL}{reverse('password-reset-confirm', args=parts)}"


def has_account(email: str) -> bool:
    return bool(email) and User.objects.filter(email=email).exists()


def people_matching(search: str) -> QuerySet[User]:
    """People whose name or address holds every word of the search, with their roles; all for an empty search."""
    rows = User.objects.prefetch_related(
        Prefetch("memberships", Membership.objects.select_related("round").order_by("round_id", "role"))
    )
    for word in search.split():
        rows = rows.filter(Q(name__holds=word) | Q(email__holds=word))
    return rows.order_by("-is_active", AsRead("name"), "email")


class PartElsewhere(Struct, frozen=True):
    """What somebody is without a role of the site or of a round: another app knows it."""

    person_id: int
    label: str
    place: str
    url: str


def parts_of(people: Collection[int]) -> dict[int, list[PartElsewhere]]:
    """What these people are besides their roles, by their ids."""
    found: dict[int, list[PartElsewhere]] = defaultdict(list)
    for parts_in_app in contributed().person_parts:
        for part in parts_in_app(people):
            found[part.person_id].append(part)
    return dict(found)


@transaction.atomic
def set_competences(person: User, words: Sequence[str], *, actor: User, at: datetime) -> list[str]:
    """The categories and tasks that a reviewer is for, in place of those before; none: every question.

    Raises PeopleRefused for a word of more than 200 characters and for more than 50 words.
    """
    wanted: dict[str, str] = {}
    for word in words:
        text = " ".join(word.replace("\x00", "").split())
        if text:
            wanted.setdefault(text.casefold(), text)
    if len(wanted) > MOST_COMPETENCES or any(len(text) > 200 for text in wanted.values()):
        sentence = _("Name at most %(n)s categories or tasks, each of at most 200 characters.")
        raise PeopleRefused("too_long", sentence % {"n": MOST_COMPETENCES}, status=422, field="competences")
    before = list(person.competences.values_list("word", flat=True))
    if sorted(before) != sorted(wanted.values()):
        person.competences.all().delete()
        Competence.objects.bulk_create(Competence(person=person, word=text) for text in wanted.values())
        record("person.competences", actor=actor, at=at, subject=person, facts={"words": sorted(wanted.values())})
    return sorted(wanted.values())


OVER = (AssignmentState.SUBMITTED, AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
TEXTS = {"CharField", "TextField", "EmailField", "JSONField"}


@transaction.atomic
def remove_person(person: User, *, actor: User | None, at: datetime) -> None:
    """Take name, e-mail, sign-in data, roles and sessions from an account that nobody can use from then on.

    Reviews, readings, decisions and the audit log stay, under a pseudonym. ``actor`` None: the command line. Twice
    changes nothing. Raises PeopleRefused, which says what to do first.
    """
    locked = User.objects.select_for_update().get(pk=person.pk)
    if locked.removed_at is not None:
        return
    check_can_go(locked, actor=actor)
    _forget_traces(locked, actor=actor, at=at)
    for forget in contributed().forgetting:
        forget(locked)
    locked.name, locked.email = pseudonym_of(locked), f"removed-{locked.pk}@invalid"
    locked.time_zone, locked.wants_digest, locked.last_login = "UTC", False, None
    locked.is_active, locked.removed_at = False, at
    locked.set_unusable_password()
    locked.save()
    record("person.removed", actor=actor, at=at, subject=locked)


def pseudonym_of(person: User) -> str:
    """The number of the account is in every event of the log: another pseudonym would hide nothing."""
    return _("Removed person %(n)d") % {"n": person.pk}


def check_can_go(person: User, *, actor: User | None) -> None:
    """Raises PeopleRefused with all that blocks it."""
    if actor is not None and actor.pk == person.pk:
        raise PeopleRefused("own_account", _("You cannot remove your own account; another administrator can."))
    check_is_not_last_administrator(person)
    found = [
        *_open_rounds(person),
        *(sentence for rule in contributed().removal_obstacles for sentence in rule(person)),
    ]
    if found:
        raise PeopleRefused("work_under_way", " ".join(found))


def _open_rounds(person: User) -> Iterable[str]:
    waiting = Assignment.objects.filter(reviewer=person).exclude(state__in=OVER)
    waiting = waiting.exclude(round__state__in=FINAL_STATES)
    for row in waiting.order_by("round__name").values("round__name").annotate(n=Count("pk")):
        sentence = _("%(n)d questions of the round “%(name)s” wait for this person: reassign or withdraw them first.")
        yield sentence % {"n": row["n"], "name": row["round__name"]}


def _forget_traces(person: User, *, actor: User | None, at: datetime) -> None:
    revoke_issued_by(person, actor=actor, at=at)
    asked = Invitation.objects.filter(Q(email__iexact=person.email) | Q(used_by=person))
    revoke_links(asked, actor=actor, at=at)
    asked.filter(used_at=None).update(expires_at=F("created_at"))  # without an address nobody may restore them
    asked.update(email="", name="")
    person.memberships.all().delete()
    person.competences.all().delete()
    for model in (AccessAttempt, AccessFailureLog, AccessLog):
        model.objects.filter(username__iexact=person.email).delete()
    tokens = AccessToken.objects.filter(owner=person)
    revoke_tokens(tokens, actor=actor, at=at, reason="the account was removed")
    tokens.update(name="", networks=[])
    KeptAnswer.objects.filter(person=person).delete()
    end_sessions(person)
    for kind in (EmailAddress, Authenticator, SocialAccount):
        kind.objects.filter(user=person).delete()
    _delete_emails(person.email)


def _delete_emails(address: str) -> None:
    """Those that wait to be sent."""
    folder = Path(settings.TEMP_ROOT) / "letters"
    for letter in home_files.children(folder):
        with suppress(FileNotFoundError):  # it was sent meanwhile
            if json.loads(home_files.here(folder / letter.key).read_text())[-1].lower() == address:
                home_files.drop(folder / letter.key)


def places_with(*words: str) -> dict[str, int]:
    """Where these words are still in the database, by column: in what people wrote themselves, which nobody changes.

    Reads every column of text, so it takes its time on a large site.
    """
    found: dict[str, int] = {}
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if field.get_internal_type() in TEXTS and (n := _n_with(model, field.name, words)):
                found[f"{model._meta.db_table}.{field.column}"] = n
    return found


def _n_with(model: type[Model], column: str, words: Iterable[str]) -> int:
    named = Q()
    for word in filter(None, words):
        spellings = {composed(word), normalize("NFD", word)}
        in_json = (json.dumps(way(one))[1:-1] for one in spellings for way in (str, str.lower, str.upper))
        for spelled in {word, *in_json}:  # as JSON is stored by SQLite: by the numbers of its letters
            named |= Q(_text__holds=spelled)
    manager = getattr(model, "everywhere", model._default_manager)
    n: int = manager.annotate(_text=Cast(column, TextField())).filter(named).count() if named else 0
    return n
