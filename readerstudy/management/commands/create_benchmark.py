"""manage.py create_benchmark: the draft of a leaderboard."""

from __future__ import annotations

from datetime import date
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.models import QuestionBank
from annotation.site.sentences import the_one
from readerstudy.leaderboard.benchmarks import BenchmarkWanted, create_benchmark, problems_of
from readerstudy.leaderboard.kernels.release_rule import MOST_EDITIONS
from readerstudy.management.arguments import cell_lines


class Command(ActCommand):
    help = "Make the draft of a leaderboard of a private bank, and say what its editions would tell."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--bank", required=True, help="name or address of the bank")
        parser.add_argument(
            *("--edition", "--editions"),
            nargs="+",
            type=date.fromisoformat,
            required=True,
            metavar="DATE",
            help=f"1 to {MOST_EDITIONS}, ascending, such as 2027-03-01",
        )
        parser.add_argument("--contact", required=True, help="whom teams write to; on the public page")
        parser.add_argument("--about", default="", help="what it measures, for its public page")

    def handle(self, *args: Any, **options: Any) -> None:
        bank, now = the_one(QuestionBank.objects.all(), options["bank"], "bank"), timezone.now()
        wanted = BenchmarkWanted(options["name"], bank, options["contact"], options["about"], tuple(options["edition"]))
        made = create_benchmark(wanted, actor=None, at=now)
        self.stdout.write(f"Leaderboard “{made.name}” ({made.slug}), a draft.")
        for line in (*cell_lines(made), *(f"Before it can be frozen: {one}" for one in problems_of(made, now))):
            self.stdout.write(line)
