"""manage.py import_voidings: cases that are left out, from a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.design.kernels.documents import parse_voidings, storable_name
from readerstudy.design.voiding import import_voidings
from readerstudy.management.arguments import find_study, read_file
from readerstudy.study.permissions import StudyRefused


class Command(ActCommand):
    help = "Void the cases that a CSV names: the columns are case (key or number of the question) and reason."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE")
        parser.add_argument("--study", required=True, help="name or address of the study")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = find_study(options["study"]), options["file"]
        rows, bad = parse_voidings(read_file(path))
        try:
            done = import_voidings(
                study, rows, source=storable_name(path), actor=None, at=timezone.now(), unreadable=bad
            )
        except StudyRefused as refusal:
            if refusal.code != "bad_rows":
                raise
            errors = [{"row": row, "message": why} for row, why in refusal.facts["rows"]]
            if options["json"]:
                result = {"study": study.name, "stored": False, "n_stored": 0, "errors": errors}
                self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
            lines = [f"  row {row}: {why}" for row, why in refusal.facts["rows"]]
            raise CommandError("\n".join([f"{path}: nothing was stored.", *lines]), returncode=2) from None
        if options["json"]:
            result = {
                "study": study.name,
                "stored": True,
                "n_stored": done.n_stored,
                "n_there": done.n_there,
                "errors": [],
            }
            self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
            return
        self.stdout.write(f"{done.n_stored} cases voided, {done.n_there} were voided before for the same reason")
