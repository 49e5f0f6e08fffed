"""manage.py freeze_reader_study: draw the orders, write the protocol."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.design.checking import hindrances_of
from readerstudy.design.freezing import freeze_study
from readerstudy.design.indications import cases_with_information, sha256_of_information
from readerstudy.management.arguments import find_study
from readerstudy.study.locking import StudyRefused


class Command(ActCommand):
    help = "Freeze a reader study: orders are drawn, the protocol gets its hash, and nothing of the design changes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="name or address of the study")
        parser.add_argument(
            "--indications-read",
            action="store_true",
            help="where readers see indications: you have read those of all cases, and none gives an answer away",
        )
        parser.add_argument(
            "--read-elsewhere",
            action="store_true",
            help="nobody reads the study here, its readings are imported: freeze it although images are missing",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        study = find_study(options["study"])
        read = sha256_of_information(cases_with_information(study)) if options["indications_read"] else ""
        try:
            freeze_study(
                study,
                actor=None,
                at=timezone.now(),
                indications_read=read,
                read_elsewhere=options["read_elsewhere"],
            )
        except StudyRefused as refusal:
            if refusal.code != "indications_not_read":
                raise
            where = f"They are shown at /studies/{study.slug}/indications/; the statement is --indications-read."
            raise CommandError(f"{refusal} {where} {self.unchanged}", returncode=2) from refusal
        warnings = hindrances_of(study)
        if options["json"]:
            result = {
                "study": study.name,
                "slug": study.slug,
                "state": study.state,
                "protocol_sha256": study.protocol_sha256,
                "n_orders": study.n_orders,
                "n_sets": study.sets.count(),
                "warnings": warnings,
            }
            self.stdout.write(json.dumps(result, ensure_ascii=False, indent=2))
            return
        self.stdout.write(
            f"Study “{study.name}” is frozen: {study.n_orders} orders for each of {study.sets.count()} case set(s)."
        )
        self.stdout.write(f"Protocol SHA-256: {study.protocol_sha256}")
        for warning in warnings:
            self.stdout.write(f"Before it can be opened: {warning}")
