"""Links into a study: given out by its coordinators, opened by readers."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.models import User
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enums import StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyInvitation
from tests.emails import delivered
from tests.readerstudy.studies import enrol, make_study

NEW_PERSON = {
    "email": "nina@example.org",
    "name": "Nina",
    "password": "another staple 77",
    "password_again": "another staple 77",
    "time_zone": "Europe/Berlin",
}
PAGE = "/studies/trial/invite/"

YES = {"confirmed": "yes"}


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_orders=2)


def link_for(study: ReaderStudy, cora: User, email: str = "") -> str:
    issued = invite_reader(study, study.sets.get(), email=email, name="", actor=cora, at=timezone.now())
    return f"/read/join/{issued.token}/"


# --- giving links out ---


def test_a_link_is_shown_once(coordinator: Client, study: ReaderStudy) -> None:
    page = coordinator.post(PAGE, {"email": "", "name": "Nina"})
    shown = re.search(r'value="http[^"]*(/read/join/[^"]+)"', page.content.decode())
    assert shown
    assert "no-store" in page["Cache-Control"]
    assert Client().get(shown.group(1)).status_code == 200
    later = coordinator.get(PAGE).content.decode()
    assert shown.group(1) not in later
    assert "Nina" in later
    assert not delivered()


@pytest.mark.logs("reader.invited")
def test_a_letter_goes_out_when_a_mail_server_is_set_up(coordinator: Client, settings: Settings, db: None) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    make_study(contact="study@example.org", deadline_at=timezone.now() + timedelta(days=30), time_zone="Asia/Tokyo")
    page = coordinator.post(PAGE, {"email": "Nina@example.org", "name": ""})
    assert "being sent to nina@example.org" in page.content.decode()
    [letter] = delivered()
    assert "/read/join/" in str(letter.body)
    assert "(Asia/Tokyo)" in str(letter.body)
    assert "study@example.org" in str(letter.body)


def test_a_refusal_is_a_sentence_in_the_form(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    answer = coordinator.post(PAGE, {"email": cora.email, "name": ""})
    assert answer.status_code == 422
    assert "Cora coordinates, and so can look up the answers." in answer.content.decode()
    for name in ("A", "B"):
        assert coordinator.post(PAGE, {"email": "", "name": name}).status_code == 200
    answer = coordinator.post(PAGE, {"email": "", "name": "C"})
    assert "taken or promised" in answer.content.decode()
    assert StudyInvitation.objects.count() == 2
    assert coordinator.post(PAGE, {"email": "no address"}).status_code == 422


def test_a_draft_and_a_closed_study_offer_no_form(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    link_for(study, cora)
    assert "Makes a new link" in coordinator.get(PAGE).content.decode()
    for state, words in ((StudyState.DRAFT, "Freeze it"), (StudyState.CLOSED, "no more readers")):
        ReaderStudy.objects.update(state=state)
        page = coordinator.get(PAGE).content.decode()
        assert words in page
        assert "Make the link" not in page
        assert "Makes a new link" not in page
        assert "Revoke" in page


def test_reminding_and_revoking(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    link = link_for(study, cora)
    address = f"/studies/trial/invitations/{StudyInvitation.objects.get().pk}"
    page = coordinator.post(f"{address}/remind/").content.decode()
    shown = re.search(r'value="http[^"]*(/read/join/[^"]+)"', page)
    assert shown
    assert shown.group(1) != link
    assert Client().get(link).status_code == 404
    assert coordinator.post(f"{address}/revoke/").status_code == 200
    assert coordinator.post(f"{address}/revoke/", YES)["Location"] == PAGE
    assert Client().get(shown.group(1)).status_code == 410
    assert coordinator.post(f"{address}/restore/")["Location"] == PAGE
    assert Client().get(shown.group(1)).status_code == 200
    coordinator.post(f"{address}/revoke/", YES)
    assert coordinator.post(f"{address}/remind/")["Location"] == PAGE


def test_the_page_takes_few_queries(
    coordinator: Client, study: ReaderStudy, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    enrol(study, rita)
    coordinator.post(PAGE, {"email": "", "name": "A"})
    with django_assert_max_num_queries(14):
        coordinator.get(PAGE)


# --- opening one ---


def test_somebody_new_becomes_a_reader(client: Client, study: ReaderStudy, cora: User) -> None:
    link = link_for(study, cora)
    page = client.get(link)
    assert "Cora</bdi> invites you to read" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert client.post(link, NEW_PERSON)["Location"] == "/read/trial/"
    enrolment = Enrolment.objects.get()
    assert enrolment.reader == User.objects.get(email="nina@example.org")
    assert client.get("/read/trial/")["Location"] == "/read/trial/consent/"
    assert Client().get(link).status_code == 410


def test_an_account_that_is_logged_in_joins_with_a_click(
    client: Client, study: ReaderStudy, cora: User, stan: User
) -> None:
    link = link_for(study, cora, stan.email)
    assert f"/login/?next={link}" in client.get(link).content.decode()
    assert client.post(link, NEW_PERSON).status_code == 200  # the address has an account
    client.force_login(stan)
    assert "Join the study" in client.get(link).content.decode()
    assert not Enrolment.objects.exists()
    assert client.post(link)["Location"] == "/read/trial/"
    assert Enrolment.objects.get().reader == stan


def test_who_must_not_read_is_told_why(client: Client, study: ReaderStudy, cora: User, rita: User) -> None:
    link = link_for(study, cora)
    client.force_login(cora)
    answer = client.post(link)
    assert answer.status_code == 409
    assert "so can look up the answers" in answer.content.decode()
    enrol(study, rita)
    client.force_login(rita)
    assert "You have already joined this study" in client.get(link).content.decode()
    client.force_login(User.objects.create_user("x@example.org", name="X"))
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    answer = client.get(link)
    assert answer.status_code == 410
    assert "no more readers can join" in answer.content.decode()


def test_no_order_is_left(client: Client, study: ReaderStudy, cora: User, rita: User, remo: User, stan: User) -> None:
    link = link_for(study, cora)
    enrol(study, rita)
    enrol(study, remo)
    client.force_login(stan)
    answer = client.post(link)
    assert answer.status_code == 409
    assert "All reader places of this study are taken" in answer.content.decode()
    answer = Client().post(link, NEW_PERSON)
    assert answer.status_code == 422
    assert "All reader places of this study are taken" in answer.content.decode()
    assert not User.objects.filter(email="nina@example.org").exists()
