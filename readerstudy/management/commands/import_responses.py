"""manage.py import_responses FILE: readings that were made elsewhere into a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.management.base import ActCommand
from readerstudy.design.kernels.documents import storable_name
from readerstudy.management.arguments import find_study
from readerstudy.reading.response_import import DeclaredFile, ResponsesImported, import_responses

SHOWN = 20
STATEMENT = "--decided-in-original-study"


class Command(ActCommand):
    help = "Import readings that were made elsewhere: CSV, one row per reader and case. One refused row stores nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            type=Path,
            metavar="FILE",
            help="columns reader,case,option,state and, where known, best_guess,confidence,active_ms,position",
        )
        parser.add_argument("--study", required=True, help="name or address of the study, frozen or later")
        parser.add_argument(
            "--voidings",
            type=Path,
            metavar="FILE",
            help="cases voided in the study where the readings were made (columns case,reason), with its first import",
        )
        parser.add_argument(
            STATEMENT,
            action="store_true",
            help="say that these voidings were decided there, before its results were seen; the methods repeat it",
        )
        parser.add_argument("--dry-run", action="store_true", help="check and compare, store nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        study = find_study(options["study"])
        result = import_responses(
            study,
            name=storable_name(path),
            content=path.read_bytes(),
            actor=None,
            at=timezone.now(),
            dry_run=options["dry_run"],
            declared=_declared(options["voidings"], is_stated=options["decided_in_original_study"]),
        )
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(), ensure_ascii=False, indent=1))
        if result.is_refused:
            self._refuse(result)
        if not options["json"]:
            self._report(result)

    def _refuse(self, result: ResponsesImported) -> None:
        for problem in result.problems[:SHOWN]:
            where = f"row {problem.row}, {problem.column}" if problem.row else result.file
            self.stderr.write(f"{where}: {problem.message}")
        for row, why in result.voiding_problems[:SHOWN]:
            self.stderr.write(f"voidings, row {row}: {why}" if row else f"voidings: {why}")
        if len(result.problems) > SHOWN:
            self.stderr.write(_("%(more)d more; --json lists them.") % {"more": len(result.problems) - SHOWN})
        raise CommandError(_("The file is refused. Nothing was stored."), returncode=2)

    def _report(self, result: ResponsesImported) -> None:
        heading = _("What would happen to %(study)s:") if result.dry_run else _("Study %(study)s:")
        self.stdout.write(heading % {"study": result.study})
        for label, number in (
            (_("read"), result.read),
            (_("created"), result.created),
            (_("unchanged"), result.unchanged),
            (_("new readers"), len(result.readers)),
            *([(_("voided"), result.voided)] if result.voided else []),
        ):
            self.stdout.write(f"  {label:<12}{number:>10,}")


def _declared(path: Path | None, *, is_stated: bool) -> DeclaredFile | None:
    """Both or neither: whoever sends older voidings says so, since nobody else can know it."""
    if path is None and is_stated:
        raise CommandError(
            _("%(statement)s needs a file given with --voidings.") % {"statement": STATEMENT}, returncode=2
        )
    if path is None:
        return None
    if not is_stated:
        sentence = _(
            "Say with %(statement)s that these cases were voided there before its results were seen; otherwise "
            "import them with import_voidings."
        ) % {"statement": STATEMENT}
        raise CommandError(f"{path}: {sentence} " + _("Nothing was stored."), returncode=2)
    return DeclaredFile(storable_name(path), path.read_bytes())
