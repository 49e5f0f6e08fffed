"""manage.py verify_audit: whether the audit log is as it was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from msgspec import to_builtins
from rich.progress import MofNCompleteColumn

from annotation.audit.recording import checked_head, seal, verify, verify_seals
from annotation.management.base import ActCommand, progress_bar


class Command(ActCommand):
    unchanged = ""
    help = "Check the whole audit log and print the hash of its newest event; status 1 and the first fault otherwise."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--head", default="", metavar="HASH", help="of the newest event at an earlier time: is it still there?"
        )
        parser.add_argument("--seal", type=Path, metavar="FILE", help="append a seal to a file outside of the database")
        parser.add_argument("--seals", type=Path, metavar="FILE", help="check log and people's names by these seals")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        head = checked_head(options["head"])
        with progress_bar("Checking", MofNCompleteColumn, quiet=options["json"]) as report:
            found = verify(head, report=report)
        if found.fault is None and options["seals"]:
            found.fault = verify_seals(options["seals"])
        if found.fault is None and options["seal"]:
            seal(options["seal"], at=timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps(to_builtins(found), ensure_ascii=False, indent=1))
        else:
            self.stdout.write(f"{found.n_events:,} events, head {found.head_sha256}")
            if found.n_after_head is not None:
                self.stdout.write(f"The hash that was kept is there, with {found.n_after_head:,} events after it.")
        if found.fault is not None:
            raise CommandError(f"{found.fault.kind.label}: {found.fault.sentence}", returncode=1)
