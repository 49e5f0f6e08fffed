from __future__ import annotations

import time
from typing import Any

from django.core.management.base import CommandError, CommandParser
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from annotation.enums import JobState
from annotation.management.base import ActCommand
from annotation.models import Job

SECONDS_BETWEEN_LOOKS = 0.5


class Command(ActCommand):
    help = "List the newest jobs, or follow one with a progress bar until it ends."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("job", nargs="?", help="follow this job")
        parser.add_argument("--last", type=int, default=20, help="how many to list (20)")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["job"]:
            self._follow(options["job"])
            return
        for job in Job.objects.all()[: options["last"]]:
            share = f"{job.progress_done}/{job.progress_total}" if job.progress_total else ""
            self.stdout.write(f"{job.public_id}  {job.state:<9}  {share:>15}  {job.title}")

    def _follow(self, public_id: str) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns) as bar:
            line = bar.add_task("", total=None)
            while (job := Job.objects.filter(public_id=public_id).first()) and job.is_unfinished:
                bar.update(line, description=job.title, completed=job.progress_done, total=job.progress_total or None)
                time.sleep(SECONDS_BETWEEN_LOOKS)
        if job is None:
            raise CommandError(f"there is no job {public_id}; list them with: manage.py jobs", returncode=2)
        if job.state != JobState.SUCCEEDED:
            raise CommandError(f"{job.state}: {job.error}", returncode=1)
        self.stdout.write(f"done: {job.result}")
