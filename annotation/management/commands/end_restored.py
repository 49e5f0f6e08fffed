from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.people.revived import end_revived


class Command(ActCommand):
    unchanged = ""
    help = "End every token and link that the last restore brought back, and what was taken from people since."

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(end_revived(actor=None, at=timezone.now()))
