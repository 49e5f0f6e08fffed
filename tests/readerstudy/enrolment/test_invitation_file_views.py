"""Readers invited from a file."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.models import CaseSet, Enrolment, ReaderStudy, StudyInvitation
from tests.conftest import make_person
from tests.pages import faults_of, markup
from tests.readerstudy.studies import enrol, make_study

PAGE = "/studies/trial/invite/file/"
HEAD = "name,email,roles\n"


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study(n_orders=2)


def check(client: Client, text: str) -> HttpResponse:
    return client.post(PAGE, {"file": SimpleUploadedFile("readers.csv", text.encode())})  # type: ignore[return-value]


def test_readers_come_from_a_file(coordinator: Client, study: ReaderStudy) -> None:
    assert PAGE in coordinator.get("/studies/trial/invite/").content.decode()
    text = HEAD + "Nina,nina@example.org,reader\nOmar,,\n"
    page = check(coordinator, text)
    assert page.status_code == 200
    assert "Invite 2 people" in page.content.decode()
    assert study.protocol_sha256[:12] in page.content.decode()
    assert not StudyInvitation.objects.exists()
    assert not AuditEvent.objects.exists()
    done = coordinator.post(PAGE, {"confirmed": "yes", "text": text})
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
    assert coordinator.post(PAGE, {"confirmed": "yes", "text": f"{HEAD}{rows}\n"}).status_code == 422
    assert not StudyInvitation.objects.exists()


def test_an_order_that_a_replaced_link_frees_is_given_again(coordinator: Client, study: ReaderStudy) -> None:
    """The preview counts as the confirmation does: a row that replaces a link gives its order back first."""
    check_text = HEAD + "A,a@example.org,\nB,b@example.org,\n"
    assert coordinator.post(PAGE, {"confirmed": "yes", "text": check_text}).status_code == 200
    assert "replaces an open link" in markup(check(coordinator, check_text))
    assert coordinator.post(PAGE, {"confirmed": "yes", "text": check_text}).status_code == 200
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
    assert check(coordinator, HEAD + "Nina,,\n")["Location"] == "/studies/trial/invite/"
