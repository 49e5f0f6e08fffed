"""manage.py import_predictions FILE: the answers of a model to the questions of a study or a bank."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.management.base import ActCommand
from annotation.models import QuestionBank
from annotation.site.sentences import the_one
from readerstudy.design.kernels.documents import storable_name
from readerstudy.enums import FILE_FORMS, PredictionForm
from readerstudy.management.arguments import find_study
from readerstudy.models import ModelEntry
from readerstudy.predictions.entries import find_entry
from readerstudy.predictions.importing import PredictionsImported, SentFile, import_predictions
from readerstudy.predictions.kernels.records import FIRST, LAST, VOTED, PredictionsRefused
from readerstudy.predictions.kernels.streamed_predictions import MOST_BYTES
from readerstudy.predictions.listing import Target

SHOWN = 20


class Command(ActCommand):
    help = "Import a file of predictions as a new run of a model. One refused row stores nothing."

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """``--version`` is that of the model here, not that of Django."""
        return super().create_parser(prog_name, subcommand, conflict_handler="resolve", **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="JSON, JSON lines, CSV, TSV or XLSX")
        parser.add_argument("--model", required=True, metavar="NAME", help="the model; made when it is not there")
        parser.add_argument("--version", default=None, metavar="V", help="its version, where there are several")
        about = parser.add_mutually_exclusive_group(required=True)
        about.add_argument("--study", metavar="S", help="name or address of a study, frozen or later")
        about.add_argument("--bank", metavar="B", help="name or address of a question bank")
        parser.add_argument(
            "--form", choices=["auto", *FILE_FORMS], default="auto", help="default: found by the fields"
        )
        parser.add_argument(
            "--duplicates",
            choices=[FIRST, LAST, VOTED],
            default="",
            help="which counts of several answers to one question",
        )
        parser.add_argument("--dry-run", action="store_true", help="check and match, store nothing")
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        study = find_study(options["study"]) if options["study"] else None
        banks = QuestionBank.objects.all()
        target = Target.of_study(study) if study else Target(the_one(banks, options["bank"], "bank"))
        form = None if options["form"] == "auto" else PredictionForm(options["form"])
        file = SentFile(storable_name(path), readable(path), form, options["duplicates"])
        result = import_predictions(
            self._entry(options["model"].strip(), options["version"]),
            target,
            file,
            actor=None,
            at=timezone.now(),
            dry_run=options["dry_run"],
        )
        keys = result.missing_keys()
        if options["json"]:
            self.stdout.write(json.dumps(result.as_json(keys), ensure_ascii=False, indent=1))
        if result.is_refused:
            self._refuse(result)
        if not options["json"]:
            self._report(result, keys)

    def _entry(self, name: str, version: str | None) -> ModelEntry:
        lengths = {"--model": (name, 1, 200), "--version": (version or "", 0, 100)}
        for option, (text, least, most) in lengths.items():
            if not least <= len(text) <= most:
                raise CommandError(f"{option}: give {least} to {most} characters.", returncode=2)
        try:
            return find_entry(name, version) or ModelEntry(name=name, version=version or "")
        except PredictionsRefused as refusal:
            raise CommandError(f"{refusal} Give one with --version. {self.unchanged}", returncode=2) from None

    def _refuse(self, result: PredictionsImported) -> None:
        for problem in result.problems[:SHOWN]:
            where = f"row {problem.row}" if problem.row else result.file.name
            named = f" ({problem.id})" if problem.id else ""
            self.stderr.write(f"{where}{named}: {problem.message}")
        if len(result.problems) > SHOWN:
            self.stderr.write(_("%(more)d more; --json lists them.") % {"more": len(result.problems) - SHOWN})
        hint = ""
        if result.matching.problems:
            hint = _(" With --duplicates first, last or voted one of several answers counts.")
        raise CommandError(_("The file is refused. Nothing was stored.") + hint, returncode=2)

    def _report(self, result: PredictionsImported, keys: dict[int, str]) -> None:
        heading = (
            _("What would happen to %(model)s on %(target)s:") if result.dry_run else _("%(model)s on %(target)s:")
        )
        self.stdout.write(heading % {"model": result.entry, "target": result.target.name})
        report = result.as_json(keys)
        for label, number in (
            (_("read"), report["read"]),
            (_("questions matched"), report["matched"]),
            (_("of these without an option"), len(report["failed"])),
            (_("missing"), len(report["missing"])),
            (_("repeated"), len(report["duplicate"])),
            (_("unknown"), len(report["unknown"])),
            (_("stored"), report["stored"]),
        ):
            self.stdout.write(f"  {label:<28}{number:>10,}")
        if n := len(report["other_order"]):
            sentence = ngettext(
                "  %(n)d record lists its options in another order; its letter was translated.",
                "  %(n)d records list their options in another order; their letters were translated.",
                n,
            )
            self.stdout.write(sentence % {"n": n})
        if n := len(report["two_answers"]):
            sentence = ngettext(
                "  %(n)d answer names two options: none was taken.",
                "  %(n)d answers name two options: none was taken.",
                n,
            )
            self.stdout.write(sentence % {"n": n})
        for label, ids in ((_("missing"), report["missing"]), (_("unknown"), report["unknown"])):
            for one in ids[:SHOWN]:
                self.stdout.write(f"  {label}: {one}")
            if len(ids) > SHOWN:
                self.stdout.write(_("  %(more)d more; --json lists them.") % {"more": len(ids) - SHOWN})
        for one in report["failed"][:SHOWN]:
            self.stdout.write(f"  {_('without an option')}: {one['id']}: {one['raw'][:200]!r}")
        if result.unchanged:
            self.stdout.write(_("This file is stored already as run %(n)d.") % {"n": report["run"]})


def readable(path: Path) -> Path:
    """The path of a file that can be read and is not too large."""
    if path.stat().st_size > MOST_BYTES:
        raise CommandError(f"{path}: the file is too large. Split it. Nothing was stored.", returncode=2)
    with path.open("rb") as file:
        file.read(1)
    return path
