"""What the site holds about a person, for them to keep: one ZIP of JSON and CSV with a README.

It holds what they did and wrote, and nothing hidden from them: no key, no answer of a model, nobody else's work.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from axes.models import AccessAttempt, AccessLog
from django.db import transaction
from django.utils import translation
from msgspec import Struct

from annotation.audit.acts_in_words import act_in_words
from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.files.kernels.cells import neutralised
from annotation.models import (
    AccessToken,
    Assignment,
    AuditEvent,
    BlindAnswer,
    Invitation,
    Mention,
    QuestionComment,
    Review,
    User,
)
from annotation.people.accounts import stored_sessions

Row = Mapping[str, Any]


class PersonFile(Struct, frozen=True):
    """A table of the ZIP: its name, what a row is, and the rows."""

    name: str
    about: str
    columns: Sequence[str]
    rows: Iterable[Row]


@transaction.atomic
def export_person(person: User, file: IO[bytes], *, actor: User | None, at: datetime) -> None:
    """Write the ZIP and note who took it; ``actor`` None: the command line."""
    record("person.exported", actor=actor, at=at, subject=person)
    with translation.override("en"), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:

        def write(name: str, text: str) -> None:
            packed.writestr(zipfile.ZipInfo(name, at.timetuple()[:6]), text, zipfile.ZIP_DEFLATED)

        write("account.json", json.dumps(_account(person), ensure_ascii=False, indent=1))
        listed = ["account.json: the account"]
        for table in _tables(person):
            write(table.name, _csv(table))
            listed.append(f"{table.name}: {table.about}")
        write("README.txt", _readme(person, listed, at))
    file.seek(0)


def _tables(person: User) -> Iterator[PersonFile]:
    yield from _own_tables(person)
    for tables_of in contributed().person_tables:
        yield from tables_of(person)


def _account(person: User) -> dict[str, Any]:
    roles = person.memberships.select_related("round").order_by("pk")
    return {
        "number": person.pk,
        "name": person.name,
        "email": person.email,
        "time_zone": person.time_zone,
        "may_log_in": person.is_active,
        "daily_email": person.wants_digest,
        "keys": person.keys,
        "created_at": _text(person.created_at),
        "last_login": _text(person.last_login),
        "removed_at": _text(person.removed_at),
        "roles": [
            {"role": one.role, "round": one.round.slug if one.round else None, "given_at": _text(one.granted_at)}
            for one in roles
        ],
        "competences": list(person.competences.values_list("word", flat=True)),
        "sessions": [_text(one.expire_date) for one in stored_sessions(person)],
    }


def _own_tables(person: User) -> Iterator[PersonFile]:
    """The own work by round and place, not by question: what is hidden of a question stays so."""
    own = Assignment.objects.filter(reviewer=person)
    yield _table("assignments.csv", "what was given to review", own, "public_id", "round__slug", "position", "state",
                 "opened_at", "skipped_at", "skip_reason", "returned_because")  # fmt: skip
    answers = BlindAnswer.objects.filter(assignment__reviewer=person)
    yield _table("blind_answers.csv", "answers before the key was shown", answers, "assignment__public_id", "best",
                 "defensible", "difficulty", "active_ms", "answered_at")  # fmt: skip
    reviews = Review.objects.filter(assignment__reviewer=person)
    yield _table("reviews.csv", "reviews, each version", reviews, "assignment__public_id", "version", "grades",
                 "flags", "verdict", "verdict_reason", "reasoning", "comment", "submitted_at")  # fmt: skip
    comments = QuestionComment.objects.filter(author=person)
    yield _table("comments.csv", "comments on questions", comments, "public_id", "at", "text")
    yield _table(
        "mentions.csv", "comments that name the person", Mention.objects.filter(person=person), "comment__public_id"
    )
    asked = Invitation.objects.filter(used_by=person)
    yield _table("invitations.csv", "links that the person used", asked, "kind", "role", "email", "name",
                 "used_at")  # fmt: skip
    factors = Authenticator.objects.filter(user=person)
    yield _table("second_factors.csv", "second factors, without their secrets", factors, "type", "created_at",
                 "last_used_at")  # fmt: skip
    came = SocialAccount.objects.filter(user=person)
    yield _table("providers.csv", "accounts by which the person logs in elsewhere", came, "provider", "uid",
                 "date_joined", "last_login")  # fmt: skip
    sessions = UserSession.objects.filter(user=person)
    yield _table("sessions.csv", "where the person is logged in", sessions, "created_at", "last_seen_at", "ip",
                 "user_agent")  # fmt: skip
    tokens = AccessToken.objects.filter(owner=person)
    yield _table("tokens.csv", "access tokens, without what opens them", tokens, "public_id", "name", "role", "scope",
                 "place_name", "created_at", "expires_at", "last_used_at", "revoked_at")  # fmt: skip
    logins = AccessLog.objects.filter(username__iexact=person.email)
    yield _table("logins.csv", "log-ins", logins, "attempt_time", "ip_address", "user_agent", "logout_time")
    failed = AccessAttempt.objects.filter(username__iexact=person.email)
    yield _table("failed_logins.csv", "wrong passwords", failed, "attempt_time", "ip_address", "user_agent")
    yield PersonFile(
        "acts.csv", "what the audit log holds of what the person did", ("at", "act", "words"), _acts(person)
    )


def _acts(person: User) -> Iterator[Row]:
    rows = AuditEvent.objects.filter(actor=person).order_by("pk").values_list("at", "act")
    for at, act in rows.iterator():
        yield {"at": at, "act": act, "words": act_in_words(act)}


def _table(name: str, about: str, rows: Any, *columns: str) -> PersonFile:
    return PersonFile(name, about, columns, rows.order_by("pk").values(*columns).iterator())


def _csv(table: PersonFile) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(table.columns)
    for row in table.rows:
        writer.writerow([_cell(row[column]) for column in table.columns])
    return text.getvalue()


def _cell(value: Any) -> str:
    if isinstance(value, list | dict):
        value = json.dumps(value, ensure_ascii=False)
    return neutralised(_text(value) or "" if isinstance(value, datetime) else "" if value is None else str(value))


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None


def _readme(person: User, listed: Sequence[str], at: datetime) -> str:
    lines = [
        f"What the reading room holds about {person.name} ({person.email}), on {at:%Y-%m-%d %H:%M} UTC.",
        "",
        *listed,
        "",
        "Tables are CSV in UTF-8, times UTC. Not in here: the password, stored as a hash that nobody can read;",
        "keys, answers of models and the work of others, which are hidden while a round or a study is under way; and",
        "what others wrote about the person in free text.",
    ]
    return "\n".join(lines) + "\n"
