from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.model_calls.batch_files import write_requests
from annotation.model_calls.call_batches import batch_named


class Command(ActCommand):
    unchanged = "Nothing was written."
    help = (
        "Write what a model run has not asked yet as files in the batch form of OpenAI, as vllm run-batch reads them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", help="id of the run, as its page shows it")
        parser.add_argument("--output", required=True, metavar="FILE", help="a new file; further ones end in -2, -3")

    def handle(self, *args: Any, **options: Any) -> None:
        files = write_requests(
            batch_named(options["run"]), Path(options["output"]).resolve(), actor=None, at=timezone.now()
        )
        for file in files:
            self.stdout.write(f"{file}")
