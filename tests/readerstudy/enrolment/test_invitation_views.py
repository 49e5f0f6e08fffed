"""Links into a study: given out by its coordinators, one by one and from a file, opened by readers."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.models import AuditEvent, User
from readerstudy.enrolment.inviting import invite_reader
from readerstudy.enums import StudyState
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyInvitation
from tests.conftest import make_person
from tests.emails import delivered
from tests.pages import faults_of, markup
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


FILE_PAGE = "/studies/trial/invite/file/"
HEAD = "name,email,roles\n"


def check(client: Client, text: str) -> HttpResponse:
    return client.post(FILE_PAGE, {"file": SimpleUploadedFile("readers.csv", text.encode())})  # type: ignore[return-value]


def test_readers_come_from_a_file(coordinator: Client, study: ReaderStudy) -> None:
    assert FILE_PAGE in coordinator.get("/studies/trial/invite/").content.decode()
    text = HEAD + "Nina,nina@example.org,reader\nOmar,,\n"
    page = check(coordinator, text)
    assert page.status_code == 200
    assert "Invite 2 people" in page.content.decode()
    assert study.protocol_sha256[:12] in page.content.decode()
    assert not StudyInvitation.objects.exists()
    assert not AuditEvent.objects.exists()
    done = coordinator.post(FILE_PAGE, {"confirmed": "yes", "text": text})
    assert "no-store" in done["Cache-Control"]
    links = re.findall(r'<td class="mono link">https?://[^/]+(/read/join/[^<]+)</td>', done.content.decode())
    assert len(links) == 2
    assert 'href="/studies/trial/invite/#invitations"' in done.content.decode()  # where they can be revoked
    there = coordinator.get("/studies/trial/invite/").content.decode().partition('id="invitations"')[2]
    assert there.count("Revoke</button>") == 2
    assert all(link.split("/")[3] not in str(list(AuditEvent.objects.values())) for link in links)
    rita = make_person("Rita")
    reader = Client()
    reader.force_login(rita)
    assert reader.post(links[1]).status_code == 302
    assert Enrolment.objects.get(reader=rita).study == study


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("Cora,cora@example.org,reader", ("2", "email", "Cora coordinates, and so can look up the answers.")),
        ("Rita,rita@example.org,", ("2", "email", "Rita is in this study already.")),
        ("Nina,,reader; coordinator", ("2", "roles", "Nobody is a reader and something else in one study")),
        ("Nina,,coordinator", ("2", "roles", "Other roles need a link of their own")),
        ("A,a@example.org,\nB,,\nC,c@example.org,", ("3", "name", "Every order of “All cases” is taken or promised")),
        ("A,a@example.org,\nA,a@example.org,", ("3", "email", "is in row 2")),
    ],
)
def test_a_bad_row_stores_nothing(
    coordinator: Client, study: ReaderStudy, rita: User, rows: str, fault: tuple[str, str, str]
) -> None:
    enrol(study, rita)
    page = check(coordinator, f"{HEAD}{rows}\n")
    assert page.status_code == 422
    number, column, words = faults_of(page)[0]
    assert (number, column) == fault[:2]
    assert fault[2] in words
    assert coordinator.post(FILE_PAGE, {"confirmed": "yes", "text": f"{HEAD}{rows}\n"}).status_code == 422
    assert not StudyInvitation.objects.exists()


def test_an_order_that_a_replaced_link_frees_is_given_again(coordinator: Client, study: ReaderStudy) -> None:
    """The preview counts as the confirmation does: a row that replaces a link gives its order back first."""
    check_text = HEAD + "A,a@example.org,\nB,b@example.org,\n"
    assert coordinator.post(FILE_PAGE, {"confirmed": "yes", "text": check_text}).status_code == 200
    assert "replaces an open link" in markup(check(coordinator, check_text))
    assert coordinator.post(FILE_PAGE, {"confirmed": "yes", "text": check_text}).status_code == 200
    page = check(coordinator, check_text + "C,,\n")
    assert [(row, column) for row, column, _words in faults_of(page)] == [("4", "name")]
    second = CaseSet.objects.create(study=study, name="Second", number=2)
    StudyInvitation.objects.filter(invitation__email="b@example.org").update(case_set=second)
    text = HEAD + "A,a@example.org,reader of All cases\nB,b@example.org,reader of All cases\n"
    assert check(coordinator, text).status_code == 200
    assert faults_of(check(coordinator, text + "C,,reader of All cases\n"))[0][0] == "4"


def test_the_preview_writes_nothing_at_all(coordinator: Client, study: ReaderStudy) -> None:
    with CaptureQueriesContext(connection) as caught:
        assert check(coordinator, HEAD + "A,a@example.org,\nB,,\n").status_code == 200
    assert not [one["sql"] for one in caught if re.match("INSERT|UPDATE|DELETE|SAVEPOINT|BEGIN", one["sql"])]


def test_a_study_of_two_sets_asks_which(coordinator: Client, study: ReaderStudy) -> None:
    CaseSet.objects.create(study=study, name="Second", number=2)
    page = check(coordinator, HEAD + "Nina,,reader of All cases\nOmar,,reader\n")
    [(row, column, words)] = faults_of(page)
    assert (row, column) == ("3", "roles")
    assert "Write: reader of All cases, reader of Second." in words
    assert "reader of “All cases”" in markup(page)


def test_nobody_is_invited_to_a_closed_study(coordinator: Client, study: ReaderStudy) -> None:
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert check(coordinator, HEAD + "Nina,,\n")["Location"] == PAGE
