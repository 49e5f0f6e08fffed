"""The pages with which a coordinator watches a study, and what they do there."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.models import AuditEvent, ReviewRound, User
from readerstudy.design.rules import Rules
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyRole, Voiding
from tests.annotation.review.cases import OPTIONS
from tests.conftest import make_person
from tests.readerstudy.exports.read_study import read, read_study, void
from tests.readerstudy.studies import enrol, make_study, places_of

WATCH = "/studies/trial/watch/"
READER_ACTS = ["extend/", "remind/", "pass/", "withdraw/", "replace/"]
STUDY_ACTS = ["watch/extend/", "watch/remind/", "watch/interim/", "void/"]
REASON = "The sponsor asked for a safety look."


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    deadline = timezone.now() + timedelta(days=30)
    return read_study(rita, remo, deadline_at=deadline, time_zone="Europe/Berlin")


@pytest.fixture
def rita_reads(study: ReaderStudy, rita: User) -> Enrolment:
    return Enrolment.objects.get(reader=rita)


@pytest.fixture
def coordinator(client: Client, cora: User) -> Client:
    client.force_login(cora)
    return client


def said(client: Client, page: str = WATCH) -> str:
    return client.get(page).content.decode()


# --- who ---


def test_the_table_is_for_coordinators_and_administrators(
    client: Client, study: ReaderStudy, rita: User, stan: User, ada: User, cora: User
) -> None:
    assert client.get(WATCH).status_code == 302
    ruth = make_person("Ruth")
    StudyRole.objects.create(study=study, user=ruth, granted_at=timezone.now())
    for person, status in ((stan, 404), (rita, 404), (ada, 200), (cora, 200), (ruth, 200)):
        client.force_login(person)
        assert client.get(WATCH).status_code == status, person
    assert client.post(WATCH).status_code == 405


def test_administrators_look_and_do_nothing(client: Client, study: ReaderStudy, ada: User) -> None:
    client.force_login(ada)
    page = said(client)
    assert "R1" in page
    for words in ("two clavicles", "Break the glass", "Void", "Extend"):
        assert words not in page


@pytest.mark.parametrize("tail", ["", *READER_ACTS])
def test_one_reader_is_for_coordinators(
    client: Client, rita_reads: Enrolment, rita: User, stan: User, ada: User, cora: User, tail: str
) -> None:
    page = f"{WATCH}{rita_reads.public_id}/{tail}"
    for person, status in ((stan, 404), (rita, 404), (ada, 403)):
        client.force_login(person)
        assert client.get(page).status_code == status if not tail else client.post(page).status_code == status
    client.force_login(cora)
    assert client.get(page).status_code == (405 if tail else 200)
    other = make_study("Other")
    assert client.post(f"/studies/{other.slug}/watch/{rita_reads.public_id}/{tail}").status_code == (
        404 if tail else 405
    )
    assert client.get(f"{WATCH}no-such-reader/").status_code == 404


@pytest.mark.parametrize("tail", STUDY_ACTS)
def test_acts_are_for_coordinators_and_ask_for_post(
    client: Client, study: ReaderStudy, rita: User, stan: User, ada: User, cora: User, tail: str
) -> None:
    page = f"/studies/trial/{tail}"
    for person, status in ((stan, 404), (rita, 404), (ada, 403)):
        client.force_login(person)
        assert client.post(page).status_code == status, person
    client.force_login(cora)
    assert client.get(page).status_code == 405
    assert not AuditEvent.objects.filter(act__startswith="study.").exists()


# --- what it shows ---


def test_the_table_has_progress_and_problems_and_no_answer(coordinator: Client, study: ReaderStudy) -> None:
    page = coordinator.get(WATCH)
    text = page.content.decode()
    for words in ("R1", "7 / 8", "4.2", "n = 1", "1 case flagged", "1 answer refused", "=two clavicles", "withdrawn"):
        assert words in text, words
    assert "rule active-1" in text
    assert "(Europe/Berlin)" in text
    assert not [option for option in OPTIONS if option in text]
    assert "accuracy" not in text.lower()
    assert "HX-Request" in page["Vary"]
    assert "no-store" in page["Cache-Control"]


def test_the_table_comes_alone_for_htmx(coordinator: Client, study: ReaderStudy) -> None:
    fragment = coordinator.get(WATCH, HTTP_HX_REQUEST="true").content.decode()
    assert fragment.lstrip().startswith('<div id="readers"')
    assert 'hx-trigger="every 15s"' in fragment
    assert "<html" not in fragment
    assert "Voided cases" not in fragment


def test_a_study_without_readers(coordinator: Client, db: None) -> None:
    make_study()
    assert "Nobody has joined yet" in said(coordinator)


def test_an_imported_reader_has_no_order_to_count_against(coordinator: Client, study: ReaderStudy) -> None:
    imported = Enrolment.objects.create(
        study=study, case_set=study.sets.get(), pseudonym="Elsewhere", source="old.csv", enrolled_at=timezone.now()
    )
    page = said(coordinator)
    assert "Elsewhere" in page
    assert "/ 0" not in page
    assert "imported" in page
    assert "Withdraw on their behalf" not in said(coordinator, f"{WATCH}{imported.public_id}/")


def test_queries_do_not_grow_with_the_readers(
    coordinator: Client, study: ReaderStudy, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in (1, 2):
        with django_assert_max_num_queries(20):
            coordinator.get(WATCH)
        with django_assert_max_num_queries(14):
            coordinator.get(WATCH, HTTP_HX_REQUEST="true")
        enrol(study, make_person(f"Reader{number}"))


def test_one_reader_closely(coordinator: Client, rita_reads: Enrolment) -> None:
    Enrolment.objects.update(
        facts={
            "training": "resident",
            "years": 3,
            "chest_fellowship": False,
            "films_per_week": 40,
            "display": "laptop",
        },
        display={"width": 1366, "height": 768, "pixel_ratio": 1.5, "n_failed": 1},
    )
    page = said(coordinator, f"{WATCH}{rita_reads.public_id}/")
    for words in ("radiologist in training", "Chest fellowship", "laptop", "Window 1366 × 768", "after 1 wrong try"):
        assert words in page, words
    assert "another answer is stored already" in page
    assert "goes on" in page
    assert not [option for option in OPTIONS if option in page]


# --- acts ---


def local(days: int) -> str:
    return (timezone.now() + timedelta(days=days)).strftime("%Y-%m-%dT18:00")


def test_extending_in_the_zone_of_the_study(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    User.objects.filter(pk=cora.pk).update(time_zone="Asia/Tokyo")
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-07-01T18:00"})
    study.refresh_from_db()
    assert study.deadline_at is not None
    assert study.deadline_at.isoformat() == "2036-07-01T16:00:00+00:00"
    assert "The deadline is 1 Jul 2036, 18:00 (Europe/Berlin) now." in said(coordinator)


@pytest.mark.parametrize(
    ("deadline", "words"), [("", "required"), ("soon", "valid date"), ("2020-01-01T10:00", "later")]
)
def test_deadlines_that_are_refused(coordinator: Client, study: ReaderStudy, deadline: str, words: str) -> None:
    before = study.deadline_at
    coordinator.post(f"{WATCH}extend/", {"deadline": deadline})
    assert words in said(coordinator)
    study.refresh_from_db()
    assert study.deadline_at == before


def test_more_time_for_one_reader(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}extend/", {"deadline": local(40)})
    assert "R1 has time until" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": local(35)})
    assert "only moves later" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": ""})
    assert "required" in said(coordinator, page)


def test_reminding(coordinator: Client, rita_reads: Enrolment, settings: Settings) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}remind/")
    assert "no mail server is set up" in said(coordinator, page)
    coordinator.post(f"{WATCH}remind/")
    assert "no mail server is set up" in said(coordinator)
    settings.EMAIL_HOST = "smtp.example.org"
    coordinator.post(f"{page}remind/")
    coordinator.post(f"{WATCH}remind/")
    assert "1 letter was sent." in said(coordinator)
    assert [letter.to for letter in mail.outbox] == [["rita@example.org"]] * 2


def test_withdrawing_on_behalf_needs_a_reason(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}withdraw/", {"withdraw-reason": " "})
    assert "Say why the reader leaves" in said(coordinator, page)
    coordinator.post(f"{page}withdraw/", {"withdraw-reason": "moved away"})
    assert "R1 has left the study" in said(coordinator, page)
    rita_reads.refresh_from_db()
    assert rita_reads.withdrawn_at


def test_a_reader_who_did_not_pass_the_practice_waits_for_a_decision(coordinator: Client, db: None, stan: User) -> None:
    enrolment = enrol(make_study(n_practice=2, rules=Rules(practice_pass=2)), stan)
    Enrolment.objects.update(practised_at=None)
    page = f"{WATCH}{enrolment.public_id}/"
    first, second = places_of(enrolment, Block.PRACTICE)
    read(first, {"option": "B"})
    assert "practice not passed" not in said(coordinator)
    read(second, {"option": "A"})
    assert "practice not passed" in said(coordinator)
    assert "1 of 2 practice cases are right; the study asks for 2." in said(coordinator, page)
    coordinator.post(f"{page}pass/", {"pass-reason": ""})
    assert "Say why the reader may go on" in said(coordinator, page)
    coordinator.post(f"{page}pass/", {"pass-reason": "a slip of the key"})
    assert "R1 can go on to the main block" in said(coordinator, page)
    enrolment.refresh_from_db()
    assert enrolment.practised_at
    assert AuditEvent.objects.get(act="enrolment.practice_let_pass").facts == {"reason": "a slip of the key"}


def test_replacing_shows_the_link_of_the_successor_once(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    assert coordinator.post(f"{page}replace/", {"replace-reason": ""})["Location"] == page
    answer = coordinator.post(f"{page}replace/", {"replace-reason": "ill", "replace-name": "Nina"})
    assert re.search(r'value="http[^"]*/read/join/[^"]+"', answer.content.decode())
    assert coordinator.post(f"{page}replace/", {"replace-reason": "ill"})["Location"] == page
    assert "is replaced already" in said(coordinator, page)


def test_the_glass(coordinator: Client, study: ReaderStudy) -> None:
    assert coordinator.post(f"{WATCH}interim/", {"reason": "curious"})["Location"] == WATCH
    assert "Give a reason of at least 20 characters" in said(coordinator)
    assert "Results were seen before closing" not in said(coordinator)
    page = coordinator.post(f"{WATCH}interim/", {"reason": REASON})
    text = page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert "28.57" in text  # 2 of 7
    assert REASON in text
    watch = said(coordinator)
    assert "Results were seen before closing." in watch
    assert REASON in watch
    assert "28.57" not in watch


def test_voiding_before_and_after_results_were_seen(coordinator: Client, study: ReaderStudy) -> None:
    coordinator.post("/studies/trial/void/", {"case": "1", "reason": "two keys are right"})
    page = said(coordinator)
    assert "Case 1 is voided and left out of every result." in page
    assert "left out of every result" in page
    coordinator.post(f"{WATCH}interim/", {"reason": REASON})
    coordinator.post("/studies/trial/void/", {"case": "2", "reason": "an image of somebody else"})
    assert "left out of a sensitivity line only" in said(coordinator)
    assert list(Voiding.objects.order_by("pk").values_list("case__number", "before_unblinding")) == [
        (1, True),
        (2, False),
    ]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"case": "1", "reason": " "}, "Give the number of the case and the reason"),
        ({"case": "", "reason": "x"}, "Give the number of the case and the reason"),
        ({"case": "99", "reason": "x"}, "The study has no case 99"),
        ({"case": "3", "reason": "x"}, "voided already"),
    ],
)
def test_voidings_that_are_refused(coordinator: Client, study: ReaderStudy, given: dict[str, str], words: str) -> None:
    void(study.cases.get(block="main", number=3))
    coordinator.post("/studies/trial/void/", given)
    assert words in said(coordinator)
    assert Voiding.objects.count() == 1


def test_the_re_review(client: Client, study: ReaderStudy, cora: User, ada: User, stan: User) -> None:
    page = "/studies/trial/re-review/"
    for person, status in ((stan, 404), (ada, 403)):
        client.force_login(person)
        assert client.get(page).status_code == status
    client.force_login(cora)
    assert "Choose missed cases" not in said(client)
    answer = client.post(page, {"threshold": "50", "name": "Again"})
    assert answer.status_code == 422
    assert "Before closing" in answer.content.decode()
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert "Choose missed cases" in said(client)
    assert "Choosing missed cases is a look at results" in said(client, page)
    for given in ({"threshold": "0", "name": "Again"}, {"threshold": "50", "name": ""}, {}):
        assert client.post(page, given).status_code == 422
    answer = client.post(page, {"threshold": "50", "name": "Again"})
    assert "No case was missed that often" in answer.content.decode()
    assert not ReviewRound.objects.exists()
