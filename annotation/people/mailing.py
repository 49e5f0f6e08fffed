"""Letters to people, each sent by a job: no page waits for a mail server.

A letter that cannot be sent loses nothing: the link is on the page as well. What it says, links that work once among
it, waits in a file of the home and never in the database, which is copied and read by others.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.tokens import default_token_generator
from django.core.mail import send_mail
from django.db import DatabaseError
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode
from django.utils.translation import gettext as _

from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue
from annotation.models import User
from annotation.models.fields import public_id
from annotation.people.inviting import IssuedInvitation
from annotation.people.links import invitation_link
from annotation.people.throttling import Throttle

log = logging.getLogger(__name__)
LETTER, PASSWORD_LINK = "send_letter", "send_password_link"  # kinds of jobs
LINKS_OF_ACCOUNT = Throttle(5, timedelta(hours=1))
LINKS_OF_ADDRESS = Throttle(30, timedelta(hours=1))


class Letter(NamedTuple):
    subject: str
    body: str
    address: str


def can_send() -> bool:
    """Whether a mail server is configured; without one nothing is sent."""
    return bool(settings.EMAIL_HOST)


def send_invitation(issued: IssuedInvitation) -> bool:
    """Send the link to the address of the invitation. False: no address, or no mail server."""
    invitation = issued.invitation
    if not invitation.email:
        return False
    context = {"invitation": invitation, "roles": issued.invitations, "link": invitation_link(issued.token)}
    body = render_to_string("annotation/people/_invitation_mail.txt", context)
    return send_letter(_("Invitation to the reading room"), body, invitation.email)


def try_to_send(send: Callable[[], bool]) -> bool:
    """Send a letter whose link is on a page too: one that cannot be queued (False) does not take the page away."""
    try:
        return send()
    except (OSError, DatabaseError):
        log.exception("a letter with a link could not be queued: the link is on the page of who made it")
        return False


def send_password_link(person: User, uid: str, token: str) -> bool:
    """Send a link with which the person sets a password. False: no mail server."""
    letter = _password_letter(person, uid, token)
    return send_letter(letter.subject, letter.body, letter.address)


def send_letter(subject: str, body: str, address: str) -> bool:
    """Begin to send a letter of plain text. False: no mail server."""
    if not can_send():
        return False
    name = public_id()
    path = letter_file(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(json.dumps(Letter(subject, body, address)))
    title = _("E-mail: %(subject)s") % {"subject": subject[:150]}
    try:
        enqueue(LETTER, title, {"letter": name}, actor=None, at=timezone.now())
    except (DatabaseError, OSError):
        path.unlink(missing_ok=True)  # nothing would ever send it
        raise
    return True


def ask_for_password_link(email: str, *, source: str, at: datetime) -> None:
    """Send a link to the account of that address, if there is one.

    Known and unknown addresses take the same work here, whatever the job finds. ``source``: the network address that
    asks; one that asks too often, or for the same account too often, gets nothing and is not told.
    """
    if not can_send() or not LINKS_OF_ADDRESS.takes(source, at) or not LINKS_OF_ACCOUNT.takes(email, at):
        return
    person = User.objects.filter(email=email, is_active=True).values_list("pk", flat=True).first()
    enqueue(PASSWORD_LINK, _("Password link"), {"person": person}, actor=None, at=at)


def letter_file(name: str) -> Path:
    return Path(settings.TEMP_ROOT) / "letters" / name


# Handlers of the jobs


def send_kept_letter(progress: Progress, params: Params) -> Result:
    """Raises OSError and SMTPException where the mail server does not take it; then the letter is kept."""
    path = letter_file(params["letter"])
    if not path.exists():
        return {"sent": 0}  # by a run that was stopped right after it
    _send(Letter(*json.loads(path.read_text())))
    path.unlink(missing_ok=True)
    return {"sent": 1}


def send_asked_password_link(progress: Progress, params: Params) -> Result:
    """The link is made here, so that it waits nowhere."""
    person = User.objects.filter(pk=params["person"], is_active=True).first()
    if person is not None:
        uid = urlsafe_base64_encode(force_bytes(person.pk))
        _send(_password_letter(person, uid, default_token_generator.make_token(person)))
    return {}


def _send(letter: Letter) -> None:
    send_mail(letter.subject, letter.body, None, [letter.address])


def _password_letter(person: User, uid: str, token: str) -> Letter:
    context = {"user": person, "uid": uid, "token": token, "public_url": settings.PUBLIC_URL}
    body = render_to_string("annotation/people/_password_mail.txt", context)
    return Letter(_("Set your password for the reading room"), body, person.email)
