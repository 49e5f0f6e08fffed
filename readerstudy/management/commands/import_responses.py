"""manage.py import_responses FILE: readings that were made elsewhere into a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from readerstudy.design.parsing import storable_name
from readerstudy.management.arguments import find_study
from readerstudy.reading.importing import ResponsesImported, import_responses

SHOWN = 20


class Command(BaseCommand):
    help = "Import readings that were made elsewhere: CSV, one row per reader and case. One refused row stores nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="columns reader,case,option,state and, where known, best_guess,confidence,active_ms,position",
        )
        parser.add_argument("--study", required=True, help="name or address of the study, frozen or later")
        parser.add_argument("--dry-run", action="store_true", help="check and compare, store nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        study = find_study(options["study"])
        try:
            content = path.read_bytes()
        except OSError as failure:
            raise CommandError(f"{path}: {failure.strerror}. Nothing was stored.", returncode=2) from failure
        result = import_responses(
            study, name=storable_name(path), content=content, actor=None, at=timezone.now(), dry_run=options["dry_run"]
        )
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(), ensure_ascii=False, indent=1))
        if result.is_refused:
            self._refuse(result)
        if not options["json"]:
            self._tell(result)

    def _refuse(self, result: ResponsesImported) -> None:
        for problem in result.problems[:SHOWN]:
            where = f"row {problem.row}, {problem.column}" if problem.row else result.file
            self.stderr.write(f"{where}: {problem.message}")
        if len(result.problems) > SHOWN:
            self.stderr.write(_("%(more)d more; --json lists them.") % {"more": len(result.problems) - SHOWN})
        raise CommandError(_("The file is refused. Nothing was stored."), returncode=2)

    def _tell(self, result: ResponsesImported) -> None:
        heading = _("What would happen to %(study)s:") if result.dry_run else _("Study %(study)s:")
        self.stdout.write(heading % {"study": result.study})
        for label, number in (
            (_("read"), result.read),
            (_("created"), result.created),
            (_("unchanged"), result.unchanged),
            (_("new readers"), len(result.readers)),
        ):
            self.stdout.write(f"  {label:<12}{number:>10,}")
