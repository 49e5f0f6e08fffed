"""What needs the attention of a coordinator, at home and by mail; and what became of a reviewer's questions."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from pytest_django import Settings

from annotation.enums import ReturnReason, Role, RoundState
from annotation.models import CalibrationResult, Membership, ReviewRound, User
from annotation.outcomes.attention import attention_of, send_digests
from annotation.review.assignments import own_assignment
from annotation.review.ending import close_round, complete_reviews
from annotation.review.submitting import hand_back
from tests.annotation.adjudication.made import N_OPEN, by_number, make_adjudicated, make_reviewed
from tests.annotation.rounds.made import say, theirs
from tests.conftest import make_person
from tests.emails import delivered

pytestmark = pytest.mark.usefixtures("without_pixels")


DAY = timedelta(days=1)
STUCK = ("stuck", "Nothing for 3 days: Remo, Rita")
TO_BEGIN = ("waits", "2 questions are disputed: name an adjudicator")


@pytest.fixture
def completed(reviewed: ReviewRound, cora: User, noon: datetime) -> ReviewRound:
    complete_reviews(reviewed, actor=cora, at=noon, confirmed_open=N_OPEN)
    return reviewed


def told(person: User, at: datetime) -> list[tuple[str, str]]:
    return [(one.tag, one.sentence) for one in attention_of(person, at)]


def test_who_has_done_nothing_for_three_days_is_stuck(reviewed: ReviewRound, cora: User, noon: datetime) -> None:
    assert told(cora, noon + 3 * DAY - timedelta(seconds=1)) == []
    assert told(cora, noon + 3 * DAY) == [STUCK]


def test_who_is_behind_is_late_and_overdue_when_it_is_due(reviewed: ReviewRound, cora: User, noon: datetime) -> None:
    reviewed.due_at = noon + 2 * DAY
    reviewed.save()
    assert told(cora, noon + DAY) == []  # 3 and 2 of 4 reviews are in, 2 are expected
    assert told(cora, noon + 1.6 * DAY) == [("late", "Behind: Remo")]
    assert told(cora, noon + 2 * DAY) == [("overdue", "Behind: Remo, Rita")]


def test_what_is_handed_back_waits_and_the_rest_can_be_ended(
    reviewed: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    hand_back(
        own_assignment(rita, by_number(rita, reviewed)[4].public_id), ReturnReason.KNOWS_PATIENT, actor=rita, at=noon
    )
    assert ("waits", "1 question was handed back") in told(cora, noon)
    again = make_reviewed(cora, rita, remo, name="Again")
    for one in (*theirs(rita), *theirs(remo)):
        if one.round == again and not hasattr(one, "blind_answer"):
            say(one)
    sentences = {one.review_round.name: one.sentence for one in attention_of(cora, noon)}
    assert sentences["Again"] == "All reviews are in: end the independent reviews"


def test_a_calibration_that_is_not_passed_asks_until_the_person_is_let_in(
    reviewed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    result = CalibrationResult.objects.create(
        round=reviewed, reviewer=rita, rule="calibration-1", n_compared=5, n_agreed=1, passed=False, finished_at=noon
    )
    assert told(cora, noon) == [("stuck", "Calibration not passed: Rita")]
    result.let_in_at, result.let_in_by, result.let_in_reason = noon, cora, "All the same."
    result.save()
    assert told(cora, noon) == []


def test_disputes_are_new_for_a_day_and_wait_for_a_decision(completed: ReviewRound, cora: User, noon: datetime) -> None:
    lately = ("disputed", "2 questions became disputed since yesterday")
    assert told(cora, noon + DAY - timedelta(seconds=1)) == [lately, TO_BEGIN]
    assert told(cora, noon + DAY) == [TO_BEGIN]


def test_an_adjudication_waits_for_its_adjudicator(cora: User, rita: User, remo: User, noon: datetime) -> None:
    made = make_adjudicated(cora, rita, remo, make_person("Judy"))
    assert told(cora, noon + DAY) == [("waits", "2 questions wait for an adjudicator")]
    close_round(made, actor=cora, at=noon, confirmed_open=2)
    assert told(cora, noon + DAY) == []


def test_a_settled_round_can_be_closed(cora: User, rita: User, remo: User, noon: datetime) -> None:
    made = make_reviewed(cora, rita, remo)
    complete_reviews(made, actor=cora, at=noon, confirmed_open=N_OPEN)
    made.settlements.exclude(outcome="accepted").delete()
    assert told(cora, noon) == [("waits", "Everything is settled: close the round")]


def test_who_reviews_learns_nothing_of_disputes_and_nobody_of_other_rounds(
    completed: ReviewRound, cora: User, rita: User, noon: datetime
) -> None:
    assert told(rita, noon) == []
    Membership.objects.create(user=rita, role=Role.COORDINATOR, round=completed, granted_at=noon)
    assert told(rita, noon) == []
    stan = make_person("Stan")
    assert told(stan, noon) == []
    Membership.objects.create(user=stan, role=Role.COORDINATOR, round=completed, granted_at=noon)
    assert TO_BEGIN in told(stan, noon)


# --- by mail --------------------------------------------------------------------------------------
def test_a_digest_goes_to_who_wants_one_and_only_with_something_in_it(
    client: Client, completed: ReviewRound, cora: User, rita: User, noon: datetime, settings: Settings
) -> None:
    settings.EMAIL_HOST = "smtp.example.org"
    assert send_digests(at=noon) == (0, 0)
    for person, is_asked in ((cora, True), (rita, False)):
        client.force_login(person)
        assert ("wants_digest" in client.get("/profile/").content.decode()) == is_asked
        client.post("/profile/", {"name": person.name, "time_zone": "UTC", "wants_digest": "on"})
    assert not User.objects.get(pk=rita.pk).wants_digest
    User.objects.filter(pk=rita.pk).update(wants_digest=True)  # wanted while she coordinated
    assert send_digests(at=noon) == (1, 1)
    (sent,) = delivered()
    assert sent.to == [cora.email]
    assert "Spring: 2 questions are disputed: name an adjudicator (waits)" in str(sent.body)
    assert f"{settings.PUBLIC_URL}/rounds/spring/" in str(sent.body)
    client.force_login(cora)
    client.post("/profile/", {"name": cora.name, "time_zone": "UTC"})
    assert send_digests(at=noon) == (0, 1)


def test_without_a_mail_server_the_command_says_so(
    completed: ReviewRound, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.EMAIL_HOST = ""
    User.objects.update(wants_digest=True)
    call_command("send_digests")
    assert capsys.readouterr().out == "No mail server is configured: nothing was sent.\n"
    assert delivered() == []


# --- what became of a reviewer's questions --------------------------------------------------------
def test_decisions_are_shown_of_ones_own_reviews_once_a_round_that_shows_them_is_closed(
    client: Client, completed: ReviewRound, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    address = f"/review/rounds/{completed.slug}/decisions/"

    def status(person: User) -> int:
        client.force_login(person)
        return client.get(address).status_code

    completed.shows_decisions = True
    completed.save()
    assert status(rita) == 404
    close_round(completed, actor=cora, at=noon, confirmed_open=0)
    assert [status(person) for person in (rita, remo, make_person("Stan"))] == [200, 200, 404]
    client.force_login(remo)
    answer = client.get(address)
    assert [row.review.assignment.reviewer_id for row in answer.context["rows"]] == [remo.pk, remo.pk]
    assert "RITA-WORDS" not in answer.content.decode()
    assert address in client.get(f"/review/rounds/{completed.slug}/").content.decode()
    ReviewRound.objects.filter(state=RoundState.CLOSED).update(shows_decisions=False)
    assert (status(rita), status(remo)) == (404, 404)
