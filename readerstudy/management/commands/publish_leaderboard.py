"""manage.py publish_leaderboard NAME --output DIR: the public board of a benchmark as a folder of files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.management.arguments import find_benchmark


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = "Write the public board of a benchmark as a folder that any web server gives out."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", metavar="NAME", help="name or address of the benchmark")
        about = "a new or an empty folder, in one that exists"
        parser.add_argument("--output", required=True, metavar="DIR", type=Path, help=about)

    def handle(self, *args: Any, **options: Any) -> None:
        from readerstudy.leaderboard.public_board import publish  # draws with matplotlib, slow to load

        benchmark = find_benchmark(options["benchmark"])
        written = publish(benchmark, options["output"], at=timezone.now())
        self.stdout.write(f"{len(written)} files of the board of “{benchmark.name}” in {options['output']}.")
