"""Invitations from a file: nothing before the preview is confirmed, everything or nothing, links shown once."""

from __future__ import annotations

import csv
import io
import logging
import re
from datetime import datetime
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import DatabaseError, connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from annotation.enums import Role, RoundState
from annotation.models import AuditEvent, Invitation, Membership, ReviewRound, User
from annotation.people import mailing
from annotation.people.invitations import Grant, invite
from tests.conftest import make_person
from tests.emails import delivered
from tests.pages import faults_of

SITE, ROUND = "/people/invite/file/", "/rounds/spring/invite/file/"
HEAD = "name,email,roles\n"
GOOD = HEAD + (
    "Nina Weber,nina@example.org,coordinator; De-identification\n"
    "Stan,stan@example.org,reviewer of round “Spring”; model_submitter\n"
    "=Omar,,reviewer of spring\n"
)


def check(client: Client, text: str, address: str = SITE) -> HttpResponse:
    return client.post(address, {"file": SimpleUploadedFile("people.csv", text.encode())})  # type: ignore[return-value]


def confirm(client: Client, page: HttpResponse, address: str = SITE) -> HttpResponse:
    """Press the button of a preview."""
    shown = re.search(r'name="text" value="([^"]*)"', page.content.decode())
    assert shown
    text = unescape(shown.group(1)).replace("\n", "\r\n")
    return client.post(address, {"confirmed": "yes", "text": text})  # type: ignore[return-value]


def rows_of(page: HttpResponse, name: str) -> list[list[str]]:
    """The file that a page offers to download."""
    found = re.search(rf'href="data:text/csv;charset=utf-8,([^"]*)" download="{name}"', page.content.decode())
    assert found
    return list(csv.reader(io.StringIO(unquote(found.group(1)).removeprefix("\ufeff"))))


def longest_transaction(caught: CaptureQueriesContext) -> int:
    """How many statements the longest one holds."""
    longest = n = 0
    is_open = False
    for statement in (one["sql"] for one in caught.captured_queries):
        if statement.startswith("BEGIN"):
            is_open, n = True, 0
        elif statement in ("COMMIT", "ROLLBACK"):
            is_open, longest = False, max(longest, n)
        elif is_open:
            n += 1
    return longest


def test_the_preview_says_what_each_row_will_do_and_stores_nothing(
    as_ada: Client, ada: User, stan: User, open_round: ReviewRound
) -> None:
    old = invite(Grant(Role.COORDINATOR), email="nina@example.org", name="", actor=ada, at=timezone.now()).invitation
    before = AuditEvent.objects.count(), User.objects.count(), Membership.objects.count()
    page = check(as_ada, GOOD)
    shown = page.content.decode()
    assert page.status_code == 200
    assert "Preview: nothing has been saved." in shown
    assert "makes an account; replaces an open link; is to be handed over by you" in shown
    assert "adds to the account that is there" in shown
    for role in ("coordinator", "de-identification", "reviewer of “Spring”", "model submitter"):
        assert f"<bdi>{role}</bdi>" in shown
    assert "Invite 3 people" in shown
    assert list(Invitation.objects.all()) == [old]
    assert not delivered()
    assert (AuditEvent.objects.count(), User.objects.count(), Membership.objects.count()) == before


def test_confirmed_links_are_shown_once_as_a_page_and_a_file(
    as_ada: Client, stan: User, open_round: ReviewRound, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    page = confirm(as_ada, check(as_ada, GOOD))
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    head, nina, known, omar = rows_of(page, "invitation-links.csv")
    assert head == ["name", "email", "roles", "link", "works_until"]
    assert nina[:3] == ["Nina Weber", "nina@example.org", "coordinator; de-identification"]
    assert known[2] == "reviewer of “Spring”; model submitter"
    assert omar[0] == "'=Omar", "no formula for a spreadsheet"
    paths = [re.sub(r"^https?://[^/]+", "", row[3]) for row in (nina, known, omar)]
    for path in paths:
        assert path in page.content.decode()
        assert Client().get(path).status_code == 200
        token = path.split("/")[2]
        assert token not in str(list(AuditEvent.objects.values()))
        assert token not in caplog.text
        assert token not in as_ada.get("/people/").content.decode()
    client = Client()
    client.force_login(stan)
    client.post(paths[1])
    assert set(stan.memberships.values_list("role", "round")) == {
        (Role.REVIEWER, open_round.pk),
        (Role.MODEL_SUBMITTER, None),
    }
    assert AuditEvent.objects.filter(act="person.invited").count() == 5, "one for each role"


@pytest.mark.parametrize(("address", "where"), [(SITE, "/people/"), (ROUND, "/rounds/spring/invite/")])
def test_the_links_say_where_open_invitations_are_revoked(
    as_ada: Client, cora: User, open_round: ReviewRound, address: str, where: str
) -> None:
    if address == ROUND:
        as_ada.force_login(cora)
    page = confirm(as_ada, check(as_ada, HEAD + "Nina,,reviewer\n", address), address).content.decode()
    assert "the page before" not in page
    assert f'href="{where}#invitations"' in page
    there = as_ada.get(where).content.decode().partition('id="invitations"')[2]
    assert re.search(r'action="/invitations/\d+/revoke/"', there)


def test_letters_go_out_after_the_confirmation(as_ada: Client, settings: Settings) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    page = check(as_ada, HEAD + "Nina,nina@example.org,coordinator\nOmar,,reviewer\n")
    assert page.content.decode().count("is sent by e-mail") == 1
    assert not delivered()
    done = confirm(as_ada, page).content.decode()
    assert done.count("being sent") == 1
    assert done.count("send it yourself") == 1
    assert [letter.to for letter in delivered()] == [["nina@example.org"]]


@pytest.mark.parametrize(
    ("row", "column", "sentence"),
    [
        ("Nina,,emperor", "roles", "“emperor” is not a role that can be given here. Write: reviewer, coordinator,"),
        ("Nina,,reviewer of round Autumn", "roles", "Rounds that take people: “Spring”."),
        ("Nina,,reader", "roles", "Readers are invited on the page of their study"),
        ("Nina,,", "roles", "No role. Write:"),
        ("Rita,rita@example.org,coordinator; reviewer", "roles", "has already: reviewer. Take it out"),
        ("Gone,gone@example.org,reviewer", "email", "deactivated account"),
        ("Twin,twin@example.org,coordinator", "email", "The same person is in row 2."),
    ],
)
def test_one_bad_row_stores_nothing_and_says_what_to_do(
    as_ada: Client, rita: User, open_round: ReviewRound, row: str, column: str, sentence: str
) -> None:
    gone = make_person("Gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    text = HEAD + f"Twin,twin@example.org,reviewer\n{row}\n"
    page = check(as_ada, text)
    assert page.status_code == 422
    [(number, where, words)] = faults_of(page)
    assert (number, where) == ("3", column)
    assert sentence in words
    assert "Nobody is invited" in page.content.decode()
    assert "confirmed" not in page.content.decode()
    sent = as_ada.post(SITE, {"confirmed": "yes", "text": text})
    assert sent.status_code == 422
    assert not Invitation.objects.exists()


def test_all_faults_of_a_file_are_told_at_once(as_ada: Client, rita: User) -> None:
    page = check(as_ada, HEAD + "A,nowhere,reviewer\nB,,emperor\nRita,rita@example.org,reviewer\nC,,reviewer\n")
    assert [(row, column) for row, column, _words in faults_of(page)] == [
        ("2", "email"),
        ("3", "roles"),
        ("4", "roles"),
    ]


def test_what_changed_after_the_preview_stores_nothing(as_ada: Client, ada: User) -> None:
    page = check(as_ada, HEAD + "Nina,,reviewer\nLena,lena@example.org,coordinator\n")
    make_person("Lena", Role.COORDINATOR)
    done = confirm(as_ada, page)
    assert done.status_code == 422
    assert "has already: coordinator" in done.content.decode()
    assert not Invitation.objects.exists()


def test_a_file_that_is_no_list_is_refused_at_its_field(as_ada: Client) -> None:
    page = check(as_ada, "who,what\nNina,reviewer\n")
    assert page.status_code == 422
    assert "Found: who, what" in page.content.decode()
    assert as_ada.post(SITE, {}).status_code == 422


def test_the_template_is_a_good_file(as_ada: Client, cora: User, open_round: ReviewRound) -> None:
    for address in (SITE, ROUND):
        page: HttpResponse = as_ada.get(address)  # type: ignore[assignment]
        rows = rows_of(page, "invitations.csv")
        text = "\n".join(",".join(row) for row in rows)
        assert check(as_ada, text, address).status_code == 200


# --- one round ---


def test_a_coordinator_invites_reviewers_to_the_round(coordinator: Client, open_round: ReviewRound) -> None:
    assert ROUND in coordinator.get("/rounds/spring/invite/").content.decode()
    page = check(coordinator, HEAD + "Nina,,\nOmar,,reviewer of round Spring\n", ROUND)
    assert page.content.decode().count("<bdi>reviewer of “Spring”</bdi>") == 2
    assert confirm(coordinator, page, ROUND).status_code == 200
    assert set(Invitation.objects.values_list("role", "round")) == {(Role.REVIEWER, open_round.pk)}


@pytest.mark.parametrize("role", ["coordinator", "administrator", "reviewer of round Other", "model submitter"])
def test_a_coordinator_gives_no_more_than_single_invitations_do(
    coordinator: Client, open_round: ReviewRound, role: str
) -> None:
    page = check(coordinator, HEAD + f"Nina,,{role}\n", ROUND)
    [(_row, column, words)] = faults_of(page)
    assert column == "roles"
    assert words.endswith("Write: reviewer, adjudicator.")


def test_nobody_is_invited_to_a_closed_round(coordinator: Client, open_round: ReviewRound) -> None:
    ReviewRound.objects.update(state=RoundState.CLOSED)
    page = check(coordinator, HEAD + "Nina,,\n", ROUND)
    assert "closed" in faults_of(page)[0][2]


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("reviewer of Pilot 1", "pilot-1"),
        ("Reviewer  of round pilot_1", "pilot_1"),
        ("reviewer of “SUMMER”", "summer"),
        ("reviewer of Summer", "summer"),
        ("reviewer of autumn", "autumn"),
        ("reviewer of AUTUMN", "autumn-2"),
    ],
)
def test_the_round_is_the_one_that_is_written(as_ada: Client, open_round: ReviewRound, text: str, slug: str) -> None:
    rounds = {"pilot-1": "Pilot 1", "pilot_1": "Second", "summer": "Summer", "autumn": "Early", "autumn-2": "AUTUMN"}
    for one, name in rounds.items():
        ReviewRound.objects.create(
            name=name, slug=one, plan=open_round.plan, state=RoundState.OPEN, created_at=open_round.created_at
        )
    confirm(as_ada, check(as_ada, HEAD + f"Nina,,{text}\n"))
    assert Invitation.objects.get().round.slug == slug  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["reviewer of Autumn", "reviewer of autumn"])
def test_a_name_that_two_rounds_share_is_refused(as_ada: Client, open_round: ReviewRound, text: str) -> None:
    """The round “Early” was called autumn once: its slug still is."""
    for slug, name in {"autumn": "Early", "autumn-2": "autumn"}.items():
        ReviewRound.objects.create(
            name=name, slug=slug, plan=open_round.plan, state=RoundState.OPEN, created_at=open_round.created_at
        )
    [(_row, column, words)] = faults_of(check(as_ada, HEAD + f"Nina,,{text}\n"))
    assert column == "roles"
    assert "two rounds are called so: write the slug, or what only one is called (“Early”, “autumn-2”)." in words
    for remedy in ("Early", "autumn-2"):
        assert check(as_ada, HEAD + f"Nina,,reviewer of {remedy}\n").status_code == 200


def test_a_letter_that_fails_takes_no_link_away(
    as_ada: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The links were stored, and the page that shows them was an error."""
    settings.TEMP_ROOT = tmp_path
    settings.EMAIL_HOST = "smtp.example.org"
    failures = iter([OSError("disk full"), None, DatabaseError("locked")])

    def enqueue(*args: Any, **kwargs: Any) -> None:
        if failure := next(failures):
            raise failure

    monkeypatch.setattr(mailing, "enqueue", enqueue)
    text = HEAD + "".join(f"P{number},p{number}@example.org,reviewer\n" for number in range(3))
    page = confirm(as_ada, check(as_ada, text))
    assert page.status_code == 200
    assert len(rows_of(page, "invitation-links.csv")) == 4
    assert page.content.decode().count("being sent") == 1
    assert page.content.decode().count("send it yourself") == 2
    assert len(list((tmp_path / "letters").iterdir())) == 1, "no letter waits that nothing sends"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("confirmed", ["", "yes"])
def test_a_preview_holds_no_lock_from_one_row_to_the_next(as_ada: Client, rita: User, confirmed: str) -> None:
    """Everybody else waited to write while 200 rows were tried: 28 seconds."""
    rows = "".join(f"P{number},p{number}@example.org,coordinator; de-identification\n" for number in range(30))
    bad = "Rita,rita@example.org,coordinator; de-identification\nX,,emperor\n"
    with CaptureQueriesContext(connection) as caught:
        page = as_ada.post(SITE, {"confirmed": confirmed, "text": HEAD + rows + bad})
    assert page.status_code == 422
    assert 0 < longest_transaction(caught) < 40


def test_roles_that_many_new_people_get_are_tried_once(as_ada: Client) -> None:
    rows = "".join(f"P{number},p{number}@example.org,coordinator; de-identification\n" for number in range(30))
    for confirmed in ("", "yes"):
        with CaptureQueriesContext(connection) as caught:
            assert as_ada.post(SITE, {"confirmed": confirmed, "text": HEAD + rows}).status_code == 200
        assert sum(one["sql"].startswith('INSERT INTO "annotation_membership"') for one in caught) == 2


def test_a_row_asks_few_questions_of_the_database(
    as_ada: Client, open_round: ReviewRound, noon: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    rows = "".join(f"P{number},p{number}@example.org,reviewer\n" for number in range(50))
    with django_assert_max_num_queries(20 + 50 * 4):
        assert check(as_ada, HEAD + rows).status_code == 200
