"""manage.py export_audit: the audit log as JSON Lines, for a SIEM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.people.event_log import export_log
from annotation.tables.writing import whole_file


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write the audit log as JSON Lines, the oldest event first. The export itself is its last line."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output; is replaced")
        parser.add_argument("--after", type=int, default=0, metavar="ID", help="only events behind this one (0: all)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["after"] < 0:
            raise CommandError(f"--after: a number of an event, 0 or more. {self.unchanged}", returncode=2)
        rows = export_log(after=options["after"], actor=None, at=timezone.now())
        path: Path | None = options["output"]
        if path is None:
            for row in rows:
                self.stdout.write(row.decode(), ending="")
            return
        n_rows = 0
        with whole_file(path) as file:
            for row in rows:
                n_rows += file.write(row) > 0
        self.stdout.write(f"{n_rows:,} events in {path}")
