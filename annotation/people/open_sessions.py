"""Where a person is logged in, and logging them out there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.db import transaction

from annotation.audit.recording import record
from annotation.models import User

UNKNOWN_ADDRESS = "0.0.0.0"  # noqa: S104 - of sessions that are older than this list; not listened on
BROWSERS = (("Firefox", "Firefox/"), ("Edge", "Edg/"), ("Chrome", "Chrome/"), ("Safari", "Safari/"))
SYSTEMS = (
    *(("Windows", "Windows"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android")),
    *(("macOS", "Mac OS X"), ("Linux", "Linux")),
)


@dataclass(frozen=True, slots=True)
class OpenSession:
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


def end_sessions(person: User) -> None:
    """Every browser in which the person is logged in has to log in again."""
    for session in Session.objects.iterator():
        if session.get_decoded().get("_auth_user_id") == str(person.pk):
            session.delete()
    UserSession.objects.filter(user=person).delete()


def _first_in(user_agent: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for name, mark in names if mark in user_agent), "")
