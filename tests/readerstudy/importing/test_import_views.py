"""Readings that were made elsewhere, sent on a page: checked, then stored as they were checked."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.forms.studies import MOST_BYTES
from readerstudy.models import Enrolment, ReaderStudy, Response
from tests.readerstudy.studies import make_study

ADDRESS = "/studies/old/import/"
HEADER = "reader,case,option,state\n"
GOOD = HEADER + "Reader 1,1,B,answered\nReader 1,2,A,answered\nReader 2,1,,declined\n"


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study("Old", n_cases=2, state=StudyState.FROZEN)


def send(client: Client, text: str = GOOD, *, do: str = "check", seen: str = "", fragment: bool = True) -> Any:
    sent = {"file": SimpleUploadedFile("old.csv", text.encode()), "do": do, "seen": seen}
    return client.post(ADDRESS, sent, headers={"HX-Request": "true"} if fragment else {})


def test_nothing_is_imported_into_a_study_that_is_not_there(coordinator: Client) -> None:
    assert coordinator.get("/studies/nothing/import/").status_code == 404


def test_the_page_of_the_study_leads_there(coordinator: Client, study: ReaderStudy) -> None:
    assert f'href="{ADDRESS}"' in coordinator.get("/studies/old/data/").content.decode()


def test_the_tick_box_stands_beside_its_words(coordinator: Client, study: ReaderStudy) -> None:
    page = coordinator.get(ADDRESS).content.decode()
    [box] = re.findall(r'<div class="check">(.*?)</div>', page, re.DOTALL)
    assert box.index('name="decided"') < box.index("<label")


def test_a_draft_says_what_comes_first(coordinator: Client) -> None:
    make_study("Old", state=StudyState.DRAFT)
    page = coordinator.get(ADDRESS).content.decode()
    assert "Freeze it first" in page
    assert "import-form" not in page
    assert not send(coordinator).context["result"].stored


def test_a_check_says_what_would_happen_and_stores_nothing(coordinator: Client, study: ReaderStudy) -> None:
    answer = send(coordinator)
    assert "<html" not in answer.content.decode()
    result = answer.context["result"]
    assert (result.read, result.created, result.readers) == (3, 3, ["Reader 1", "Reader 2"])
    assert "Store these 3 readings" in answer.content.decode()
    assert f'value="{result.sha256}"' in answer.content.decode()
    assert not Enrolment.objects.exists()


def test_what_was_checked_is_stored_and_then_there_is_nothing_to_do(
    coordinator: Client, study: ReaderStudy, cora: User
) -> None:
    seen = send(coordinator).context["result"].sha256
    answer = send(coordinator, do="store", seen=seen, fragment=False)
    assert answer.url == "/studies/old/watch/"
    page = coordinator.get(answer.url).content.decode()
    assert "3 readings are stored." in page
    assert "Reader 2" in page
    assert Response.objects.filter(source__startswith="old.csv sha256:").count() == 3
    assert AuditEvent.objects.get(act="study.responses_imported").actor == cora
    again = send(coordinator)
    assert "All 3 readings of the file are stored already" in again.content.decode()
    assert 'value="store"' not in again.content.decode()


@pytest.mark.parametrize("seen", ["", "0" * 64])
def test_a_file_that_nobody_looked_at_is_not_stored(coordinator: Client, study: ReaderStudy, seen: str) -> None:
    answer = send(coordinator, do="store", seen=seen, fragment=False)
    assert answer.status_code == 422
    assert "not the one that was checked" in answer.content.decode()
    assert "Store these 3 readings" in answer.content.decode()
    assert not Response.objects.exists()


def test_every_refused_row_is_named_and_nothing_can_be_stored(coordinator: Client, study: ReaderStudy) -> None:
    text = GOOD + "Reader <3>,9,B,answered\nReader 3,1,Q,answered\n"
    answer = send(coordinator, text)
    page = answer.content.decode()
    assert [problem[:2] for problem in answer.context["problems"]] == [(5, "case"), (6, "option")]
    assert "The study has no case &#x27;9&#x27; in its main block." in page
    assert 'value="store"' not in page
    stored = send(coordinator, text, do="store", seen=answer.context["result"].sha256, fragment=False)
    assert stored.status_code == 422
    assert not Response.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Missing: &#x27;reader&#x27;, &#x27;case&#x27;, &#x27;option&#x27;, &#x27;state&#x27;"),
        ("reader,case\n", "Missing: &#x27;option&#x27;, &#x27;state&#x27;"),
        ("x" * (MOST_BYTES + 1), "Use the command import_responses"),
    ],
    ids=["empty", "columns", "too large"],
)
def test_a_file_that_is_something_else(coordinator: Client, study: ReaderStudy, text: str, words: str) -> None:
    for fragment in (True, False):
        assert words in send(coordinator, text, fragment=fragment).content.decode()


def test_no_file(coordinator: Client, study: ReaderStudy) -> None:
    assert coordinator.post(ADDRESS, {"do": "check"}).status_code == 422
    assert "This field is required." in coordinator.post(ADDRESS, headers={"HX-Request": "true"}).content.decode()


def test_a_check_asks_as_much_for_many_rows_as_for_few(
    coordinator: Client, study: ReaderStudy, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    many = HEADER + "".join(f"Reader {n},{1 + n % 2},B,answered\n" for n in range(400))
    with django_assert_max_num_queries(16):
        assert send(coordinator, many).context["result"].created == 400
