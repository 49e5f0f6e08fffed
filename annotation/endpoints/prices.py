"""What models cost at their endpoints. A price holds from its day until that of the next; none is ever changed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal

from django.db import transaction
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log, record
from annotation.endpoints.configured_endpoints import checked_model, endpoint_named
from annotation.models import Price, User
from annotation.refusals import Refused

CURRENCY = re.compile(r"[A-Z]{3}")
ABOVE = Decimal(10**8)  # the columns have eight digits before the point, and four behind it
N_DECIMALS = 4
MILLION = Decimal(1_000_000)
SMALLEST = Decimal("0.00000001")  # of a currency, as the columns of costs keep it


class PriceRefused(Refused):
    """A price cannot be kept."""


@transaction.atomic
def set_price(
    endpoint: str,
    model: str,
    *,
    currency: str,
    per_million_input: Decimal,
    per_million_cached: Decimal,
    per_million_output: Decimal,
    valid_from: date,
    actor: User | None,
    at: datetime,
) -> Price:
    """Keep what this model costs at the endpoint of this name from a day on.

    Raises PriceRefused (``bad_currency``, ``bad_price``, ``too_early``) and EndpointRefused.
    """
    named = endpoint_named(endpoint)
    model, currency = checked_model(named, model), currency.strip().upper()
    if not CURRENCY.fullmatch(currency):
        sentence = _("A currency has three letters, such as EUR or USD.")
        raise PriceRefused("bad_currency", sentence, status=422, field="currency")
    amounts = {
        "per_million_input": per_million_input,
        "per_million_cached": per_million_cached,
        "per_million_output": per_million_output,
    }
    _check_amounts(amounts)
    lock_log()  # so that nobody else sets one between the question and the row
    _check_day(named.name, model, valid_from)
    price = Price.objects.create(
        endpoint=named.name,
        model=model,
        currency=currency,
        **amounts,
        valid_from=valid_from,
        set_by=actor,
        set_at=at,
    )
    facts = {"endpoint": named.name, "model": model, "currency": currency, "valid_from": valid_from.isoformat()}
    facts |= {name: str(amount) for name, amount in amounts.items()}
    record("price.set", actor=actor, at=at, subject=price, facts=facts)
    return price


def price_on(endpoint: str, model: str, day: date) -> Price | None:
    """The price on a day; None where nobody has stated what the model costs."""
    return Price.objects.filter(endpoint=endpoint, model=model, valid_from__lte=day).order_by("-valid_from").first()


def cost_of(
    per_million_input: Decimal,
    per_million_cached: Decimal,
    per_million_output: Decimal,
    *,
    n_input: int,
    n_cached: int,
    n_output: int,
) -> Decimal:
    """In the currency of the price, to eight decimals. Cached tokens are among the input and cost their own price;
    more of them than input, as no endpoint should say, count as all of it.
    """
    n_cached = min(n_cached, n_input)
    cost = (n_input - n_cached) * per_million_input + n_cached * per_million_cached + n_output * per_million_output
    return (cost / MILLION).quantize(SMALLEST)


def _check_amounts(amounts: Mapping[str, Decimal]) -> None:
    for name, amount in amounts.items():
        if not amount.is_finite() or amount < 0 or amount >= ABOVE or amount != round(amount, N_DECIMALS):
            sentence = _("A price is 0 or more, below 100,000,000, with four decimals at the most.")
            raise PriceRefused("bad_price", sentence, status=422, field=name)


def _check_day(endpoint: str, model: str, valid_from: date) -> None:
    newest = Price.objects.filter(endpoint=endpoint, model=model).order_by("-valid_from").first()
    if newest is not None and valid_from <= newest.valid_from:
        sentence = _(
            "There is a price from %(day)s on already, and what was computed with it stays as it is. Give a later day."
        )
        day = date_format(newest.valid_from, "DATE_FORMAT")
        raise PriceRefused("too_early", sentence % {"day": day}, field="valid_from")
