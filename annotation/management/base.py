"""What every command of ours does with an act that is refused, and with a file that cannot be read or written."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation.refusals import Refused


class ActCommand(BaseCommand):
    """Calls acts of rooms. What they refuse is said in one line, with status 2; nothing was stored then.

    ``unchanged`` says so in the words of the command, such as "Nothing was written.".
    """

    unchanged = "Nothing was stored."

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            return super().execute(*args, **options)
        except Refused as refusal:
            raise CommandError(f"{refusal} {self.unchanged}".strip(), returncode=2) from refusal
        except OSError as failure:
            reason = failure.strerror or str(failure)
            named = f"{failure.filename}: {reason}" if failure.filename else reason
            raise CommandError(f"{named}. {self.unchanged}".strip(), returncode=2) from failure
