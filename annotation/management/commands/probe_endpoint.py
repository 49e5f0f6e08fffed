from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext
from rich.progress import MofNCompleteColumn

from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.probing import counts_of, findings_in, probe
from annotation.management.base import ActCommand, progress_bar
from annotation.models import EndpointProbe


@dataclass(frozen=True)
class ShownProgress:
    """The progress of a job, on the bar of a command."""

    show: Callable[[int, int], None] | None

    def report(self, done: int, total: int, message: str = "") -> None:
        if self.show:
            self.show(done, total)


class Command(ActCommand):
    help = "Find out with phantom images what a model at an endpoint can do, and keep it. It takes some 20,000 tokens."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("endpoint", help="a name of REXVQA_MODEL_ENDPOINTS")
        parser.add_argument("--model", default="", help="as the endpoint calls it; that of the list if not given")
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = endpoint_named(options["endpoint"])
        with progress_bar("Probing", MofNCompleteColumn, quiet=options["json"]) as show:
            made = probe(endpoint, options["model"], actor=None, at=timezone.now(), progress=ShownProgress(show))
        self.stdout.write(json.dumps(as_json(made), indent=2, ensure_ascii=False) if options["json"] else as_text(made))


def as_json(made: EndpointProbe) -> dict[str, Any]:
    return {
        "probe": made.public_id,
        "endpoint": made.endpoint,
        "model": made.model,
        "probed_at": made.probed_at.isoformat(),
        **counts_of(made),
        "findings": made.findings,
    }


def as_text(made: EndpointProbe) -> str:
    found = [(gettext(one.code.label), gettext(one.state.label), one.sentence) for one in findings_in(made)]
    width = max(len(question) for question, _state, _sentence in found)
    lines = [f"Probe {made.public_id} of {made.model} at {made.endpoint}:"]
    lines += [f"  {question:<{width}}  {state:<7}  {sentence}" for question, state, sentence in found]
    return "\n".join(lines)
