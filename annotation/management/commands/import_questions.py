"""manage.py import_questions FILE: a question file into a bank, see docs/question-banks.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec.structs import replace
from rich.progress import DownloadColumn, MofNCompleteColumn

from annotation.management.base import ActCommand, progress_bar
from annotation.models import Revision
from annotation.quality.checking import check_revisions
from annotation.quality.kernels.rules import MIN_EXPLANATION
from annotation.questionbank.importing import ImportResult, import_questions, locate
from annotation.questionbank.kernels.column_matching import KEY_FORMS
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.matchings import named_matching

SHOWN_ERRORS = 20


class Command(ActCommand):
    help = "Import a question file. One refused record stores nothing, unless --skip-refused."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="JSON, JSON Lines, CSV, XLSX or Parquet")
        parser.add_argument("--bank", metavar="NAME", help="the bank, made when it is not there (default: file name)")
        parser.add_argument("--difficulty", type=Path, metavar="CSV", help="columns id,difficulty; wins over the file")
        parser.add_argument(
            "--images-root", type=Path, metavar="DIR", help="folder that image paths start from and may not leave"
        )
        parser.add_argument(
            "--matching", metavar="NAME", help="read the file by a matching of columns that was kept on the page"
        )
        parser.add_argument(
            "--key-form", choices=KEY_FORMS, help="how the keys of this file are written, whatever the matching says"
        )
        parser.add_argument("--dry-run", action="store_true", help="check and compare, store nothing")
        parser.add_argument("--skip-refused", action="store_true", help="store the rest and list what is refused")
        parser.add_argument(
            "--min-explanation", type=int, default=MIN_EXPLANATION, metavar="N", help="shortest explanation, characters"
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        self._check_paths(options)
        source = locate(path, images_folder=options["images_root"], difficulties=options["difficulty"])
        if options["matching"]:
            matching = named_matching(options["matching"])
            source = replace(source, matching=replace(matching, key_form=options["key_form"] or matching.key_form))
        try:
            with progress_bar(
                _("Reading"), DownloadColumn, quiet=options["json"] or options["verbosity"] == 0
            ) as watch:
                result = import_questions(
                    source,
                    bank_name=options["bank"] or path.stem,
                    actor=None,
                    clock=timezone.now,
                    dry_run=options["dry_run"],
                    skip_refused=options["skip_refused"],
                    min_explanation=options["min_explanation"],
                    watch=watch,
                )
        except BankRefused as refusal:
            if refusal.code != "difficulties":
                raise
            raise CommandError(f"{options['difficulty']}: {refusal}. Nothing was stored.", returncode=2) from None
        if result.stored:
            self._check_wording(result, quiet=options["json"] or options["verbosity"] == 0, **options)
        self._print(result, **options)

    def _check_wording(self, result: ImportResult, *, quiet: bool, **options: Any) -> None:
        """Of what came in, and can be seen already."""
        imported = result.bank_import
        assert imported is not None
        with progress_bar(_("Checking"), MofNCompleteColumn, quiet=quiet) as watch:
            checked = check_revisions(
                imported.bank,
                Revision.objects.filter(bank_import=imported),
                actor=None,
                at=timezone.now(),
                min_explanation=options["min_explanation"],
                watch=watch,
            )
        if not quiet:
            self.stdout.write(_("Checks of the wording: %(n)d findings.") % {"n": checked.added})

    def _check_paths(self, options: dict[str, Any]) -> None:
        for path in (options["file"], options["difficulty"]):
            if path is not None and not path.is_file():
                raise CommandError(_("%(path)s is not a file.") % {"path": path}, returncode=2)
        if options["key_form"] and not options["matching"]:
            sentence = _("--key-form belongs to --matching: the key of a question file is A, B, C or D.")
            raise CommandError(sentence, returncode=2)
        root = options["images_root"]
        if root is not None and not root.is_dir():
            raise CommandError(_("--images-root: %(path)s is not a folder.") % {"path": root}, returncode=2)
        if not 1 <= len(options["bank"] or options["file"].stem) <= 200:
            raise CommandError(_("--bank: a name has 1 to 200 characters."), returncode=2)
        if options["min_explanation"] < 0:
            raise CommandError(_("--min-explanation: a number from 0 up."), returncode=2)

    def _print(self, result: ImportResult, **options: Any) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(), ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self._print_counts(result, dry_run=options["dry_run"])
        if result.look_alikes:
            sentence = _("%(n)d ids differ from others only by capitals, form or invisible characters: %(ids)s")
            named = ", ".join(result.look_alikes[:SHOWN_ERRORS])
            self.stderr.write(sentence % {"n": len(result.look_alikes), "ids": named})
        acceptable = result.is_acceptable(options["skip_refused"])
        if not acceptable or result.n_errors:
            for problem in result.errors[:SHOWN_ERRORS]:
                where = ": ".join(part for part in (problem.key, problem.field) if part)
                self.stderr.write(f"{where or result.bank}: {problem.message} [{problem.code}]")
            if result.n_errors > SHOWN_ERRORS:
                more = result.n_errors - SHOWN_ERRORS
                self.stderr.write(_("%(more)d more errors; --json lists them.") % {"more": more})
        if not acceptable:
            refused = _("%(n)d of %(read)d records are refused. Nothing was stored.")
            if result.unreadable:
                refused = _("The file is refused as a whole. Nothing was stored.")
            raise CommandError(refused % {"n": result.rejected, "read": result.read}, returncode=2)
        if result.n_errors:
            kept = _("%(n)d of %(read)d records were refused and left out.")
            raise CommandError(kept % {"n": result.rejected, "read": result.read}, returncode=2)

    def _print_counts(self, result: ImportResult, *, dry_run: bool) -> None:
        counts = result.counts
        heading = _("What would happen to the bank %(bank)s:") if dry_run else _("Bank %(bank)s:")
        if not dry_run and not result.stored:
            return
        self.stdout.write(heading % {"bank": result.bank})
        for label, number in (
            (_("read"), result.read),
            (_("created"), counts.created),
            (_("updated"), counts.updated),
            (_("unchanged"), counts.unchanged),
            (_("refused"), result.rejected),
            (_("exams"), counts.exams),
            (_("images"), counts.images),
        ):
            self.stdout.write(f"  {label:<12}{number:>10,}")
