"""Permissions to send: who gives them, on what terms, for how long, and what is in force."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
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
from annotation.enums import ImageState
from annotation.ingest.serving import images_never_sent
from annotation.models import AuditEvent, Image, QuestionBank, SendingPermission, User
from annotation.questionbank.bank_life import change_terms, check_unused
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.model_calls.simulated_calls import make_permission
from tests.annotation.review.cases import make_bank, make_revisions
from tests.pages import markup
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


def test_bad_input_is_named_and_nothing_is_stored(bank: QuestionBank, noon: datetime) -> None:
    wrong: list[tuple[dict[str, Any], str, str]] = [
        ({"questions": False}, "nothing_sent", "questions"),
        ({"questions": False, "images": True}, "images_alone", "images"),
        ({"questions": False, "images": True, "reports": True}, "images_alone", "images"),
        ({"reason": " \n"}, "no_reason", "reason"),
        ({"agreement": ""}, "no_agreement", "agreement"),
        ({"reason": "x" * 5_000}, "too_long", "reason"),
        ({"expires_at": noon + timedelta(0)}, "past", "expires_at"),
        ({"expires_at": noon + timedelta(days=-1)}, "past", "expires_at"),
        ({"expires_at": noon + timedelta(days=367)}, "too_far", "expires_at"),
    ]
    n_events = AuditEvent.objects.count()
    for fields, code, field in wrong:
        with refuses(SendingRefused, code, field=field):
            give(bank, noon, **fields)
    assert not SendingPermission.objects.exists()
    assert AuditEvent.objects.count() == n_events


def test_an_endpoint_that_is_not_in_the_list_and_an_archived_bank(
    bank: QuestionBank, cora: User, noon: datetime
) -> None:
    with refuses(EndpointRefused, "no_endpoint", match="REXVQA_MODEL_ENDPOINTS"):
        give(bank, noon, "planted")
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


def test_an_endpoint_outside_asks_for_the_terms_word_by_word_and_one_here_for_none(
    bank: QuestionBank, noon: datetime
) -> None:
    assert [give(bank, noon, endpoint).terms for endpoint in ("local", "ward")] == ["", ""]
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


def test_the_newest_of_several_is_named_and_a_bank_with_one_is_not_deleted(bank: QuestionBank, noon: datetime) -> None:
    check_unused(bank)
    give(bank, noon)
    newer = give(bank, noon + timedelta(minutes=1))
    assert permission_in_force(bank, "local", at=noon + timedelta(minutes=2)) == newer
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


# --- the pages on which a bank is permitted to go to models ---
SENDING, TERMS_PAGE, PERMIT = "/banks/chest/sending/", "/banks/chest/sending/terms/", "/banks/chest/sending/permit/"


def sent(**changes: str) -> dict[str, str]:
    last = f"{timezone.now() + timedelta(days=30):%Y-%m-%d}"
    given = {"endpoint": "local", "questions": "on", "reason": "compare", "agreement": "vote", "expires_at": last}
    return {name: value for name, value in (given | changes).items() if value}


def test_the_list_tells_everything_of_a_permission(client: Client, bank: QuestionBank, cora: User) -> None:
    now = timezone.now()
    make_permission(bank, endpoint="local", expires_at=now + timedelta(days=1), reason="To compare models")
    make_permission(bank, endpoint="hosted", terms="Older terms.", expires_at=now + timedelta(days=1))
    make_permission(bank, endpoint="gone", expires_at=now - timedelta(days=1))
    make_permission(bank, endpoint="ward", withdrawn_at=now, withdrawn_because="The contract ended")
    client.force_login(cora)
    with CaptureQueriesContext(connection) as queries:
        page = markup(client.get(SENDING))
    assert len(queries) <= 8
    states = ("this machine", "no longer in the list", "in force", "expired", "withdrawn", "command line")
    reasons = ("To compare models", "The contract ended", "Given under other terms than the bank states now.")
    for words in (*states, *reasons, "Older terms.", "No sharing with third parties."):
        assert words in page
    assert "Withdraw</a>" not in page  # which administrators read
    assert "Permit an endpoint" not in page


def test_an_empty_page_says_what_to_do_next(client: Client, bank: QuestionBank, ada: User, settings: Settings) -> None:
    client.force_login(ada)
    assert "Permit an endpoint to begin." in client.get(SENDING).content.decode()
    settings.MODEL_ENDPOINTS = ()
    for address in (SENDING, PERMIT):
        assert "REXVQA_MODEL_ENDPOINTS" in client.get(address).content.decode()


def test_images_that_are_never_sent_are_counted(client: Client, bank: QuestionBank, cora: User) -> None:
    make_revisions(bank, {number: {} for number in range(1, 5)})
    make_revisions(make_bank("Other"), {1: {}})
    states = (*ImageState, ImageState.AVAILABLE, ImageState.QUARANTINED, ImageState.QUARANTINED)
    for image, state in zip(Image.objects.filter(exam__bank=bank).order_by("pk"), states, strict=True):
        Image.objects.filter(pk=image.pk).update(state=state)
    never = images_never_sent(bank)
    assert (never.missing, never.unsearched, never.quarantined, never.n_images) == (1, 1, 3, 5)
    client.force_login(cora)
    page = markup(client.get(SENDING))
    assert "5 images of this bank are not sent at present" in page
    assert "1 missing, 1 not searched for text yet, 3 in quarantine" in page


def test_a_permission_is_given_and_withdrawn(client: Client, bank: QuestionBank, ada: User) -> None:
    client.force_login(ada)
    assert client.post(PERMIT, sent(images="on"))["Location"] == SENDING
    row = SendingPermission.objects.get()
    assert (row.questions, row.images, row.reports, row.given_by, row.terms) == (True, True, False, ada, "")
    withdraw = reverse("bank-permission-withdraw", args=["chest", row.public_id])
    empty = client.post(withdraw, {"because": " "})
    assert (empty.status_code, "because" in empty.context["form"].errors) == (422, True)
    assert client.post(withdraw, {"because": "over"})["Location"] == SENDING
    again = client.post(withdraw, {"because": "over"})
    assert again.status_code == 422
    assert "withdrawn already" in again.content.decode()


def test_the_last_day_counts_whole_in_the_time_zone_of_the_person(
    client: Client, bank: QuestionBank, ada: User
) -> None:
    ada.time_zone = "Pacific/Auckland"
    ada.save()
    client.force_login(ada)
    client.post(PERMIT, sent())
    until = SendingPermission.objects.get().expires_at
    assert f"{until:%M:%S}" == "59:59"
    assert until.hour in (10, 11)  # of the day before, in UTC


def test_a_bad_form_is_told_at_its_field(client: Client, bank: QuestionBank, ada: User) -> None:
    wrong = [
        ({"endpoint": "planted"}, "endpoint", "planted"),
        ({"questions": ""}, "questions", "Choose what may be sent."),
        ({"agreement": "a\x00b"}, "agreement", "Null characters"),
        ({"expires_at": "0001-01-01"}, "expires_at", "over already"),
        ({"expires_at": "9999-12-31"}, "expires_at", "a year at most"),
        ({"expires_at": "soon"}, "expires_at", "valid date"),
        ({"endpoint": "hosted"}, "accepted", "accept them"),
        ({"endpoint": "hosted", "accepted": "on", "terms_shown": "Other terms."}, "accepted", "no longer those"),
    ]
    client.force_login(ada)
    for changes, field, said in wrong:
        answer = client.post(PERMIT, sent(**changes))
        assert answer.status_code == 422
        assert said in " ".join(answer.context["form"].errors[field])
        assert said in answer.content.decode()
    assert not SendingPermission.objects.exists()


def test_the_terms_are_shown_word_by_word_and_accepted(client: Client, bank: QuestionBank, ada: User) -> None:
    client.force_login(ada)
    page = client.get(PERMIT).content.decode()
    assert f"<bdi>{TERMS}</bdi>" in page
    as_sent = TERMS.replace("\n", "\r\n")
    assert client.post(PERMIT, sent(endpoint="hosted", accepted="on", terms_shown=as_sent)).status_code == 302
    assert SendingPermission.objects.get().terms == TERMS


def test_terms_that_changed_in_between_are_shown_again_and_not_ticked(
    client: Client, bank: QuestionBank, ada: User, cora: User
) -> None:
    client.force_login(cora)
    assert client.post(TERMS_PAGE, {"terms": "Newer terms.", "holds_quarters": "on"})["Location"] == SENDING
    client.force_login(ada)
    kept = client.post(PERMIT, sent(endpoint="hosted", accepted="on", terms_shown="Newer terms.", reason=""))
    assert 'id="id_accepted" checked>' in kept.content.decode(), "another fault keeps the tick"
    answer = client.post(PERMIT, sent(endpoint="hosted", accepted="on", terms_shown=TERMS))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<bdi>Newer terms.</bdi>" in page
    assert 'id="id_accepted">' in page  # not ticked
    assert not SendingPermission.objects.exists()


def test_a_bank_without_terms_or_an_archived_one_says_so(
    client: Client, bank: QuestionBank, ada: User, cora: User
) -> None:
    QuestionBank.objects.update(terms="")
    client.force_login(ada)
    assert "The bank states none." in client.get(PERMIT).content.decode()
    assert "states no terms of use" in client.post(PERMIT, sent(endpoint="hosted", accepted="on")).content.decode()
    archive(bank, actor=cora, at=timezone.now())
    assert "is archived" in client.post(PERMIT, sent()).content.decode()
    client.force_login(cora)
    answer = client.post(TERMS_PAGE, {"terms": "New."})
    assert (answer.status_code, "is archived" in answer.content.decode()) == (422, True)


def test_the_page_of_the_bank_leads_here(client: Client, bank: QuestionBank, cora: User, ada: User) -> None:
    for person in (cora, ada):
        client.force_login(person)
        assert SENDING in client.get("/banks/chest/").content.decode()
