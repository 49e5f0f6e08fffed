"""manage.py replay_model_run: the predictions of a run made again from the stored responses."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.model_calls.kernels.extraction import RULES
from readerstudy.management.arguments import find_model_run
from readerstudy.model_runs.publishing import Replay, show_replay

SHOWN = 20  # answers in words; --json prints all


class Command(ActCommand):
    unchanged = "Nothing was changed."
    help = "Make the predictions of a model run again from its stored responses and compare them. Nothing is sent."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="id of the run, as its page shows it")
        parser.add_argument(
            "--rule",
            default="",
            metavar="R",
            help=f"of extraction: {', '.join(RULES)}; default: that of its predictions",
        )
        parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        found = show_replay(find_model_run(options["run"]), options["rule"], actor=None, at=timezone.now())
        if options["json"]:
            self.stdout.write(json.dumps(found.as_json(), ensure_ascii=False, indent=1))
        else:
            self._print(found)
        if not options["rule"] and not found.is_equal:
            raise CommandError("The stored predictions are not those of the stored responses.", returncode=1)

    def _print(self, found: Replay) -> None:
        self.stdout.write(f"{found.n_calls} calls read again by {found.rule}; nothing was sent.")
        if not found.otherwise:
            self.stdout.write("equal: every answer counts as it is stored")
        else:
            self.stdout.write(f"{len(found.otherwise)} answers count otherwise:")
        for one in found.otherwise[:SHOWN]:
            stored, now = f"{one.stored_outcome} {one.stored_option}", f"{one.outcome} {one.option}"
            place = f"question {one.question}, order {one.order}, repeat {one.repeat}"
            self.stdout.write(f"  {place}: {stored.strip()} -> {now.strip()}")
        for again in found.published:
            differ = "equal" if again.is_equal else f"differs in questions {', '.join(map(str, again.questions))}"
            self.stdout.write(f"run {again.run}, repeat {again.repeat}: {differ}; SHA-256 {again.sha256}")
        if not found.published:
            self.stdout.write("No predictions were compared: none are published by this rule.")
