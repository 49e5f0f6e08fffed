from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.model_calls.batch_files import import_responses
from annotation.model_calls.call_batches import batch_named


class Command(ActCommand):
    help = (
        "Store the responses that vllm run-batch wrote for a model run: in any order, in parts, and twice if need be."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON lines, as vllm run-batch writes them")
        parser.add_argument("--run", required=True, help="id of the run, as its page shows it")

    def handle(self, *args: Any, **options: Any) -> None:
        batch = batch_named(options["run"])
        with Path(options["file"]).open("rb") as lines:
            result = import_responses(batch, lines, actor=None, at=timezone.now())
        self.stdout.write(json.dumps(result.as_json()))
        if result.problems:
            n = len(result.problems)
            raise CommandError(f"{n} {'problem' if n == 1 else 'problems'}. {self.unchanged}", returncode=2)
