"""manage.py import_questions FILE: a question file into a bank, see docs/question-banks.md."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec.structs import replace
from rich.progress import DownloadColumn, MofNCompleteColumn

from annotation.enums import Task
from annotation.management.base import ActCommand, progress_bar
from annotation.models import Revision
from annotation.questionbank.archives import import_files, sources_in, take_apart
from annotation.questionbank.checking import check_revisions
from annotation.questionbank.importing import ImportResult, QuestionFile, locate
from annotation.questionbank.kernels.column_matching import KEY_FORMS
from annotation.questionbank.kernels.entries import BankRefused
from annotation.questionbank.kernels.rules import MIN_EXPLANATION
from annotation.questionbank.matchings import named_matching

SHOWN_ERRORS = 20


class Command(ActCommand):
    help = "Import a question file. One refused record stores nothing, unless --skip-refused."

    def add_arguments(self, parser: CommandParser) -> None:
        forms = "JSON, JSON Lines, CSV, XLSX, Parquet, or a ZIP of these with images"
        parser.add_argument("file", type=Path, metavar="FILE", help=forms)
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
        matching = named_matching(options["matching"]) if options["matching"] else None
        if matching:
            matching = replace(matching, key_form=options["key_form"] or matching.key_form)
        bank = options["bank"] = options["bank"] or path.stem
        side_file = options["difficulty"]
        with TemporaryDirectory(dir=settings.TEMP_ROOT) as folder:
            found = take_apart(path, Path(folder))
            sources = sources_in(found.members, Path(folder), bank, side_file, matching)
            if not sources:
                alone = locate(path, images_folder=options["images_root"], difficulties=side_file)
                sources = [replace(alone, matching=matching)]
            elif options["images_root"]:
                raise CommandError(_("--images-root: the paths of a ZIP start in the ZIP."), returncode=2)
            try:
                result = self._import(sources, options)
            except BankRefused as refusal:
                if refusal.code != "difficulties":
                    raise
                raise CommandError(f"{side_file}: {refusal}. Nothing was stored.", returncode=2) from None
        if result.stored:
            self._check_wording(result, quiet=options["json"] or options["verbosity"] == 0, **options)
        try:
            self._print(result, found.n_images, **options)
        finally:
            if result.stored and found.n_images:
                told = {"stdout": self.stdout, "stderr": self.stderr}
                call_command("ingest_images", path, bank=bank, verbosity=0 if options["json"] else 1, **told)

    def _import(self, sources: list[QuestionFile], options: dict[str, Any]) -> ImportResult:
        """Files of a ZIP are all checked before the first of them is stored."""
        skip, is_dry = options["skip_refused"], options["dry_run"]
        quiet = options["json"] or options["verbosity"] == 0
        for dry_run in (is_dry,) if len(sources) == 1 else sorted({True, is_dry}, reverse=True):
            with progress_bar(_("Reading"), DownloadColumn, quiet=quiet) as watch:
                result = import_files(
                    sources,
                    bank_name=options["bank"],
                    actor=None,
                    clock=timezone.now,
                    dry_run=dry_run,
                    skip_refused=skip,
                    min_explanation=options["min_explanation"],
                    watch=watch,
                )
            if not result.is_acceptable(skip):
                break
        return result

    def _check_wording(self, result: ImportResult, *, quiet: bool, **options: Any) -> None:
        """Of what came in, and can be seen already."""
        with progress_bar(_("Checking"), MofNCompleteColumn, quiet=quiet) as watch:
            checked = check_revisions(
                result.imports[0].bank,
                Revision.objects.filter(bank_import__in=result.imports),
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

    def _print(self, result: ImportResult, n_images: int, **options: Any) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(), ensure_ascii=False, indent=1))
        elif options["verbosity"]:
            self._print_counts(result, n_images, dry_run=options["dry_run"])
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

    def _print_counts(self, result: ImportResult, n_images: int, *, dry_run: bool) -> None:
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
        for task in Task:
            if task in result.tasks:  # of a dry run, as the rest
                self.stdout.write(f"  {task.label}: {result.tasks[task]:,}")
        for one in result.differing:
            which = _("the file counts") if one["counts"] == "file" else _("the bank counts")
            self.stdout.write(f"  {one['key']}: {one['bank'][0]!r} / {one['file'][0]!r}: {which}")
        if n_images and dry_run:
            self.stdout.write(_("  The ZIP also holds %(n)s images.") % {"n": f"{n_images:,}"})
