from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from annotation.management.base import ActCommand

MARKER = "DEMONSTRATION"
TEXT = "Everything in this folder is simulated. Its accounts have known passwords; it is served to this machine only.\n"


class Command(ActCommand):
    help = "Make a fresh home directory the home of the demonstration. A home with other data is refused."

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.DEMO:
            return
        if (settings.HOME / "db.sqlite3").exists() or settings.DATABASES["default"]["ENGINE"].endswith("postgresql"):
            raise CommandError(
                f"{settings.HOME} holds a site of its own; name another place for the demonstration: "
                "REXVQA_HOME=/some/folder make demo",
                returncode=2,
            )
        (settings.HOME / MARKER).write_text(TEXT)
