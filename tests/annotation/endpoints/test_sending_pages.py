"""The pages on which a bank is permitted to go to models: who reads, who acts, and what is told at which field."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.audit.deleting import archive
from annotation.enums import ImageState
from annotation.ingest.serving import images_never_sent
from annotation.models import Image, QuestionBank, SendingPermission, User
from tests.annotation.endpoints.test_permissions import NAMED, TERMS
from tests.annotation.model_calls.simulated_calls import make_permission
from tests.annotation.review.cases import make_bank, make_revisions
from tests.pages import markup

pytestmark = pytest.mark.django_db

SENDING, TERMS_PAGE, PERMIT = "/banks/chest/sending/", "/banks/chest/sending/terms/", "/banks/chest/sending/permit/"


@pytest.fixture
def bank(settings: Settings) -> QuestionBank:
    settings.MODEL_ENDPOINTS = NAMED
    made = make_bank("Chest")
    made.terms = TERMS
    made.save()
    return made


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
    for words in (
        "To compare models",
        "this machine",
        "no longer in the list",
        "in force",
        "expired",
        "withdrawn",
        "The contract ended",
        "Older terms.",
        "Given under other terms than the bank states now.",
        "command line",
        "No sharing with third parties.",
    ):
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


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"endpoint": "planted"}, "endpoint", "planted"),
        ({"questions": ""}, "questions", "Choose what may be sent."),
        ({"agreement": "a\x00b"}, "agreement", "Null characters"),
        ({"expires_at": "0001-01-01"}, "expires_at", "over already"),
        ({"expires_at": "9999-12-31"}, "expires_at", "a year at most"),
        ({"expires_at": "soon"}, "expires_at", "valid date"),
        ({"endpoint": "hosted"}, "accepted", "accept them"),
        ({"endpoint": "hosted", "accepted": "on", "terms_shown": "Other terms."}, "accepted", "no longer those"),
    ],
)
def test_a_bad_form_is_told_at_its_field(
    client: Client, bank: QuestionBank, ada: User, changes: dict[str, str], field: str, said: str
) -> None:
    client.force_login(ada)
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
    answer = client.post(PERMIT, sent(endpoint="hosted", accepted="on", terms_shown=TERMS))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "<bdi>Newer terms.</bdi>" in page
    assert 'id="id_accepted">' in page  # not ticked
    assert not SendingPermission.objects.exists()


def test_another_fault_keeps_the_tick(client: Client, bank: QuestionBank, ada: User) -> None:
    client.force_login(ada)
    answer = client.post(PERMIT, sent(endpoint="hosted", accepted="on", terms_shown=TERMS, reason=""))
    assert 'id="id_accepted" checked>' in answer.content.decode()


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
