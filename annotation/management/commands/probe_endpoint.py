from __future__ import annotations

import json
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone
from django.utils.translation import gettext

from annotation.call_enums import ProbeQuestion
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.probing import counts_of, probe
from annotation.management.base import ActCommand
from annotation.models import EndpointProbe


class Command(ActCommand):
    help = (
        "Find out with three short chats what a model at an endpoint can do, and keep it. It takes some 10,000 tokens."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("endpoint", help="a name of REXVQA_MODEL_ENDPOINTS")
        parser.add_argument("--model", default="", help="as the endpoint calls it; that of the list if not given")
        parser.add_argument("--json", action="store_true", help="print the findings as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        made = probe(endpoint_named(options["endpoint"]), options["model"], actor=None, at=timezone.now())
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
    found = [(gettext(ProbeQuestion.label_of(one["code"])), one) for one in made.findings]
    width = max(len(question) for question, _one in found)
    lines = [f"Probe {made.public_id} of {made.model} at {made.endpoint}:"]
    lines += [f"  {question:<{width}}  {gettext(one['state']):<7}  {one['sentence']}" for question, one in found]
    return "\n".join(lines)
