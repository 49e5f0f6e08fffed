from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from annotation.ingest.crediting import CreditsUnmatched, credit_images
from annotation.ingest.kernels.credits import MAX_BYTES, CreditsRefused, parse_credits
from annotation.models import QuestionBank

SHOWN_PROBLEMS = 20


class Command(BaseCommand):
    help = "Give images their attribution and licence from a CSV: file, attribution, licence[, view_position]."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("csv", type=Path, metavar="CSV")
        parser.add_argument("--bank", metavar="NAME", help="only images of this bank")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = _bank(options["bank"])
        try:
            rows = parse_credits(_read(options["csv"]))
            result = credit_images(rows, bank=bank, actor=None, at=timezone.now())
        except CreditsRefused as refused:
            raise CommandError(f"{options['csv']}: {refused} Nothing was stored.", returncode=2) from None
        except CreditsUnmatched as unmatched:
            lines = [f"  line {line}: {file}: {why}" for line, file, why in unmatched.problems[:SHOWN_PROBLEMS]]
            raise CommandError("\n".join([f"{unmatched}; nothing was stored.", *lines]), returncode=2) from None
        self.stdout.write(f"{result['rows']} rows read, {result['changed']} images changed")


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}. Name a CSV file that can be read.", returncode=2) from None


def _bank(name: str | None) -> QuestionBank | None:
    if name is None:
        return None
    bank = QuestionBank.objects.filter(name=name).first()
    if bank is None:
        raise CommandError(f"There is no bank called {name!r}. Leave --bank out to take all.", returncode=2)
    return bank
