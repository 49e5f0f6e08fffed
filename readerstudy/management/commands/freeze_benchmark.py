"""manage.py freeze_benchmark: the draft of a leaderboard becomes what teams answer."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.benchmarks import current_version, freeze_benchmark, problems_of
from readerstudy.leaderboard.public_twins import decide, pool_of, twins_of
from readerstudy.management.arguments import cell_lines, find_benchmark


class Command(ActCommand):
    unchanged = "Nothing was frozen."
    help = "Freeze a leaderboard: questions, keys, rules and dates do not change any more."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="name or address of the leaderboard")
        why = "why near-duplicates in public banks stay, of which nothing else was decided"
        parser.add_argument("--decide-all", default="", metavar="REASON", help=why)
        parser.add_argument("--dry-run", action="store_true", help="only print what would be frozen and what blocks it")

    @transaction.atomic
    def handle(self, *args: Any, **options: Any) -> None:
        now, benchmark = timezone.now(), find_benchmark(options["name"])
        if options["decide_all"] and not options["dry_run"]:
            decide(benchmark, reason=options["decide_all"], actor=None, at=now)
        if options["dry_run"]:
            pool, problems = pool_of(benchmark), problems_of(benchmark, now)
            self.stdout.write(
                f"{pool.n} of {pool.n_in_bank} questions; {twins_of(benchmark).count()} nearly stand in a public bank, "
                f"of which {pool.n_left_out} are left out."
            )
            for line in (*cell_lines(benchmark), *(f"In the way: {one}" for one in problems)):
                self.stdout.write(line)
            if problems:
                raise LeaderboardRefused("has_problems", "It cannot be frozen yet.")
            return
        version = current_version(freeze_benchmark(benchmark, actor=None, at=now))
        self.stdout.write(f"“{benchmark.name}” is frozen: {version.questions.count()} questions.")
        self.stdout.write(f"SHA-256 of the protocol: {version.protocol_sha256}")
