from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.management.base import ActCommand
from annotation.model_calls.batch_files import custom_id
from annotation.model_calls.call_batches import show_call
from annotation.model_calls.request_bodies import request_of


class Command(ActCommand):
    unchanged = ""
    help = "Print the exact request of a call, made again from its rows and checked, and every raw response to it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("id", help="id of the call: that of its run, a hyphen and its number")

    def handle(self, *args: Any, **options: Any) -> None:
        call = show_call(options["id"], actor=None, at=timezone.now())
        request = request_of(call)
        self.stdout.write(f"call {custom_id(call, call.batch)}: {call.get_outcome_display()} {call.option}".rstrip())
        self.stdout.write(f"request, SHA-256 {request.sha256}:\n{request.body.decode()}")
        for attempt in call.attempts.order_by("number"):
            self.stdout.write(
                f"attempt {attempt.number}: {attempt.get_ending_display()}, status {attempt.status}, "
                f"request id {attempt.request_id or 'none'}, tokens {attempt.n_input} in and {attempt.n_output} out"
            )
            self.stdout.write(attempt.body or attempt.problem)
