"""What a coordinator does on the pages with which they watch a study."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.models import AuditEvent, ReviewRound, User
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, Voiding
from tests.emails import delivered
from tests.readerstudy.exports.read_study import read, void
from tests.readerstudy.monitoring.conftest import WATCH, said
from tests.readerstudy.studies import enrol, make_study, places_of

pytestmark = pytest.mark.postgres


REASON = "The sponsor asked for a safety look."
SURE = {"confirmed": "yes"}


def local(days: int) -> str:
    return (timezone.now() + timedelta(days=days)).strftime("%Y-%m-%dT18:00")


def test_extending_in_the_zone_of_the_study(coordinator: Client, study: ReaderStudy, cora: User) -> None:
    User.objects.filter(pk=cora.pk).update(time_zone="Asia/Tokyo")
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-07-01T18:00", **SURE})
    study.refresh_from_db()
    assert study.deadline_at is not None
    assert study.deadline_at.isoformat() == "2036-07-01T16:00:00+00:00"
    assert "The deadline is 1 Jul 2036, 18:00 (Europe/Berlin) now." in said(coordinator)


def test_an_hour_that_the_person_does_not_have_can_be_a_deadline_of_the_study(
    coordinator: Client, study: ReaderStudy, cora: User
) -> None:
    """In Berlin the clocks jump from 2 to 3 on 30 March 2036; in New York they do not."""
    User.objects.filter(pk=cora.pk).update(time_zone="Europe/Berlin")
    ReaderStudy.objects.update(time_zone="America/New_York")
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-03-30T02:30", **SURE})
    study.refresh_from_db()
    assert study.deadline_at is not None
    assert study.deadline_at.isoformat() == "2036-03-30T06:30:00+00:00"


@pytest.mark.parametrize(
    ("deadline", "words"),
    [
        ("", "required"),
        ("soon", "valid date"),
        ("2020-01-01T10:00", "later"),
        ("2036-03-30T02:30", "does not exist in Europe/Berlin"),
        ("9999-12-31T23:59", "valid date"),
    ],
)
def test_deadlines_that_are_refused(coordinator: Client, study: ReaderStudy, deadline: str, words: str) -> None:
    before = study.deadline_at
    coordinator.post(f"{WATCH}extend/", {"deadline": deadline})
    assert words in said(coordinator)
    study.refresh_from_db()
    assert study.deadline_at == before


def test_an_hour_that_comes_twice_is_asked_for(coordinator: Client, study: ReaderStudy) -> None:
    coordinator.post(f"{WATCH}extend/", {"deadline": "2036-10-26T02:30"})
    assert "comes twice in Europe/Berlin" in said(coordinator)


def test_more_time_is_asked_back(coordinator: Client, study: ReaderStudy, rita_reads: Enrolment, stan: User) -> None:
    """A deadline never moves earlier again: first it is shown whose it is, from when to when."""
    before, kept = datetime(2036, 6, 1, 16, 0, tzinfo=UTC), datetime(2036, 8, 1, 16, 0, tzinfo=UTC)
    ReaderStudy.objects.update(deadline_at=before)
    other = enrol(study, stan).pseudonym
    new = {"deadline": "2036-07-01T18:00"}
    page = f"{WATCH}{rita_reads.public_id}/"
    both = f"2 readers who have not finished: R1, {other}"
    for address, whose in ((f"{page}extend/", "R1"), (f"{WATCH}extend/", both)):
        answer = coordinator.post(address, new)
        asked = answer.content.decode()
        assert answer.status_code == 200
        assert whose in asked
        assert "from 1 Jun 2036, 18:00 (Europe/Berlin) to 1 Jul 2036, 18:00 (Europe/Berlin)" in asked
        assert 'name="deadline" value="2036-07-01T18:00"' in asked
        study.refresh_from_db()
        rita_reads.refresh_from_db()
        assert (study.deadline_at, rita_reads.deadline_at) == (before, None)
    Enrolment.objects.filter(pk=rita_reads.pk).update(deadline_at=kept)
    asked = coordinator.post(f"{WATCH}extend/", new).content.decode()
    assert f"1 reader who has not finished: {other}" in asked
    assert "R1 keeps a later deadline: 1 Aug 2036, 18:00 (Europe/Berlin)" in asked
    assert f'href="{page}"' in coordinator.post(f"{page}extend/", {"deadline": "2036-09-01T18:00"}).content.decode()


def test_more_time_for_one_reader(coordinator: Client, rita_reads: Enrolment) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}extend/", {"deadline": local(40), **SURE})
    assert "R1 has time until" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": local(35)})
    assert "only moves later" in said(coordinator, page)
    coordinator.post(f"{page}extend/", {"deadline": ""})
    assert "required" in said(coordinator, page)


def test_reminding(coordinator: Client, rita_reads: Enrolment, settings: Settings) -> None:
    page = f"{WATCH}{rita_reads.public_id}/"
    coordinator.post(f"{page}remind/")
    assert "no mail server is configured" in said(coordinator, page)
    coordinator.post(f"{WATCH}remind/")
    assert "no mail server is configured" in said(coordinator)
    settings.EMAIL_HOST = "smtp.example.org"
    coordinator.post(f"{page}remind/")
    coordinator.post(f"{WATCH}remind/")
    assert "1 e-mail was sent." in said(coordinator)
    assert [letter.to for letter in delivered()] == [["rita@example.org"]] * 2


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
    coordinator.post(f"{page}pass/", {"pass-reason": "too early"})
    assert "R1 has practice cases left." in said(coordinator, page)
    read(second, {"option": "A"})
    assert "practice not passed" in said(coordinator)
    assert "1 of 2 practice cases are correct; the study requires 2." in said(coordinator, page)
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
    coordinator.post("/studies/trial/void/", {"case": "1", "reason": "two keys are right", **SURE})
    page = said(coordinator)
    assert "Case 1 is voided and left out of every result." in page
    assert "left out of every result" in page
    coordinator.post(f"{WATCH}interim/", {"reason": REASON})
    coordinator.post("/studies/trial/void/", {"case": "2", "reason": "an image of somebody else", **SURE})
    assert "only a sensitivity analysis leaves it out" in said(coordinator)
    voided = Voiding.objects.order_by("pk").values_list("case__number", "before_unblinding")
    assert list(voided) == [(1, True), (2, False)]


def test_a_voiding_is_asked_back_with_the_case_that_was_meant(coordinator: Client, study: ReaderStudy) -> None:
    question = study.cases.get(block="main", number=2).revision.question
    for given in ({"case": "2", "reason": "cut <off>"}, {"case": "2", "reason": "cut <off>", "confirmed": "no"}):
        answer = coordinator.post("/studies/trial/void/", given)
        page = answer.content.decode()
        assert answer.status_code == 200
        assert f"Case 2 is question {question.number}: “" in page
        assert "Nobody has seen a result" in page
        assert "Voiding cannot be undone." in page
        assert 'name="reason" value="cut &lt;off&gt;"' in page
        assert f'href="{WATCH}"' in page
    assert Voiding.objects.count() == 0
    ReaderStudy.objects.update(unblinded_at=timezone.now())
    assert (
        "all results but a labelled sensitivity analysis"
        in coordinator.post("/studies/trial/void/", given).content.decode()
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"case": "1", "reason": " "}, "Give the number of the case and the reason"),
        ({"case": "", "reason": "x"}, "Give the number of the case and the reason"),
        ({"case": "99", "reason": "x"}, "The study has no case 99"),
        ({"case": "9" * 30, "reason": "x"}, "The study has no case 999"),
        ({"case": "3", "reason": "x"}, "voided already"),
    ],
)
def test_voidings_that_are_refused(coordinator: Client, study: ReaderStudy, given: dict[str, str], words: str) -> None:
    void(study.cases.get(block="main", number=3))
    coordinator.post("/studies/trial/void/", {**given, **SURE})
    assert words in said(coordinator)
    assert Voiding.objects.count() == 1


def test_the_re_review(client: Client, study: ReaderStudy, cora: User) -> None:
    page = "/studies/trial/re-review/"
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
    assert "No case has answers of 2 readers" in answer.content.decode()
    assert not ReviewRound.objects.exists()
