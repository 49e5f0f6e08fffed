from __future__ import annotations

import json
from argparse import ArgumentTypeError
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from annotation.endpoints.prices import set_price
from annotation.management.base import ActCommand
from annotation.models import Price


def amount(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ArgumentTypeError(f"{text!r} is no number such as 2.50") from None


def day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no day such as 2026-12-01") from None


class Command(ActCommand):
    help = "Say what a model costs at an endpoint from a day on, per million tokens. A price is never changed."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("endpoint", help="a name of REXVQA_MODEL_ENDPOINTS")
        parser.add_argument("--model", default="", help="as the endpoint calls it; that of the list if not given")
        parser.add_argument("--currency", required=True, metavar="EUR", help="three letters")
        parser.add_argument("--input", required=True, type=amount, metavar="2.50", help="per million input tokens")
        parser.add_argument("--cached", type=amount, metavar="0.25", help="of them cached; as input if not given")
        parser.add_argument("--output", required=True, type=amount, metavar="10", help="per million output tokens")
        parser.add_argument("--from", dest="day", type=day, metavar="2026-12-01", help="first day; today if not given")
        parser.add_argument("--json", action="store_true", help="print the stored price as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        now = timezone.now()
        price = set_price(
            options["endpoint"],
            options["model"],
            currency=options["currency"],
            per_million_input=options["input"],
            per_million_cached=options["input"] if options["cached"] is None else options["cached"],
            per_million_output=options["output"],
            valid_from=options["day"] or timezone.localdate(now),
            actor=None,
            at=now,
        )
        self.stdout.write(json.dumps(as_json(price), indent=2) if options["json"] else as_text(price))


def as_json(price: Price) -> dict[str, str]:
    return {
        "endpoint": price.endpoint,
        "model": price.model,
        "currency": price.currency,
        "input": str(price.per_million_input),
        "cached": str(price.per_million_cached),
        "output": str(price.per_million_output),
        "valid_from": price.valid_from.isoformat(),
    }


def as_text(price: Price) -> str:
    amounts = "{input} input, {cached} cached, {output} output"
    return f"{{model}} at {{endpoint}} from {{valid_from}}, {{currency}} per million tokens: {amounts}".format(
        **as_json(price)
    )
