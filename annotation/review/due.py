"""When the reviews of a round are due, who is behind, and letters that remind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import RoundState
from annotation.models import AuditEvent, ReviewRound, User
from annotation.people.mailing import can_send, send_email
from annotation.review.assigning import RoundRefused, lock_round
from annotation.review.reviewer_progress import Lag, ReviewerProgress, standings
from annotation.site.zones import time_text

REMINDED = "reviewer.reminded"
NOT_AGAIN_FOR = timedelta(days=1)


@dataclass(frozen=True)
class Reminded:
    """Who got a letter, and who had one within a day."""

    sent: list[User]
    too_soon: list[User]


@transaction.atomic
def set_due(review_round: ReviewRound, due_at: datetime | None, *, actor: User, at: datetime) -> bool:
    """Say until when the reviews are to be in, None: no longer; False where nothing is new. Nothing ends by itself.

    Raises RoundRefused for a round that is closed, and for a moment that is past.
    """
    lock_round(review_round)
    if review_round.due_at == due_at:
        return False
    if review_round.state == RoundState.CLOSED:
        raise RoundRefused(_("The round is closed: its due date stays as it is."))
    if due_at is not None and due_at <= at:
        raise RoundRefused(_("This moment is past. Choose a later one."), "due_at")
    before, review_round.due_at = review_round.due_at, due_at
    review_round.save(update_fields=["due_at"])
    facts = {"before": before.isoformat() if before else None, "after": due_at.isoformat() if due_at else None}
    record("round.due_changed", actor=actor, at=at, subject=review_round, facts=facts)
    return True


def n_expected(n_all: int, opened_at: datetime, due_at: datetime, at: datetime) -> int:
    """How many reviews are in when somebody works evenly from opening to due date; whole ones."""
    if at >= due_at:
        return n_all
    return max(0, int(n_all * ((at - opened_at) / (due_at - opened_at))))


def with_lags(progress: Iterable[ReviewerProgress], review_round: ReviewRound, at: datetime) -> list[ReviewerProgress]:
    """The same people, with who is behind or overdue. Nobody is in a round that is not open or has no due date."""
    opened_at, due_at = review_round.opened_at, review_round.due_at
    if review_round.state != RoundState.OPEN or opened_at is None or due_at is None:
        return list(progress)
    return [replace(one, lag=_lag(one, opened_at, due_at, at)) for one in progress]


def not_done(progress: Iterable[ReviewerProgress]) -> list[ReviewerProgress]:
    """Reviewers of the round who may log in and have questions left."""
    return [one for one in progress if one.n_to_do and one.person.is_active and not one.has_left]


@transaction.atomic
def remind_reviewers(review_round: ReviewRound, *, actor: User, at: datetime) -> Reminded:
    """A letter to everybody who is not done and had none within a day; each is noted.

    Raises RoundRefused unless the round is open, and without a mail server.
    """
    lock_round(review_round)
    if review_round.state != RoundState.OPEN:
        raise RoundRefused(_("Only reviewers of an open round are reminded."))
    waiting = not_done(standings(review_round))
    if not can_send():
        addresses = ", ".join(one.person.email for one in waiting)
        raise RoundRefused(
            _("No e-mail was sent: no mail server is configured. Write to: %(addresses)s.") % {"addresses": addresses}
            if waiting
            else _("Everybody is done: there is nobody to remind.")
        )
    lately = _reminded_lately(review_round, [one.person for one in waiting], at)
    reminded = Reminded([], [])
    for one in waiting:
        if one.person.pk in lately:
            reminded.too_soon.append(one.person)
            continue
        record(REMINDED, actor=actor, at=at, subject=one.person, facts={"round": review_round.slug})
        _send(review_round, one)
        reminded.sent.append(one.person)
    return reminded


def due_text(review_round: ReviewRound, person: User) -> str:
    """The due date in the zone of this person, which is named; empty without one."""
    return time_text(review_round.due_at, person.time_zone) if review_round.due_at else ""


def _lag(one: ReviewerProgress, opened_at: datetime, due_at: datetime, at: datetime) -> Lag | None:
    if not one.n_to_do or one.has_left:
        return None
    expected = n_expected(one.n_submitted + one.n_to_do, opened_at, due_at, at)
    return Lag(expected, at >= due_at) if one.n_submitted < expected else None


def _reminded_lately(review_round: ReviewRound, people: Sequence[User], at: datetime) -> set[int]:
    events = AuditEvent.objects.filter(
        act=REMINDED,
        subject_type="user",
        subject_id__in=[str(person.pk) for person in people],
        at__gt=at - NOT_AGAIN_FOR,
    )
    return {int(pk) for pk, facts in events.values_list("subject_id", "facts") if facts["round"] == review_round.slug}


def _send(review_round: ReviewRound, one: ReviewerProgress) -> None:
    context = {
        "round": review_round,
        "n": one.n_to_do,
        "due": due_text(review_round, one.person),
        "link": f"{settings.PUBLIC_URL}{reverse('review-worklist', args=[review_round.slug])}",
    }
    body = render_to_string("annotation/rounds/_reminder_mail.txt", context)
    name = " ".join(review_round.name.split())
    send_email(_("Reminder: “%(round)s”") % {"round": name}, body, one.person.email)
