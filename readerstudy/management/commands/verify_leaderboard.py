"""manage.py verify_leaderboard NAME: compute every published number again, and compare. Status 1 where one differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from readerstudy.management.arguments import find_benchmark


class Command(ActCommand):
    unchanged = ""
    help = "Compute every published number of a benchmark again, from stored answers and keys, and compare."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("benchmark", metavar="NAME", help="name or address of the benchmark")
        parser.add_argument("--folder", metavar="DIR", type=Path, help="a written board; default: that of the site")

    def handle(self, *args: Any, **options: Any) -> None:
        from readerstudy.leaderboard.edition_scoring import verify
        from readerstudy.leaderboard.editions import folder_here

        benchmark = find_benchmark(options["benchmark"])
        folder = options["folder"] or folder_here(benchmark)
        compared = folder if options["folder"] or folder.is_dir() else None
        problems = verify(benchmark, compared, at=timezone.now())
        for line in problems:
            self.stdout.write(line)
        if problems:
            raise CommandError(f"“{benchmark.name}” is not what was published: {len(problems)} found.", returncode=1)
        where = f", and {compared} byte by byte" if compared else ""
        self.stdout.write(f"All published numbers of “{benchmark.name}” are what answers and keys give{where}.")
