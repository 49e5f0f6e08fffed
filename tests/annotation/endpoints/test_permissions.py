"""Permissions to send: who gives them, on what terms, for how long, and what is in force."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from annotation.audit.deleting import archive
from annotation.call_enums import EndpointPlace, PermissionState
from annotation.endpoints.configured_endpoints import EndpointRefused
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.sending_permissions import (
    SendingRefused,
    give_permission,
    permission_in_force,
    withdraw_permission,
)
from annotation.models import AuditEvent, QuestionBank, SendingPermission, User
from annotation.questionbank.bank_life import change_terms, check_unused
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.review.cases import make_bank
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

TERMS = "Only for research.\n\nNo sharing with third parties."
NAMED = (
    Endpoint("local", "http://127.0.0.1:8000/v1", EndpointPlace.MACHINE),
    Endpoint("ward", "http://10.0.0.9:8000/v1", EndpointPlace.NETWORK),
    Endpoint("hosted", "https://models.example.org/v1", EndpointPlace.OUTSIDE),
)


@pytest.fixture
def bank(settings: Settings, noon: datetime) -> QuestionBank:
    settings.MODEL_ENDPOINTS = NAMED
    made = make_bank("Chest")
    change_terms(made, terms=TERMS, holds_quarters=False, actor=None, at=noon)
    made.refresh_from_db()
    return made


def give(bank: QuestionBank, noon: datetime, endpoint: str = "local", **fields: Any) -> SendingPermission:
    given: dict[str, Any] = {
        "questions": True,
        "images": False,
        "reports": False,
        "reason": "compare models",
        "agreement": "vote 12/2026",
        "accepted_terms": "",
        "expires_at": noon + timedelta(days=30),
        "actor": None,
        "at": noon,
    }
    return give_permission(bank, endpoint, **given | fields)


def test_nothing_is_permitted_to_begin_with(bank: QuestionBank, noon: datetime) -> None:
    for named in NAMED:
        with refuses(SendingRefused, "no_permission", match=named.name):
            permission_in_force(bank, named.name, at=noon)


def test_what_is_given_holds_for_its_bank_endpoint_parts_and_time(
    bank: QuestionBank, ada: User, noon: datetime
) -> None:
    given = give(bank, noon, images=True, actor=ada)
    assert permission_in_force(bank, "local", at=noon, images=True) == given
    other = make_bank("Other")
    for of, endpoint, at, reports in (
        (bank, "ward", noon, False),
        (other, "local", noon, False),
        (bank, "local", noon, True),
        (bank, "local", given.expires_at, False),
    ):
        with refuses(SendingRefused, "no_permission"):
            permission_in_force(of, endpoint, at=at, reports=reports)
    event = AuditEvent.objects.get(act="permission.given")
    assert (event.actor, event.subject_id) == (ada, given.public_id)
    assert event.facts["sent"] == ["questions", "images"]


def test_reports_alone_are_for_writing_questions(bank: QuestionBank, noon: datetime) -> None:
    given = give(bank, noon, questions=False, reports=True)
    assert permission_in_force(bank, "local", at=noon, questions=False, reports=True) == given
    with refuses(SendingRefused, "no_permission", match="send questions of"):
        permission_in_force(bank, "local", at=noon, reports=True)


def test_several_permissions_add_up_until_the_first_of_them_ends(bank: QuestionBank, noon: datetime) -> None:
    reports = give(bank, noon, questions=False, reports=True, expires_at=noon + timedelta(days=2))
    images = give(bank, noon + timedelta(minutes=1), images=True)
    at = noon + timedelta(hours=1)
    assert permission_in_force(bank, "local", at=at, images=True, reports=True) == reports, "the first that ends"
    assert permission_in_force(bank, "local", at=at, images=True) == images
    whole = give(bank, at, images=True, reports=True)
    assert permission_in_force(bank, "local", at=at, images=True, reports=True) == whole, "one that is enough alone"
    withdraw_permission(whole, "too wide", actor=None, at=at)
    withdraw_permission(images, "the contract ended", actor=None, at=at)
    with refuses(SendingRefused, "no_permission", match="send questions and images of"):
        permission_in_force(bank, "local", at=at, images=True, reports=True)
    give(bank, at, "ward")
    with refuses(SendingRefused, "no_permission", match="send questions of"):
        permission_in_force(bank, "local", at=at, reports=True)


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"questions": False}, "nothing_sent", "questions"),
        ({"questions": False, "images": True}, "images_alone", "images"),
        ({"questions": False, "images": True, "reports": True}, "images_alone", "images"),
        ({"reason": " \n"}, "no_reason", "reason"),
        ({"agreement": ""}, "no_agreement", "agreement"),
        ({"reason": "x" * 5_000}, "too_long", "reason"),
        ({"expires_at": timedelta(0)}, "past", "expires_at"),
        ({"expires_at": timedelta(days=-1)}, "past", "expires_at"),
        ({"expires_at": timedelta(days=367)}, "too_far", "expires_at"),
    ],
)
def test_bad_input_is_named_and_nothing_is_stored(
    bank: QuestionBank, noon: datetime, fields: dict[str, Any], code: str, field: str
) -> None:
    if "expires_at" in fields:
        fields = {"expires_at": noon + fields["expires_at"]}
    n_events = AuditEvent.objects.count()
    with refuses(SendingRefused, code, field=field):
        give(bank, noon, **fields)
    assert not SendingPermission.objects.exists()
    assert AuditEvent.objects.count() == n_events


def test_an_endpoint_that_is_not_in_the_list(bank: QuestionBank, noon: datetime) -> None:
    with refuses(EndpointRefused, "no_endpoint", match="REXVQA_MODEL_ENDPOINTS"):
        give(bank, noon, "planted")


def test_an_archived_bank(bank: QuestionBank, cora: User, noon: datetime) -> None:
    archive(bank, actor=cora, at=noon)
    with refuses(SendingRefused, "archived", match="Chest"):
        give(bank, noon)


def test_only_an_administrator_gives_and_withdraws(bank: QuestionBank, cora: User, rita: User, noon: datetime) -> None:
    for person in (cora, rita):
        with refuses(SendingRefused, "not_administrator", status=403):
            give(bank, noon, actor=person)
    given = give(bank, noon)
    with refuses(SendingRefused, "not_administrator"):
        withdraw_permission(given, "I want to", actor=cora, at=noon)
    given.refresh_from_db()
    assert given.holds_at(noon)


@pytest.mark.parametrize("endpoint", ["local", "ward"])
def test_an_endpoint_here_asks_for_no_terms(bank: QuestionBank, noon: datetime, endpoint: str) -> None:
    assert give(bank, noon, endpoint).terms == ""


def test_an_endpoint_outside_asks_for_the_terms_word_by_word(bank: QuestionBank, noon: datetime) -> None:
    with refuses(SendingRefused, "terms_not_accepted"):
        give(bank, noon, "hosted")
    as_a_browser_sends_it = f"\r\n{TERMS}\r\n".replace("\n", "\r\n")
    given = give(bank, noon, "hosted", accepted_terms=as_a_browser_sends_it)
    assert given.terms == TERMS


def test_terms_that_change_in_between_are_not_accepted(bank: QuestionBank, noon: datetime) -> None:
    shown = bank.terms
    change_terms(QuestionBank.objects.get(), terms="Not at all.", holds_quarters=False, actor=None, at=noon)
    with refuses(SendingRefused, "terms_changed", field="accepted"):
        give(bank, noon, "hosted", accepted_terms=shown)  # with a row of the bank that is out of date


def test_a_bank_without_terms_goes_to_no_endpoint_outside(bank: QuestionBank, noon: datetime) -> None:
    change_terms(bank, terms=" ", holds_quarters=False, actor=None, at=noon)
    with refuses(SendingRefused, "no_terms", match="states no terms"):
        give(bank, noon, "hosted", accepted_terms="anything")


def test_a_permission_without_terms_does_not_hold_once_its_endpoint_stands_outside(
    bank: QuestionBank, noon: datetime, settings: Settings
) -> None:
    give(bank, noon, "local")
    settings.MODEL_ENDPOINTS = (Endpoint("local", "https://elsewhere.example.org/v1", EndpointPlace.OUTSIDE),)
    with refuses(SendingRefused, "no_permission"):
        permission_in_force(bank, "local", at=noon)


def test_a_withdrawn_permission_holds_no_longer_and_says_why(bank: QuestionBank, ada: User, noon: datetime) -> None:
    given = give(bank, noon)
    later = noon + timedelta(hours=1)
    with refuses(SendingRefused, "no_because"):
        withdraw_permission(given, " ", actor=ada, at=later)
    done = withdraw_permission(given, "the contract ended", actor=ada, at=later)
    assert (done.withdrawn_by, done.withdrawn_because) == (ada, "the contract ended")
    assert done.state_at(later) == PermissionState.WITHDRAWN
    with refuses(SendingRefused, "no_permission"):
        permission_in_force(bank, "local", at=later)
    with refuses(SendingRefused, "over", match="withdrawn already"):
        withdraw_permission(given, "again", actor=ada, at=later)
    assert AuditEvent.objects.get(act="permission.withdrawn").facts["because"] == "the contract ended"


def test_what_is_over_is_not_withdrawn(bank: QuestionBank, noon: datetime) -> None:
    given = give(bank, noon)
    assert given.state_at(given.expires_at) == PermissionState.EXPIRED
    with refuses(SendingRefused, "over", match="over already"):
        withdraw_permission(given, "late", actor=None, at=given.expires_at)


def test_the_newest_of_several_is_named(bank: QuestionBank, noon: datetime) -> None:
    give(bank, noon)
    newer = give(bank, noon + timedelta(minutes=1))
    assert permission_in_force(bank, "local", at=noon + timedelta(minutes=2)) == newer


def test_a_bank_with_a_permission_is_not_deleted(bank: QuestionBank, noon: datetime) -> None:
    check_unused(bank)
    give(bank, noon)
    with refuses(BankRefused, "in_use", match="send this bank to a model"):
        check_unused(bank)


def test_terms_are_changed_with_an_event_and_not_for_an_archived_bank(
    bank: QuestionBank, cora: User, noon: datetime
) -> None:
    assert change_terms(bank, terms="New.\r\nLine.", holds_quarters=True, actor=cora, at=noon)
    bank.refresh_from_db()
    assert (bank.terms, bank.holds_quarters) == ("New.\nLine.", True)
    assert AuditEvent.objects.filter(act="bank.terms_changed", actor=cora).count() == 1
    assert not change_terms(bank, terms="New.\nLine. ", holds_quarters=True, actor=cora, at=noon)
    assert AuditEvent.objects.filter(act="bank.terms_changed", actor=cora).count() == 1
    with refuses(BankRefused, "too_long"):
        change_terms(bank, terms="x" * 50_001, holds_quarters=True, actor=cora, at=noon)
    archive(bank, actor=cora, at=noon)
    with refuses(BankRefused, "archived"):
        change_terms(bank, terms="Other.", holds_quarters=True, actor=cora, at=noon)
