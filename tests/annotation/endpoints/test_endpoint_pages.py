"""The pages of model endpoints: coordinators read, administrators change, and nobody reads a key."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.configured_endpoints import EndpointRefused, PriceRefused, cost_of, price_on, set_price
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import Role
from annotation.jobs import running
from annotation.model_calls.probing import probe
from annotation.models import AuditEvent, EndpointProbe, Job, Price, User
from annotation.refusals import Refused
from tests.annotation.endpoints.simulated_models import GOOD, TEXT_ONLY
from tests.annotation.endpoints.stand_in import StandInFault
from tests.annotation.endpoints.test_probing import SECRET, named_stand_in
from tests.conftest import make_person
from tests.pages import markup
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


LIST, PAGE = "/endpoints/", "/endpoints/local/"
GIVEN = {
    "model": GOOD,
    "currency": "EUR",
    "per_million_input": "2.5",
    "per_million_cached": "",
    "per_million_output": "10",
    "valid_from": "2026-11-20",
}


@pytest.fixture(autouse=True)
def two_endpoints(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path
    settings.MODEL_ENDPOINTS = (
        Endpoint("local", "http://127.0.0.1:9/v1", EndpointPlace.MACHINE, GOOD, 60, 100_000, 8),
        Endpoint("hosted", "https://models.example.org/v1"),
    )


def probe_it(settings: Settings, at: datetime, *faults: StandInFault, model: str = GOOD) -> EndpointProbe:
    kept = settings.MODEL_ENDPOINTS
    with named_stand_in(settings, *faults) as (_server, endpoint):
        made = probe(endpoint, model, actor=None, at=at)
    settings.MODEL_ENDPOINTS = kept
    return made


def price_it(at: datetime, day: date, amount: str = "2.5") -> Price:
    each = Decimal(amount)
    prices = dict.fromkeys(("per_million_input", "per_million_cached", "per_million_output"), each)
    return set_price("local", GOOD, currency="EUR", **prices, valid_from=day, actor=None, at=at)


def test_the_list(client: Client, cora: User, settings: Settings, noon: datetime) -> None:
    probe_it(settings, noon - timedelta(days=1))
    probe_it(settings, noon, model=TEXT_ONLY)
    price_it(noon, date(2026, 11, 1))
    client.force_login(cora)
    page = markup(client.get(LIST))
    assert page.index("local") < page.index("hosted")
    model = f'<bdi class="small">{TEXT_ONLY}</bdi>'
    for words in ("this machine", "outside", "4 yes, 2 no, 0 unknown", model, "EUR 2.5000 input", "missing"):
        assert words in page
    assert "http" not in page.partition("<main")[2]
    settings.MODEL_ENDPOINTS = ()
    page = markup(client.get(LIST))
    assert "No model endpoint is named yet" in page
    assert "REXVQA_MODEL_ENDPOINTS=&quot;local=http" in page or 'REXVQA_MODEL_ENDPOINTS="local=http' in page


def test_coordinators_read_and_change_nothing(client: Client, cora: User, noon: datetime) -> None:
    """A question that earlier versions asked is shown as it was."""
    client.force_login(cora)
    page = markup(client.get(PAGE))
    assert "<form" not in page.partition("<main")[2]
    assert "An administrator starts it." in page
    findings = [{"code": "second_image", "state": "no", "sentence": "It is left out.", "numbers": {}}]
    EndpointProbe.objects.create(endpoint="local", model=GOOD, findings=findings, probed_at=noon)
    page = markup(client.get(PAGE))
    assert ("Second image" in page, "It is left out." in page) == (True, True)
    page = markup(client.get("/endpoints/hosted/"))
    for words in ("any number of calls, any number of tokens, 4 connections", "not named", "No price is set"):
        assert words in page


def test_the_page_of_an_endpoint(client: Client, ada: User, settings: Settings, noon: datetime) -> None:
    first = probe_it(settings, noon - timedelta(days=1), model=TEXT_ONLY)
    probe_it(settings, noon)
    price_it(noon, date(2026, 11, 1), "1.25")
    client.force_login(ada)
    page = markup(client.get(PAGE))
    assert "60 calls a minute, 100,000 tokens a minute, 8 connections" in page
    assert "An image adds 256 tokens to the input." in page
    assert "5 yes, 1 no, 0 unknown" in page
    assert "1.2500" in page
    assert f'value="{GOOD}"' in page
    older = markup(client.get(PAGE, {"probe": first.public_id}))
    assert "An image was refused: status 400" in older
    assert f'?probe={first.public_id}" aria-current="true"' in older
    assert client.get(PAGE, {"probe": "nothing"}).status_code == 404


def test_a_probe_by_the_button(client: Client, ada: User, settings: Settings, noon: datetime) -> None:
    client.force_login(ada)
    assert client.post(f"{PAGE}probe/", {"model": f" {GOOD} "}).headers["Location"] == PAGE
    job = Job.objects.get()
    whole = markup(client.get(PAGE))
    part = markup(client.get(PAGE, headers={"HX-Request": "true"}))
    for shown in (whole, part):
        assert f'hx-get="{PAGE}" hx-trigger="every 2s"' in shown
        assert "waiting for a worker" in shown
    assert "<h1" not in part
    with named_stand_in(settings):
        running.run(job.public_id, clock=lambda: noon)
    part = markup(client.get(PAGE, headers={"HX-Request": "true"}))
    assert "hx-get" not in part
    assert "A short text was answered." in part


def test_a_probe_of_no_model(client: Client, ada: User) -> None:
    client.force_login(ada)
    for model, words in (("", "This field is required."), ("two words", "visible characters, without spaces")):
        response = client.post(f"{PAGE}probe/", {"model": model})
        assert (response.status_code, words in markup(response)) == (422, True)
    assert not Job.objects.exists()


def test_a_probe_that_failed_says_so(client: Client, ada: User, settings: Settings, noon: datetime) -> None:
    client.force_login(ada)
    client.post(f"{PAGE}probe/", {"model": GOOD})
    kept, settings.MODEL_ENDPOINTS = settings.MODEL_ENDPOINTS, ()
    running.run(Job.objects.get().public_id, clock=lambda: noon)
    settings.MODEL_ENDPOINTS = kept
    assert "The last probe ended without findings: There is no model endpoint named" in markup(client.get(PAGE))


def test_a_price_by_the_form(client: Client, ada: User) -> None:
    client.force_login(ada)
    page = markup(client.post(f"{PAGE}price/", GIVEN, follow=True))
    assert "The price is kept." in page
    price = Price.objects.get()
    assert (price.per_million_input, price.per_million_cached) == (Decimal("2.5"), Decimal("2.5"))
    assert (price.valid_from, price.set_by) == (date(2026, 11, 20), ada)


def test_a_wrong_price_is_told_at_its_field(client: Client, ada: User, noon: datetime) -> None:
    wrong = [
        ({"per_million_input": "-1"}, "per_million_input", "A price is 0 or more"),
        ({"per_million_cached": "x"}, "per_million_cached", "Enter a number."),
        ({"valid_from": "2026-11-09"}, "valid_from", "There is a price from 10 Nov 2026 on already"),
        ({"model": ""}, "model", "This field is required."),
    ]
    price_it(noon, date(2026, 11, 10))
    client.force_login(ada)
    for changes, field, words in wrong:
        response = client.post(f"{PAGE}price/", GIVEN | changes)
        page = markup(response)
        assert response.status_code == 422
        for shown in (words, f'id="price_{field}_error"', '<details class="rare" open>'):
            assert shown in page
    assert Price.objects.count() == 1


def test_no_page_shows_a_key(
    client: Client, ada: User, settings: Settings, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REXVQA_MODEL_KEY_LOCAL", SECRET)
    client.force_login(ada)
    client.post(f"{PAGE}probe/", {"model": GOOD})
    job = Job.objects.get()
    with named_stand_in(settings, StandInFault.OTHER_MODEL, *[StandInFault.KEY_ECHOED] * 2):
        running.run(job.public_id, clock=lambda: noon)
        shown = [client.get(address).content.decode() for address in (LIST, PAGE, f"/jobs/{job.public_id}/", "/jobs/")]
    assert "there" in shown[0]
    assert "[key removed]" in shown[1]
    for page in shown:
        assert "planted" not in page
        assert "9f8e7d6c5b" not in page


def test_a_key_that_cannot_be_used_is_missing_and_the_probe_says_why(client: Client, ada: User, tmp_path: Path) -> None:
    path = tmp_path / "model_keys" / "local"
    path.parent.mkdir()
    path.write_text(SECRET)
    path.chmod(0o644)
    client.force_login(ada)
    assert "missing" in markup(client.get(LIST))
    response = client.post(f"{PAGE}probe/", {"model": GOOD})
    assert response.status_code == 422
    assert "chmod 600" in markup(response)


def test_the_number_of_queries(
    client: Client, ada: User, settings: Settings, noon: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(3):
        probe_it(settings, noon + timedelta(hours=number))
        price_it(noon, date(2026, 11, 1 + number))
    client.force_login(ada)
    for address in (LIST, PAGE):
        client.get(address)
        with django_assert_max_num_queries(12):
            client.get(address)


def test_the_page_of_models_leads_here(client: Client, cora: User) -> None:
    client.force_login(cora)
    assert f'href="{LIST}"' in markup(client.get("/models/"))
    client.force_login(make_person("Mona", Role.MODEL_SUBMITTER))
    assert f'href="{LIST}"' not in markup(client.get("/models/"))


# --- a price holds from its day on, is never changed, and what is wrong with one is said ---
DAY = date(2026, 12, 1)


def set_(at: datetime, *, actor: User | None = None, **changes: Any) -> Price:
    given: dict[str, Any] = {
        "endpoint": "local",
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
    assert (price.endpoint, price.model, price.currency, price.set_by) == ("local", GOOD, "USD", ada)
    assert (price.per_million_input, price.per_million_cached) == (Decimal("2.5"), Decimal("0.25"))
    event = AuditEvent.objects.get()
    assert (event.act, event.actor, event.subject_id) == ("price.set", ada, str(price.pk))
    assert event.facts == {
        "endpoint": "local",
        "model": GOOD,
        "currency": "USD",
        "valid_from": "2026-12-01",
        "per_million_input": "2.5",
        "per_million_cached": "0.25",
        "per_million_output": "10",
    }


def test_the_price_of_a_day(noon: datetime) -> None:
    first, second = set_(noon), set_(noon, valid_from=date(2026, 12, 10), currency="EUR")
    assert price_on("local", GOOD, date(2026, 11, 30)) is None
    assert price_on("local", GOOD, DAY) == price_on("local", GOOD, date(2026, 12, 9)) == first
    assert price_on("local", GOOD, date(2027, 1, 1)) == second
    assert price_on("local", "small", DAY) is None
    assert price_on("other", GOOD, DAY) is None


def test_a_wrong_price(noon: datetime) -> None:
    wrong: list[tuple[dict[str, Any], type[Refused], str, str]] = [
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
    ]
    for changes, room, code, field in wrong:
        with refuses(room, code, field=field):
            set_(noon, **changes)
    assert not Price.objects.exists()
    assert not AuditEvent.objects.exists()


def test_a_day_that_is_not_after_the_newest(noon: datetime) -> None:
    set_(noon)
    for day in (DAY, date(2026, 11, 30)):
        with refuses(
            PriceRefused, "too_early", match="There is a price from 1 Dec 2026 on already", field="valid_from"
        ):
            set_(noon, valid_from=day)
    assert Price.objects.count() == 1
    assert set_(noon, valid_from=day, model="small").model == "small"


# --- what tokens cost ---
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
