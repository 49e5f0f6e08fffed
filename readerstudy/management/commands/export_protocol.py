"""manage.py export_protocol: a study as a plan that create_study reads, with the protocol that it became."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.tables.writing import whole_file
from readerstudy.design.freezing import export_protocol
from readerstudy.management.arguments import check_output_file, find_study


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write the plan of a reader study, with its protocol and hash once it is frozen."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument(
            "--output", required=True, metavar="FILE", type=Path, help="JSON; an existing file is replaced"
        )
        parser.add_argument("--json", action="store_true", help="print what was written as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study, path = find_study(options["study"]), options["output"]
        check_output_file(path)
        document = export_protocol(study, actor=None, at=timezone.now())
        with whole_file(path) as file:
            file.write((json.dumps(document, ensure_ascii=False, indent=1) + "\n").encode())
        n_cases = len(document["cases"])
        if options["json"]:
            result = {
                "study": study.name,
                "state": study.state,
                "file": str(path),
                "n_cases": n_cases,
                "protocol_sha256": study.protocol_sha256,
            }
            self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
            return
        hashed = f", protocol SHA-256 {study.protocol_sha256}" if study.protocol else ", a draft"
        self.stdout.write(f"The plan of “{study.name}” with {n_cases} cases in {path}{hashed}")
