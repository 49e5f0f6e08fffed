"""Somebody leaves: the account is removed on request, and what they did stays under a pseudonym."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django.apps import apps
from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Model, Q, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.contributions import contributed
from annotation.enums import FINAL_STATES, AssignmentState
from annotation.models import AccessToken, Assignment, Invitation, KeptAnswer, User
from annotation.people.accounts import end_sessions
from annotation.people.links import PeopleRefused, revoke_links
from annotation.people.roles import check_is_not_last_administrator, revoke_issued_by
from annotation.people.tokens import revoke_tokens

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
    for path in (Path(settings.TEMP_ROOT) / "letters").glob("*"):
        if json.loads(path.read_text())[-1].lower() == address:
            path.unlink(missing_ok=True)


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
        for spelled in {word, json.dumps(word)[1:-1]}:  # as JSON is stored by SQLite
            named |= Q(_text__icontains=spelled)
    manager = getattr(model, "everywhere", model._default_manager)
    n: int = manager.annotate(_text=Cast(column, TextField())).filter(named).count() if named else 0
    return n
