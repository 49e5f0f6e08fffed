"""E-mails to readers. One that cannot be sent loses nothing: what it says is on a page as well."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.models import Invitation
from annotation.people.invitations import InvitationMail
from annotation.people.mailing import send_email
from annotation.site.zones import time_text
from readerstudy.enrolment.participation import asks_consent, consent_copy
from readerstudy.models import Enrolment
from readerstudy.study.deadlines import deadline_text, study_deadline_text


def invitation_mail(invitation: Invitation) -> InvitationMail:
    study = invitation.to_study.study
    context = {
        "study": study,
        "asks_consent": asks_consent(study),
        "deadline": study_deadline_text(study),
        "until": time_text(invitation.expires_at, study.time_zone),
    }
    subject = _("Invitation to read in “%(study)s”") % {"study": _one_line(study.name)}
    return InvitationMail(subject, "readerstudy/enrolment/_invitation_mail.txt", context)


def send_consent_copy(enrolment: Enrolment) -> bool:
    """Send the reader a copy of what they agreed to."""
    if enrolment.reader is None:
        return False
    subject = _("Your consent to “%(study)s”") % {"study": _one_line(enrolment.study.name)}
    return send_email(subject, consent_copy(enrolment), enrolment.reader.email)


def send_reminder(enrolment: Enrolment, *, n_left: int) -> bool:
    """Remind a reader of what is left until the deadline."""
    if enrolment.reader is None:
        return False
    context = {
        "enrolment": enrolment,
        "study": enrolment.study,
        "n_left": n_left,
        "deadline": deadline_text(enrolment),
        "link": f"{settings.PUBLIC_URL}{reverse('reading', args=[enrolment.study.slug])}",
    }
    body = render_to_string("readerstudy/enrolment/_reminder_mail.txt", context)
    subject = _("Reminder: “%(study)s”") % {"study": _one_line(enrolment.study.name)}
    return send_email(subject, body, enrolment.reader.email)


def _one_line(text: str) -> str:
    """A subject cannot hold a line break."""
    return " ".join(text.split())
