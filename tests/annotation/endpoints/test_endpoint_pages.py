"""The pages of model endpoints: coordinators read, administrators change, and nobody reads a key."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.configured_endpoints import set_price
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.probing import probe
from annotation.enums import Role
from annotation.jobs import running
from annotation.models import EndpointProbe, Job, Price, User
from tests.annotation.endpoints.probed import SECRET, named_stand_in
from tests.annotation.endpoints.simulated_models import GOOD, TEXT_ONLY
from tests.annotation.endpoints.stand_in import StandInFault
from tests.conftest import make_person
from tests.pages import markup

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
    return set_price(
        "local",
        GOOD,
        currency="EUR",
        per_million_input=each,
        per_million_cached=each,
        per_million_output=each,
        valid_from=day,
        actor=None,
        at=at,
    )


def test_the_list(client: Client, cora: User, settings: Settings, noon: datetime) -> None:
    probe_it(settings, noon - timedelta(days=1))
    probe_it(settings, noon, model=TEXT_ONLY)
    price_it(noon, date(2026, 11, 1))
    client.force_login(cora)
    page = markup(client.get(LIST))
    assert page.index("local") < page.index("hosted")
    assert "this machine" in page
    assert "outside" in page
    assert "4 yes, 2 no, 0 unknown" in page
    assert f'<bdi class="small">{TEXT_ONLY}</bdi>' in page
    assert "EUR 2.5000 input" in page
    assert "missing" in page
    assert "http" not in page.partition("<main")[2]


def test_no_endpoint_is_named(client: Client, cora: User, settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = ()
    client.force_login(cora)
    page = markup(client.get(LIST))
    assert "No model endpoint is named yet" in page
    assert "REXVQA_MODEL_ENDPOINTS=&quot;local=http" in page or 'REXVQA_MODEL_ENDPOINTS="local=http' in page


def test_coordinators_read_and_change_nothing(client: Client, cora: User) -> None:
    client.force_login(cora)
    page = markup(client.get(PAGE))
    assert "<form" not in page.partition("<main")[2]
    assert "An administrator starts it." in page


def test_a_question_that_earlier_versions_asked_is_shown_as_it_was(client: Client, cora: User, noon: datetime) -> None:
    findings = [{"code": "second_image", "state": "no", "sentence": "It is left out.", "numbers": {}}]
    EndpointProbe.objects.create(endpoint="local", model=GOOD, findings=findings, probed_at=noon)
    client.force_login(cora)
    page = markup(client.get(PAGE))
    assert "Second image" in page
    assert "It is left out." in page


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


def test_an_endpoint_without_limits(client: Client, cora: User) -> None:
    client.force_login(cora)
    page = markup(client.get("/endpoints/hosted/"))
    assert "any number of calls, any number of tokens, 4 connections" in page
    assert "not named" in page
    assert "No price is set" in page


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


@pytest.mark.parametrize(
    ("model", "words"), [("", "This field is required."), ("two words", "visible characters, without spaces")]
)
def test_a_probe_of_no_model(client: Client, ada: User, model: str, words: str) -> None:
    client.force_login(ada)
    response = client.post(f"{PAGE}probe/", {"model": model})
    assert response.status_code == 422
    assert words in markup(response)
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


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"per_million_input": "-1"}, "per_million_input", "A price is 0 or more"),
        ({"per_million_cached": "x"}, "per_million_cached", "Enter a number."),
        ({"valid_from": "2026-11-09"}, "valid_from", "There is a price from 10 Nov 2026 on already"),
        ({"model": ""}, "model", "This field is required."),
    ],
)
def test_a_wrong_price_is_told_at_its_field(
    client: Client, ada: User, noon: datetime, changes: dict[str, str], field: str, words: str
) -> None:
    price_it(noon, date(2026, 11, 10))
    client.force_login(ada)
    response = client.post(f"{PAGE}price/", GIVEN | changes)
    page = markup(response)
    assert response.status_code == 422
    assert words in page
    assert f'id="price_{field}_error"' in page
    assert '<details class="rare" open>' in page
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
