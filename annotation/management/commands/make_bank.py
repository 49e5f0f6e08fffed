from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.questionbank.bank_life import make_bank


class Command(ActCommand):
    help = "Make an empty bank, so that a token can be made for the program that fills it. Prints its address."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="of the bank")
        parser.add_argument("--simulated", action="store_true", help="all of its questions and images are made up")

    def handle(self, *args: Any, **options: Any) -> None:
        bank = make_bank(options["name"], simulated=options["simulated"], actor=None, at=timezone.now())
        self.stdout.write(bank.slug)
