from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone

from annotation.ingest.describing import credit_images
from annotation.ingest.kernels.credits import MAX_BYTES, IngestRefused, parse_credits
from annotation.management.base import ActCommand
from annotation.models import QuestionBank

SHOWN_PROBLEMS = 20


class Command(ActCommand):
    help = "Give images their attribution and licence from a CSV: file, attribution, licence[, view_position]."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("csv", type=Path, metavar="CSV")
        parser.add_argument("--bank", metavar="NAME", help="only images of this bank")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = _bank(options["bank"])
        with options["csv"].open("rb") as stream:
            table = stream.read(MAX_BYTES + 1)
        try:
            result = credit_images(parse_credits(table), bank=bank, actor=None, at=timezone.now())
        except IngestRefused as refusal:
            if refusal.code == "credits_unusable":
                raise CommandError(f"{options['csv']}: {refusal} {self.unchanged}", returncode=2) from None
            problems = refusal.facts["problems"][:SHOWN_PROBLEMS]
            lines = [f"  line {line}: {file}: {why}" for line, file, why in problems]
            raise CommandError("\n".join([f"{refusal}; nothing was stored.", *lines]), returncode=2) from None
        self.stdout.write(f"{result['rows']} rows read, {result['changed']} images changed")


def _bank(name: str | None) -> QuestionBank | None:
    if name is None:
        return None
    bank = QuestionBank.objects.filter(name=name).first()
    if bank is None:
        raise CommandError(f"There is no bank called {name!r}. Leave --bank out to take all.", returncode=2)
    return bank
