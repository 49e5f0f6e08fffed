"""Letters that jobs send: the worker is the test itself."""

from __future__ import annotations

from django.core import mail
from django.core.mail import EmailMessage
from django.utils import timezone

from annotation.enums import JobState
from annotation.jobs import running
from annotation.models import Job
from annotation.people.mailing import EMAIL, PASSWORD_LINK


def delivered() -> list[EmailMessage]:
    """All letters so far, once the waiting ones are sent."""
    for job in Job.objects.filter(kind__in=[EMAIL, PASSWORD_LINK], state=JobState.QUEUED).order_by("pk"):
        running.run(job.public_id, clock=timezone.now)
    return mail.outbox
