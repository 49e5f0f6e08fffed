"""What every room refuses that has a model asked, whatever it asks; each room's own tests ask what is its own."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from annotation.call_enums import PromptPurpose, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.model_calls.attempts import (
    Asking,
    CallPlan,
    add_calls,
    check_not_archived,
    check_purpose,
    permitted_and_priced,
    store_batch,
)
from annotation.models import QuestionBank, ValidatorRun
from annotation.refusals import Refused
from tests.annotation.endpoints.simulated_models import GOOD
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, NOON, make_permission, make_price, make_prompt
from tests.annotation.review.cases import make_bank, make_revisions
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = (HERE, Endpoint("outside", "https://models.example/v1"))


@pytest.fixture
def bank() -> QuestionBank:
    return make_bank("Asked")


def asking(**fields: Any) -> Asking:
    return Asking(**{"endpoint": ENDPOINT, "model": GOOD, **fields})


@pytest.mark.parametrize(
    ("given", "needs", "fields", "code"),
    [
        (None, {}, {}, "no_permission"),
        ({"expires_at": NOON}, {}, {}, "no_permission"),
        ({"withdrawn_at": NOON - DAY}, {}, {}, "no_permission"),
        ({"images": False}, {"images": True}, {}, "no_permission"),
        ({}, {"reports": True}, {}, "no_permission"),
        ({}, {}, {"endpoint": "elsewhere"}, "no_endpoint"),
        ({}, {}, {"endpoint": "outside"}, "no_key"),
        ({}, {}, {"cap": Decimal(5)}, "cap_without_price"),
        ({}, {}, {"cap": Decimal(0)}, "bad_cap"),
    ],
)
def test_refused(
    bank: QuestionBank, given: dict[str, Any] | None, needs: dict[str, bool], fields: dict[str, Any], code: str
) -> None:
    if given is not None:
        make_permission(bank, **{"terms": "", **given})
    if code == "bad_cap":
        make_price()
    with refuses(Refused, code):
        permitted_and_priced(bank, asking(**fields), at=NOON, **needs)


def test_an_archived_bank_and_a_prompt_for_something_else(bank: QuestionBank) -> None:
    check_not_archived(bank)
    bank.archived_at = NOON
    with refuses(Refused, "archived", match="bring it back first"):
        check_not_archived(bank)
    prompt = make_prompt(purpose=PromptPurpose.CHECK)
    check_purpose(prompt, PromptPurpose.CHECK)
    check_purpose(None, PromptPurpose.BULLETS)
    with refuses(Refused, "wrong_purpose", match="is made to check questions, not to write questions"):
        check_purpose(prompt, PromptPurpose.QUESTIONS)


def test_the_terms_are_those_of_the_day_and_stored_with_the_calls(bank: QuestionBank) -> None:
    permission, price = make_permission(bank), make_price(valid_from=NOON.date() - DAY)
    make_price(valid_from=NOON.date() + DAY)
    wanted = asking(cap=Decimal("12.50"), chat=ChatSettings(temperature=0.0))
    plan = CallPlan[Asking, ValidatorRun](wanted, *permitted_and_priced(bank, wanted, at=NOON))
    assert (plan.permission, plan.price, plan.terms()["cap"]) == (permission, price, "12.50")
    batch = store_batch(plan, bank, make_prompt(), n_calls=2, actor=None, at=NOON)
    revisions = make_revisions(bank, {1: {}, 2: {}})
    add_calls(batch, ({"revision": one} for one in revisions))
    assert list(batch.calls.values_list("number", "revision")) == [(1, revisions[0].pk), (2, revisions[1].pk)]
    assert (batch.state, batch.images, batch.chat_settings) == ("planned", SentImages.NONE, {"temperature": 0.0})
    assert (batch.price, batch.permission, batch.cap) == (price, permission, Decimal("12.50"))
