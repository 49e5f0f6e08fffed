"""manage.py send_digests: once a day, from the timer of the machine; see docs/settings.md."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.outcomes.attention import send_digests
from annotation.people.mailing import can_send


class Command(ActCommand):
    help = "Send coordinators who want it an e-mail with what needs their attention in review rounds."

    def handle(self, *args: Any, **options: Any) -> None:
        if not can_send():
            self.stdout.write("No mail server is configured: nothing was sent.")
            return
        sent, nothing = send_digests(at=timezone.now())
        self.stdout.write(f"{sent} sent; {nothing} had nothing that needs their attention")
