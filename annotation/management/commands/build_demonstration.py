"""manage.py build_demonstration: simulated people, exams, questions and reviews in the home of a demonstration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.translation import gettext as _
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from annotation.demonstration.building import BANK, build_demonstration
from annotation.demonstration.registry import is_complete
from annotation.management.base import ActCommand


class Command(ActCommand):
    unchanged = ""
    help = "Build the demonstration, or take up a build that was broken off. Only in the home of a demonstration."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            message = _("%(home)s is not the home of a demonstration; nothing was built. Run: make demo")
            raise CommandError(message % {"home": settings.HOME}, returncode=2)
        if is_complete():
            return
        self.stdout.write(_("Building the demonstration. This happens once and takes one to three minutes."))
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(file=sys.stdout)) as progress:
            stages: dict[str, Any] = {}

            def tell(words: str, done: int, total: int) -> None:
                if words not in stages:
                    stages[words] = progress.add_task(words, total=total)
                    if not progress.console.is_terminal:  # a pipe sees the bars only at the end
                        self.stdout.write(f"{words}: {total}")
                        self.stdout.flush()
                progress.update(stages[words], completed=done, total=total)

            build_demonstration(at=timezone.now(), folder=Path(settings.TEMP_ROOT) / "demonstration", tell=tell)
        self.stdout.write(_("The bank “%(bank)s” and its review rounds are there.") % {"bank": BANK})
