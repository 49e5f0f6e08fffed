from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.people.revived import end_revived


class Command(ActCommand):
    unchanged = ""
    help = "End every token and link that the last restore brought back, and what was taken from people since."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--keep", action="store_true", help="leave them as they are, and say no more about them")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(end_revived(keeps=options["keep"], actor=None, at=timezone.now()))
