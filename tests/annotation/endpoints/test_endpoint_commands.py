"""``manage.py probe_endpoint`` and ``manage.py set_price``."""

from __future__ import annotations

import io
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from annotation.models import EndpointProbe, Price
from tests.annotation.endpoints.probed import SECRET, named_stand_in
from tests.annotation.endpoints.stand_in import StandInFault

pytestmark = pytest.mark.django_db
PRICE = ("set_price", "local", "--currency", "EUR", "--input", "2.5", "--output", "10")


@pytest.fixture(autouse=True)
def own_home(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path


def said_by(*arguments: str) -> str:
    out = io.StringIO()
    call_command(*arguments, stdout=out)
    return out.getvalue()


def as_json(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said_by(*arguments, "--json"))
    return found


def test_a_probe(settings: Settings) -> None:
    with named_stand_in(settings):
        text, told = said_by("probe_endpoint", "local"), as_json("probe_endpoint", "local", "--model", "stand-in-json")
    made = EndpointProbe.objects.get(model="stand-in-json")
    assert "Keeps to a JSON schema     no       A JSON schema is accepted and ignored" in text
    assert (told["probe"], told["endpoint"], told["model"]) == (made.public_id, "local", "stand-in-json")
    assert (told["yes"], told["no"], told["unknown"]) == (5, 0, 0)
    assert told["findings"] == made.findings
    assert made.probed_by is None


def test_a_probe_never_prints_the_key(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REXVQA_MODEL_KEY_LOCAL", SECRET)
    with named_stand_in(settings, *[StandInFault.KEY_ECHOED] * 8):
        said = said_by("probe_endpoint", "local") + said_by("probe_endpoint", "local", "--json")
    assert "[key removed]" in said
    assert "planted" not in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("probe_endpoint", "other"), "no model endpoint named “other”. Endpoints: local"),
        (("probe_endpoint", "local", "--model", "two words"), "visible characters"),
        ((*PRICE, "--cached", "-1"), "A price is 0 or more"),
        ((*PRICE, "--cached", "x"), "'x' is no number such as 2.50"),
        ((*PRICE, "--from", "1.12.2026"), "'1.12.2026' is no day such as 2026-12-01"),
        ((*PRICE[:3], "Euro", *PRICE[4:]), "A currency has three letters"),
    ],
)
def test_bad_input(settings: Settings, arguments: tuple[str, ...], words: str) -> None:
    with named_stand_in(settings) as (server, _endpoint), pytest.raises(CommandError, match=words) as refused:
        said_by(*arguments)
    assert refused.value.returncode in {1, 2}  # 1: argparse, called from Python; its own exit status is 2
    assert server.ledger == []
    assert not EndpointProbe.objects.exists()
    assert not Price.objects.exists()


def test_a_price(settings: Settings) -> None:
    with named_stand_in(settings):
        told = as_json(*PRICE, "--from", "2026-12-01")
        text = said_by(*PRICE, "--from", "2026-12-02", "--cached", "0.25")
        with pytest.raises(CommandError, match="Nothing was stored") as refused:
            said_by(*PRICE, "--from", "2026-12-02")
    assert refused.value.returncode == 2
    assert told == {
        "endpoint": "local",
        "model": "stand-in-good",
        "currency": "EUR",
        "input": "2.5",
        "cached": "2.5",
        "output": "10",
        "valid_from": "2026-12-01",
    }
    assert text.strip() == (
        "stand-in-good at local from 2026-12-02, EUR per million tokens: 2.5 input, 0.25 cached, 10 output"
    )
    assert list(Price.objects.values_list("valid_from", flat=True)) == [date(2026, 12, 2), date(2026, 12, 1)]
