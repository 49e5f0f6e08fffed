"""The endpoints that whoever runs the server has named, their keys, and what their models cost from which day."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log, record
from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import LONGEST_MODEL_NAME, ApiKey, Endpoint
from annotation.endpoints.simulated_endpoint import simulated_endpoint
from annotation.models import Price, User
from annotation.refusals import Refused

KEY_FOLDER = "model_keys"  # of the home; not in a backup
LONGEST_KEY_FILE = 4096  # bytes
LONGEST_SHOWN = 80  # characters of a name that no endpoint has
MODEL_NAME = re.compile(rf"[!-~]{{1,{LONGEST_MODEL_NAME}}}")


class EndpointRefused(Refused):
    """A model endpoint cannot be used; the sentence says why and never holds a key."""


def endpoints() -> tuple[Endpoint, ...]:
    """In the order of ``REXVQA_MODEL_ENDPOINTS``; in a demonstration, its simulated models come last."""
    named: tuple[Endpoint, ...] = settings.MODEL_ENDPOINTS
    simulated = simulated_endpoint()
    if simulated is None or any(one.name == simulated.name for one in named):
        return named
    return (*named, simulated)


def endpoint_named(name: str) -> Endpoint:
    """Raises EndpointRefused (``no_endpoint``) for a name that is not in the list."""
    known = {endpoint.name: endpoint for endpoint in endpoints()}
    if name in known:
        return known[name]
    there = _("Endpoints: %(names)s.") % {"names": ", ".join(known)} if known else _("There is none yet.")
    sentence = _(
        "There is no model endpoint named “%(name)s”. %(there)s Whoever runs the server names them in "
        "REXVQA_MODEL_ENDPOINTS."
    ) % {"name": name[:LONGEST_SHOWN], "there": there}
    raise EndpointRefused("no_endpoint", sentence, status=404, field="endpoint")


def endpoint_to_ask(name: str) -> Endpoint:
    """Raises EndpointRefused for a name that is not in the list, and (``no_key``) for an endpoint outside without its
    key.
    """
    endpoint = endpoint_named(name)
    if endpoint.place == EndpointPlace.OUTSIDE and key_for(endpoint) is None:
        sentence = _("The key of the endpoint “%(name)s” is missing. Whoever runs the server gives it its key.")
        raise EndpointRefused("no_key", sentence % {"name": name}, field="endpoint")
    return endpoint


def checked_model(endpoint: Endpoint, model: str) -> str:
    """The name, or that of the endpoint where none is given. Raises EndpointRefused (``no_model``, ``bad_model``)."""
    name = model.strip() or endpoint.model
    if not name:
        sentence = _("Name the model as the endpoint calls it, or give the endpoint one in REXVQA_MODEL_ENDPOINTS.")
        raise EndpointRefused("no_model", sentence, status=422, field="model")
    if not MODEL_NAME.fullmatch(name):
        sentence = _("The name of a model has 1 to 200 visible characters, without spaces.")
        raise EndpointRefused("bad_model", sentence, status=422, field="model")
    return name


def key_for(endpoint: Endpoint) -> ApiKey | None:
    """Its key: of the environment, else of its file in ``model_keys``; None for an endpoint that is asked without one.

    Raises EndpointRefused (``key_open``) for a file that others may read, and (``bad_key``) for what cannot be a key.
    """
    variable = f"REXVQA_MODEL_KEY_{endpoint.name.upper().replace('-', '_')}"
    if in_environment := os.environ.get(variable, "").strip():
        return _key(in_environment, variable)
    path = Path(settings.HOME) / KEY_FOLDER / endpoint.name
    in_file = private_text(path)
    return None if in_file is None else _key(in_file, str(path))


def _key(secret: str, place: str) -> ApiKey:
    try:
        return ApiKey(secret)
    except ValueError:
        sentence = _(
            "%(place)s holds no key: one has 8 to 500 visible characters, without spaces, quotes and backslashes."
        )
        raise EndpointRefused("bad_key", sentence % {"place": place}) from None


def private_text(path: Path) -> str | None:
    """What a file holds that its owner alone may read; None where there is no file. Raises EndpointRefused."""
    try:
        with path.open("rb") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & (stat.S_IRWXG | stat.S_IRWXO):
                sentence = _("Others may read %(file)s. Let its owner say: chmod 600 %(file)s")
                raise EndpointRefused("key_open", sentence % {"file": path})
            return file.read(LONGEST_KEY_FILE).decode("ascii", "replace").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        sentence = _("%(file)s cannot be read: %(reason)s.")
        raise EndpointRefused("bad_key", sentence % {"file": path, "reason": error.strerror}) from None


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
        endpoint=named.name, model=model, currency=currency, **amounts, valid_from=valid_from, set_by=actor, set_at=at
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


# --- permissions --------------------------------------------------------------------------------------
