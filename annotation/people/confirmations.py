"""Whether an address is its owner's: named by somebody who invited them, or confirmed by a link that was sent there."""

from __future__ import annotations

from datetime import datetime

from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from django.conf import settings
from django.db import transaction
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import User
from annotation.people import mailing

CONFIRMED = "email.confirmed"


def is_confirmed(person: User) -> bool:
    return EmailAddress.objects.filter(user=person, email=person.email, verified=True).exists()


def ask_for_confirmation(person: User, *, source: str, at: datetime) -> bool:
    """Send a link that confirms the address. False: no mail server, confirmed already, or asked for too often."""
    if not mailing.can_send() or is_confirmed(person):
        return False
    if not mailing.LINKS_OF_ADDRESS.takes(source, at) or not mailing.LINKS_OF_ACCOUNT.takes(person.email, at):
        return False
    address, _new = EmailAddress.objects.get_or_create(user=person, email=person.email, defaults={"primary": True})
    link = f"{settings.PUBLIC_URL}{reverse('email-confirm', args=[EmailConfirmationHMAC(address).key])}"
    body = render_to_string("annotation/people/_confirmation_mail.txt", {"user": person, "link": link})
    return mailing.send_email(_("Confirm your address for the reading room"), body, person.email)


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
