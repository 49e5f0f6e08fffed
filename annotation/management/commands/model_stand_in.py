from __future__ import annotations

import signal
from typing import Any

from django.core.management.base import CommandParser

from annotation.endpoints.kernels.simulated_models import EMBEDDING_MODEL, MODELS
from annotation.endpoints.stand_in import StandIn
from annotation.management.base import ActCommand


class Command(ActCommand):
    unchanged = "The stand-in did not start."
    help = "Serve simulated models on this machine, for trying things out: no model is behind them. Ctrl-C ends it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8100, help="on 127.0.0.1 (8100); 0: any that is free")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same answers (1)")
        parser.add_argument("--delay-ms", type=int, default=0, help="how long each answer takes (0)")

    def handle(self, *args: Any, **options: Any) -> None:
        with StandIn(seed=options["seed"], port=options["port"], seconds=options["delay_ms"] / 1000) as server:
            self.stdout.write(f"Simulated models: {', '.join((*MODELS, EMBEDDING_MODEL))}")
            self.stdout.write(f"REXVQA_MODEL_ENDPOINTS=stand-in={server.url}")
            self.stdout.flush()
            for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell that starts it has SIGINT ignored
                signal.signal(number, lambda *_: server.is_closing.set())
            server.is_closing.wait()
            self.stdout.write("Ended.")
