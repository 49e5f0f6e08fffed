"""What a reader says beside the answer: a best guess, confidence, a slip, a fault."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import User
from readerstudy.design.kernels.documents import CHANCES
from readerstudy.models import ReaderStudy, Remark, Response, Voiding
from readerstudy.reading.committing import MOST_TEXT
from readerstudy.reading.prefetched import ReadingRefused
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, new_key
from tests.readerstudy.studies import enrol, later
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def asked(desk_with: MakeDesk) -> Desk:
    """A study that asks for confidence; the first case is answered with B."""
    desk = desk_with(confidence=True)
    desk.read(desk.places[0], "B", seconds=1)
    return desk


@pytest.mark.parametrize("chance", CHANCES)
def test_the_chance_of_being_right(asked: Desk, chance: int) -> None:
    assert asked.say(asked.places[0], "confidence", str(chance), seconds=10).value == str(chance)


@pytest.mark.parametrize("value", ["", "50", "095", "B", "\x00"])
def test_other_chances_are_none(asked: Desk, value: str) -> None:
    with refuses(ReadingRefused, "malformed"):
        asked.say(asked.places[0], "confidence", value, seconds=10)


def test_the_same_key_is_stored_once(asked: Desk) -> None:
    key = new_key()
    first = asked.say(asked.places[0], "confidence", "80", key=key, seconds=10)
    assert asked.say(asked.places[0], "confidence", "25", key=key, seconds=11) == first
    assert Remark.objects.get().value == "80"


def test_a_second_thought_is_a_second_row(asked: Desk) -> None:
    for value in ("80", "60"):
        asked.say(asked.places[0], "confidence", value, seconds=10)
    assert list(Remark.objects.values_list("value", flat=True)) == ["80", "60"]


def test_confidence_ends_when_the_next_case_opens(asked: Desk) -> None:
    asked.say(asked.places[0], "confidence", "80", seconds=10)
    asked.open(asked.places[1], 11)
    with refuses(ReadingRefused, "too_late"):
        asked.say(asked.places[0], "confidence", "60", seconds=12)


def test_confidence_is_only_taken_where_it_is_asked(desk: Desk) -> None:
    desk.read(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "confidence", "80", seconds=10)


# --- a best guess ---------------------------------------------------------------------------------
@pytest.fixture
def declined(desk_with: MakeDesk) -> Desk:
    """A study that allows "cannot tell", said of the first case, and asks for confidence."""
    desk = desk_with(cannot_tell=True, confidence=True)
    desk.decline(desk.places[0], seconds=1)
    return desk


@pytest.mark.parametrize("option", "ABCD")
@pytest.mark.logs("reading.remark")
def test_a_best_guess_is_an_option_beside_cannot_tell(declined: Desk, option: str) -> None:
    assert declined.say(declined.places[0], "guess", option, seconds=10).value == option
    response = Response.objects.get()
    assert (response.state, response.option) == ("declined", "")


@pytest.mark.parametrize("value", ["", "E", "b", "AB", "\x00", "declined"])
def test_a_guess_is_one_of_the_options(declined: Desk, value: str) -> None:
    with refuses(ReadingRefused, "malformed"):
        declined.say(declined.places[0], "guess", value, seconds=10)


def test_a_guess_has_no_text(declined: Desk) -> None:
    with refuses(ReadingRefused, "malformed"):
        declined.say(declined.places[0], "guess", "A", text="perhaps", seconds=10)


def test_a_guess_under_the_same_key_is_stored_once(declined: Desk) -> None:
    key = new_key()
    first = declined.say(declined.places[0], "guess", "B", key=key, seconds=10)
    assert declined.say(declined.places[0], "guess", "C", key=key, seconds=11) == first
    assert Remark.objects.get().value == "B"


def test_who_chose_an_option_has_nothing_to_guess(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.read(desk.places[0], "B", seconds=1)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "guess", "C", seconds=10)


def test_a_guess_is_only_taken_where_one_may_decline(desk: Desk) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "guess", "C", seconds=10)


def test_a_guess_before_the_answer_is_refused(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "too_late"):
        desk.say(desk.places[0], "guess", "C", seconds=2)


def test_a_guess_where_the_time_ended_is_refused(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True, time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    desk.open(desk.places[1], 40)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "guess", "C", seconds=41)


def test_a_guess_ends_when_the_next_case_opens(declined: Desk) -> None:
    declined.say(declined.places[0], "guess", "B", seconds=10)
    declined.say(declined.places[0], "confidence", "25", seconds=11)
    declined.open(declined.places[1], 12)
    with refuses(ReadingRefused, "too_late"):
        declined.say(declined.places[0], "guess", "C", seconds=13)


def test_a_guess_that_came_too_late_is_kept_and_not_asked_for(desk_with: MakeDesk) -> None:
    """The page asks before it can know that the answer was late: what the reader said then is not thrown away."""
    desk = desk_with(cannot_tell=True, time_limit_s=5)
    desk.decline(desk.places[0], seconds=1, takes=20)
    last = desk.state(22).last
    assert last is not None
    assert last.asked is None
    assert desk.say(desk.places[0], "guess", "B", seconds=23).value == "B"


def test_a_voided_case_is_guessed_like_any_other(declined: Desk) -> None:
    Voiding.objects.create(case=declined.places[0].case, reason="two keys", before_unblinding=True, at=later(9))
    declined.say(declined.places[0], "guess", "B", seconds=10)
    assert Remark.objects.get().value == "B"


def test_nobody_says_how_sure_they_are_of_nothing(declined: Desk) -> None:
    with refuses(ReadingRefused, "malformed"):
        declined.say(declined.places[0], "confidence", "80", seconds=10)
    declined.say(declined.places[0], "guess", "B", seconds=11)
    assert declined.say(declined.places[0], "confidence", "40", seconds=12).value == "40"


def test_a_guess_is_no_answer_that_could_slip(declined: Desk) -> None:
    declined.say(declined.places[0], "guess", "B", seconds=10)
    with refuses(ReadingRefused, "malformed"):
        declined.say(declined.places[0], "slip", "C", seconds=11)


@pytest.mark.parametrize(
    ("over", "code"), [({"state": "closed"}, "study_closed"), ({"deadline_at": later(5)}, "deadline_passed")]
)
def test_a_guess_after_the_end_of_the_study_is_refused(declined: Desk, over: dict[str, Any], code: str) -> None:
    ReaderStudy.objects.update(**over)
    with refuses(ReadingRefused, code):
        declined.say(declined.places[0], "guess", "B", seconds=10)
    assert not Remark.objects.exists()


def test_only_the_page_with_the_pen_guesses(declined: Desk) -> None:
    Desk(declined.enrolment).begin(10, take_over=True)
    with refuses(ReadingRefused, "not_the_writer"):
        declined.say(declined.places[0], "guess", "B", seconds=11)


def test_nobody_guesses_for_somebody_else(declined: Desk, remo: User) -> None:
    other = Desk(enrol(declined.enrolment.study, remo))
    other.begin(9)
    with refuses(ReadingRefused, "not_prefetched"):
        other.say(declined.places[0], "guess", "B", seconds=10)


# --- a slip, a fault ------------------------------------------------------------------------------
def test_a_slip_can_be_told_until_the_next_answer(desk: Desk) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    desk.open(desk.places[1], 10)
    desk.paint(desk.places[1], 10)
    assert desk.say(desk.places[0], "slip", "C", seconds=11).value == "C"
    desk.commit(desk.places[1], seconds=15)
    with refuses(ReadingRefused, "too_late"):
        desk.say(desk.places[0], "slip", "D", seconds=16)


def test_a_slip_can_be_told_after_a_case_that_ran_out(desk_with: MakeDesk) -> None:
    """Until the next answer: the end of the time is none."""
    desk = desk_with(time_limit_s=30)
    desk.read(desk.places[0], "B", seconds=1)
    desk.open(desk.places[1], 10)
    desk.paint(desk.places[1], 10)
    desk.open(desk.places[2], 50)
    assert desk.say(desk.places[0], "slip", "C", seconds=51).value == "C"


@pytest.mark.parametrize("value", ["B", "E", ""])
def test_a_slip_means_another_option(desk: Desk, value: str) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "slip", value, seconds=11)


def test_a_study_can_do_without_slips(desk_with: MakeDesk) -> None:
    desk = desk_with(slips=False)
    desk.read(desk.places[0], "B", seconds=1)
    assert desk.state(9).last is not None
    assert not desk.state(9).last.may_slip  # type: ignore[union-attr]
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "slip", "C", seconds=11)


def test_nothing_slips_without_an_answer(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    desk.choose(desk.places[0], "A", 1, 5)
    desk.open(desk.places[1], 40)
    with refuses(ReadingRefused, "too_late"):
        desk.say(desk.places[0], "slip", "C", seconds=41)


def test_a_fault_can_be_told_of_any_case_that_was_opened(desk: Desk) -> None:
    desk.read(desk.places[0], seconds=1)
    desk.open(desk.places[1], 10)
    for place in desk.places[:2]:
        desk.say(place, "fault", text=" two patients on one film ", seconds=11)
    assert set(Remark.objects.values_list("text", flat=True)) == {"two patients on one film"}
    with refuses(ReadingRefused, "not_opened"):
        desk.say(desk.places[2], "fault", text="unseen", seconds=12)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("fault", "", "  "),
        ("fault", "A", "words"),
        ("fault", "", "x" * (MOST_TEXT + 1)),
        ("fault", "", "\x00"),
        ("slip", "C", "words"),
        ("praise", "", "well done"),
    ],
)
def test_remarks_say_what_they_are_for(desk: Desk, kind: str, value: str, text: str) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], kind, value, text=text, seconds=10)
    assert not Remark.objects.exists()


def test_a_remark_has_a_key(desk: Desk) -> None:
    with refuses(ReadingRefused, "malformed"):
        desk.say(desk.places[0], "fault", text="words", key="1", seconds=10)


def test_only_the_page_with_the_pen_is_heard(desk: Desk) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    Desk(desk.enrolment).begin(10, take_over=True)
    with refuses(ReadingRefused, "not_the_writer"):
        desk.say(desk.places[0], "slip", "C", seconds=11)
