"""A price holds from its day on, is never changed, and what is wrong with one is said."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import Settings

from annotation.endpoints.configured_endpoints import EndpointRefused, PriceRefused, cost_of, price_on, set_price
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.models import AuditEvent, Price, User
from annotation.refusals import Refused
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
DAY = date(2026, 12, 1)


@pytest.fixture(autouse=True)
def one_endpoint(settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = (Endpoint("hosted", "https://models.example.org/v1", model="big"),)


def set_(at: datetime, *, actor: User | None = None, **changes: Any) -> Price:
    given: dict[str, Any] = {
        "endpoint": "hosted",
        "model": "",
        "currency": "usd ",
        "per_million_input": Decimal("2.5"),
        "per_million_cached": Decimal("0.25"),
        "per_million_output": Decimal(10),
        "valid_from": DAY,
    }
    given |= changes
    return set_price(given.pop("endpoint"), given.pop("model"), **given, actor=actor, at=at)


def test_a_price_is_kept_and_audited(noon: datetime, ada: User) -> None:
    price = set_(noon, actor=ada)
    price.refresh_from_db()
    assert (price.endpoint, price.model, price.currency, price.set_by) == ("hosted", "big", "USD", ada)
    assert (price.per_million_input, price.per_million_cached) == (Decimal("2.5"), Decimal("0.25"))
    event = AuditEvent.objects.get()
    assert (event.act, event.actor, event.subject_id) == ("price.set", ada, str(price.pk))
    assert event.facts == {
        "endpoint": "hosted",
        "model": "big",
        "currency": "USD",
        "valid_from": "2026-12-01",
        "per_million_input": "2.5",
        "per_million_cached": "0.25",
        "per_million_output": "10",
    }


def test_the_price_of_a_day(noon: datetime) -> None:
    first, second = set_(noon), set_(noon, valid_from=date(2026, 12, 10), currency="EUR")
    assert price_on("hosted", "big", date(2026, 11, 30)) is None
    assert price_on("hosted", "big", DAY) == price_on("hosted", "big", date(2026, 12, 9)) == first
    assert price_on("hosted", "big", date(2027, 1, 1)) == second
    assert price_on("hosted", "small", DAY) is None
    assert price_on("other", "big", DAY) is None


@pytest.mark.parametrize(
    ("changes", "room", "code", "field"),
    [
        ({"per_million_input": Decimal("-0.01")}, PriceRefused, "bad_price", "per_million_input"),
        ({"per_million_cached": Decimal("NaN")}, PriceRefused, "bad_price", "per_million_cached"),
        ({"per_million_output": Decimal("Infinity")}, PriceRefused, "bad_price", "per_million_output"),
        ({"per_million_output": Decimal("1E+30")}, PriceRefused, "bad_price", "per_million_output"),
        ({"per_million_input": Decimal("0.00001")}, PriceRefused, "bad_price", "per_million_input"),
        ({"currency": "$"}, PriceRefused, "bad_currency", "currency"),
        ({"currency": "euro"}, PriceRefused, "bad_currency", "currency"),
        ({"currency": "ÉUR"}, PriceRefused, "bad_currency", "currency"),
        ({"endpoint": "other"}, EndpointRefused, "no_endpoint", "endpoint"),
        ({"model": "two words"}, EndpointRefused, "bad_model", "model"),
    ],
)
def test_a_wrong_price(noon: datetime, changes: dict[str, Any], room: type[Refused], code: str, field: str) -> None:
    with refuses(room, code, field=field):
        set_(noon, **changes)
    assert not Price.objects.exists()
    assert not AuditEvent.objects.exists()


@pytest.mark.parametrize("day", [DAY, date(2026, 11, 30)])
def test_a_day_that_is_not_after_the_newest(noon: datetime, day: date) -> None:
    set_(noon)
    with refuses(PriceRefused, "too_early", match="There is a price from 1 Dec 2026 on already", field="valid_from"):
        set_(noon, valid_from=day)
    assert Price.objects.count() == 1
    assert set_(noon, valid_from=day, model="small").model == "small"


# What tokens cost

RATES = (Decimal("2.50"), Decimal("0.25"), Decimal(10))


@pytest.mark.parametrize(
    ("n_input", "n_cached", "n_output", "cost"),
    [
        (1_000_000, 0, 0, "2.5"),
        (1_000_000, 1_000_000, 0, "0.25"),
        (1_000_000, 400_000, 50_000, "2.1"),  # 0.6 x 2.50 + 0.4 x 0.25 + 0.05 x 10
        (1, 0, 1, "0.0000125"),
        (100, 200, 0, "0.000025"),
        (0, 0, 0, "0"),
    ],
)
def test_a_cost(n_input: int, n_cached: int, n_output: int, cost: str) -> None:
    assert cost_of(*RATES, n_input=n_input, n_cached=n_cached, n_output=n_output) == Decimal(cost)


def test_it_fits_the_columns_of_costs() -> None:
    cost = cost_of(Decimal("0.0001"), Decimal(0), Decimal(0), n_input=1, n_cached=0, n_output=0)
    assert cost.as_tuple().exponent == -8
