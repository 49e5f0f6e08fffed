"""Letters to people. A letter that cannot be sent loses nothing: the link is on the page as well."""

from __future__ import annotations

import logging
from smtplib import SMTPException

from django.conf import settings
from django.core.mail import send_mail
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation.models import User
from annotation.people.inviting import IssuedInvitation
from annotation.people.links import invitation_link

log = logging.getLogger(__name__)


def can_send() -> bool:
    """Whether a mail server is configured; without one letters only appear in the log of the server."""
    return bool(settings.EMAIL_HOST)


def send_invitation(issued: IssuedInvitation) -> bool:
    """Send the link to the address of the invitation. False: no address, no mail server, or it refused."""
    invitation = issued.invitation
    if not invitation.email:
        return False
    context = {"invitation": invitation, "link": invitation_link(issued.token)}
    body = render_to_string("annotation/people/_invitation_mail.txt", context)
    return send_letter(_("Invitation to the reading room"), body, invitation.email)


def send_password_link(person: User, uid: str, token: str) -> bool:
    """Send a link with which the person sets a password. False: no mail server, or it refused."""
    context = {"user": person, "uid": uid, "token": token, "public_url": settings.PUBLIC_URL}
    body = render_to_string("annotation/people/_password_mail.txt", context)
    return send_letter(_("Set your password for the reading room"), body, person.email)


def send_letter(subject: str, body: str, address: str) -> bool:
    """Send a letter of plain text. False: no mail server, or it refused."""
    if not can_send():
        return False
    try:
        send_mail(subject, body, None, [address])
    except (SMTPException, OSError) as reason:
        log.warning("a letter could not be sent: %s", type(reason).__name__)
        return False
    return True
