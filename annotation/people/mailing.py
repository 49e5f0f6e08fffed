"""E-mails to people, each sent by a job, and whether an address is its owner's.

An e-mail that cannot be sent loses nothing: the link is on the page as well. What it says, links that work once among
it, waits in a file of the home, or of the bucket, and never in the database, which is copied and read by others.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple, TypedDict

from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.conf import settings
from django.core.mail import send_mail
from django.db import DatabaseError, transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import JobQueue
from annotation.jobs.queueing import SOON, JobKind, Progress, Result, enqueue
from annotation.models import User
from annotation.models.fields import public_id
from annotation.people.accounts import password_link
from annotation.people.invitations import IssuedInvitation, kind_of
from annotation.site import home_files
from annotation.site.counting import Throttle

log = logging.getLogger(__name__)


class EmailParams(TypedDict):
    letter: str  # the name of its file


class PasswordLinkParams(TypedDict):
    person: int | None


EMAIL: JobKind[EmailParams] = JobKind("send_letter", JobQueue.MAIL)
PASSWORD_LINK: JobKind[PasswordLinkParams] = JobKind("send_password_link", JobQueue.MAIL, SOON)
LINKS_OF_ACCOUNT = Throttle("links of account", 5, timedelta(hours=1))
LINKS_OF_ADDRESS = Throttle("links of address", 30, timedelta(hours=1))


class Email(NamedTuple):
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
    mail = kind_of(invitation).mail(issued.invitations)
    body = render_to_string(mail.template, {**mail.context, "invitation": invitation, "link": issued.link})
    return send_email(mail.subject, body, invitation.email)


def try_to_send(send: Callable[[], bool]) -> bool:
    """Send an e-mail whose link is on a page too: one that cannot be queued (False) does not take the page away."""
    try:
        return send()
    except (OSError, DatabaseError):
        log.exception("an e-mail with a link could not be queued: the link is on the page of who made it")
        return False


def send_password_link(person: User, link: str) -> bool:
    """Send a link with which the person sets a password. False: no mail server."""
    return send_email(*_password_email(person, link))


def send_email(subject: str, body: str, address: str) -> bool:
    """Begin to send an e-mail of plain text. False: no mail server."""
    if not can_send():
        return False
    name = public_id()
    path = email_file(name)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(json.dumps(Email(subject, body, address)))
    title = _("E-mail: %(subject)s") % {"subject": subject[:150]}
    try:
        home_files.hand_over(path)
        enqueue(EMAIL, title, EmailParams(letter=name), actor=None, at=timezone.now())
    except (DatabaseError, OSError):
        home_files.drop(path)  # nothing would ever send it
        raise
    return True


def ask_for_password_link(email: str, *, source: str, at: datetime) -> None:
    """Send a link to the account of that address, if there is one.

    Known and unknown addresses take the same work here, whatever the job finds. ``source``: the network address that
    asks; one that asks too often, or for the same account too often, gets nothing and is not informed.
    """
    if not can_send() or not LINKS_OF_ADDRESS.takes(source, at) or not LINKS_OF_ACCOUNT.takes(email, at):
        return
    person = User.objects.filter(email=email, is_active=True).values_list("pk", flat=True).first()
    enqueue(PASSWORD_LINK, _("Password link"), PasswordLinkParams(person=person), actor=None, at=at)


def email_file(name: str) -> Path:
    return Path(settings.TEMP_ROOT) / "letters" / name


# Handlers of the jobs


def send_stored_email(progress: Progress, params: EmailParams) -> Result:
    """Raises OSError and SMTPException where the mail server does not take it; then the file stays."""
    path = home_files.here(email_file(params["letter"]))
    if not path.exists():
        return {"sent": 0}  # by a run that was stopped right after it
    _send(Email(*json.loads(path.read_text())))
    home_files.drop(email_file(params["letter"]))
    return {"sent": 1}


def send_requested_password_link(progress: Progress, params: PasswordLinkParams) -> Result:
    """The link is made here, so that it waits nowhere."""
    pk = params["person"]
    person = User.objects.filter(pk=pk, is_active=True).first() if pk else None
    if person is not None:
        _send(_password_email(person, password_link(person)))
    return {}


def _send(email: Email) -> None:
    send_mail(email.subject, email.body, None, [email.address])


def _password_email(person: User, link: str) -> Email:
    body = render_to_string("annotation/people/_password_mail.txt", {"user": person, "link": link})
    return Email(_("Set your password for the reading room"), body, person.email)


CONFIRMED = "email.confirmed"


def is_confirmed(person: User) -> bool:
    return EmailAddress.objects.filter(user=person, email=person.email, verified=True).exists()


def ask_for_confirmation(person: User, *, source: str, at: datetime) -> bool:
    """Send a link that confirms the address. False: no mail server, confirmed already, or asked for too often."""
    if not can_send() or is_confirmed(person):
        return False
    if not LINKS_OF_ADDRESS.takes(source, at) or not LINKS_OF_ACCOUNT.takes(person.email, at):
        return False
    address, _new = EmailAddress.objects.get_or_create(user=person, email=person.email, defaults={"primary": True})
    link = f"{settings.PUBLIC_URL}{reverse('email-confirm', args=[EmailConfirmationHMAC(address).key])}"
    body = render_to_string("annotation/people/_confirmation_mail.txt", {"user": person, "link": link})
    return send_email(_("Confirm your address for the reading room"), body, person.email)


@transaction.atomic
def confirm(person: User, key: str, *, at: datetime) -> bool:
    """Whether the address of the person is confirmed by the key of a link, which works for three days.

    Only its owner confirms it: somebody who gave another's address to an account needs what was sent there.
    """
    found = EmailConfirmationHMAC.from_key(key)
    if found is None:
        return False
    address = EmailAddress.objects.filter(pk=found.email_address.pk, user=person, email=person.email).first()
    if address is None or not address.set_verified():
        return False
    record(CONFIRMED, actor=person, at=at, subject=person)
    return True
