"""What the page of a reader holds: the next case, in the drawn order; the practice block with its feedback."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AnswerKey, AuditEvent, Exam, Report, User
from readerstudy.enums import Block
from readerstudy.models import Arm, Enrolment, Reading, Response, TimingEvent
from readerstudy.reading.case_opening import Feedback, feedback_of, let_pass, n_right
from readerstudy.reading.prefetched import ReadingRefused
from readerstudy.study.permissions import StudyRefused
from readerstudy.views.reading import state_json
from tests.annotation.review.cases import SECRETS
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk, reading_at
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import enrol, keep_again, later, places_of
from tests.refusals import refuses

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]


def state(desk: Desk, seconds: float = 0) -> dict[str, Any]:
    return state_json(desk.state(seconds))


def test_the_current_case_first_then_the_armed_ones(desk: Desk) -> None:
    found = state(desk)
    assert [case["id"] for case in found["cases"]] == [place.public_id for place in desk.places[:3]]
    assert (found["n"], found["done"], found["block"], found["writer"], found["last"]) == (4, 0, "main", True, None)
    assert found["study"] == {"name": "Trial", "slug": "trial", "protocol": "c0ffee" + "0" * 58, "simulated": False}


def test_a_case_has_nothing_but_its_question(desk: Desk) -> None:
    case = state(desk)["cases"][0]
    assert set(case) == {
        *("id", "position", "stem", "options", "views", "withheld", "information", "opened", "painted"),
        *("choice", "choice_sequence", "seconds_left", "seconds_open", "break_before", "begins", "urls"),
    }
    assert set(case["urls"]) == {"open", "choice", "events", "commit", "remark"}
    assert (case["information"], case["opened"], case["seconds_left"]) == (None, False, None)


def test_a_page_without_the_pen_gets_no_cases(desk: Desk) -> None:
    desk.read(desk.places[0], seconds=1)
    looking_on = Desk(desk.enrolment)
    found = state(looking_on, 10)
    assert (found["writer"], found["session"], found["cases"], found["last"]) == (False, None, [], None)
    assert found["done"] == 1


def test_what_was_done_to_the_current_case_is_there_after_a_reload(desk: Desk) -> None:
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 2)
    desk.choose(desk.places[0], "C", 4, 3)
    case = state(desk, 4)["cases"][0]
    assert (case["opened"], case["painted"], case["choice"], case["choice_sequence"]) == (True, True, "C", 4)


@pytest.mark.parametrize(
    ("information", "expected"),
    [
        ("none", None),
        ("age_sex", {"age": 58, "sex": "F", "indication": ""}),
        ("indication", {"age": 58, "sex": "F", "indication": "cough"}),
    ],
)
def test_the_arm_says_what_stands_beside_the_question(desk: Desk, information: str, expected: object) -> None:
    Report.objects.update(indication="cough")
    Arm.objects.update(information=information)
    keep_again(desk.enrolment.study)
    assert {json.dumps(case["information"]) for case in state(desk)["cases"]} == {json.dumps(expected)}


def test_no_secret_word_is_in_any_state(desk: Desk) -> None:
    texts = [json.dumps(state(desk))]
    for place in desk.places:
        desk.read(place, seconds=place.position * 20)
        texts.append(json.dumps(state(desk, place.position * 20 + 10)))
    for name, secret in SECRETS.items():
        if name != "key":
            assert not [text for text in texts if secret in text], name


def test_no_query_of_a_main_block_touches_keys_or_reports(desk_with: MakeDesk) -> None:
    """A whole session over HTTP: reading, a reload, a slip, a fault, a break, another answer, the last case."""
    desk = desk_with(n_cases=3, pixels=True)
    page = ReadingPage(desk.reader, desk.enrolment.study.slug)
    with CaptureQueriesContext(connection) as queries:
        cases = page.begin(take="yes")["state"]["cases"]
        for case in cases:
            assert page.read(case, "B").status_code == 200
            page.commit(case["id"], "C")
            page.post("remark", case["id"], kind="slip", value="C", key=page.name)
            page.post("remark", case["id"], kind="fault", text="odd", key=page.name[::-1].replace("-", "")[:36])
            page.post("pause")
            page.post("resume")
            page.state()
    assert Enrolment.objects.get().finished_at is not None
    assert len(queries) > 100
    secret = {AnswerKey._meta.db_table, Report._meta.db_table}
    assert not [query["sql"] for query in queries if any(table in query["sql"] for table in secret)]
    columns = ("category", "difficulty", "task", "subcategory", "question_class")
    told = [query["sql"] for query in queries if any(f'revision"."{column}"' in query["sql"] for column in columns)]
    assert told == []


def test_an_exam_without_images_shows_none(desk: Desk) -> None:
    assert Exam.objects.exists()
    assert [case["views"] for case in state(desk)["cases"]] == [[], [], []]


def test_a_case_with_a_time_limit_gets_its_text_with_its_opening(desk_with: MakeDesk) -> None:
    """Its images may be there before; what is read of it begins with the opening, which the server knows."""
    desk = desk_with(time_limit_s=30, pixels=True)
    page = ReadingPage(desk.reader, desk.enrolment.study.slug)
    cases = page.begin(take="yes")["state"]["cases"]
    texts = [(case["stem"], case["options"], case["information"]) for case in cases]
    assert texts == [("", [], None)] * 3, "no text of a limited case may leave the server before the case is opened"
    assert all(case["views"] for case in cases)
    for opened in (page.open(cases[0]["id"]).json()["state"], page.open(cases[0]["id"]).json()["state"], page.state()):
        first, *others = opened["cases"]
        assert first["stem"] and len(first["options"]) == 4  # noqa: PT018
        assert not any(case["stem"] or case["options"] for case in others)


def test_a_page_knows_how_long_ago_its_case_was_opened(desk_with: MakeDesk) -> None:
    desk = desk_with(time_limit_s=600)
    desk.open(desk.places[0], 1)
    desk.paint(desk.places[0], 2)
    first, second, _third = state(desk, 7)["cases"]
    assert (first["seconds_left"], first["seconds_open"], second["seconds_open"]) == (595, 6, None)


# --- opening a case --------------------------------------------------------------------------------
def test_opening_makes_the_reading_and_the_event_of_the_server(desk: Desk) -> None:
    reading = desk.open(desk.places[0], 1)
    assert (reading.opened_at, reading.position, reading.case_id) == (later(1), 1, desk.places[0].case_id)
    event = TimingEvent.objects.get()
    assert (event.page, event.kind, event.received_at) == ("server", "opened", later(1))


def test_opening_again_changes_nothing(desk: Desk) -> None:
    first = desk.open(desk.places[0], 1)
    assert desk.open(desk.places[0], 9) == first
    assert (reading_at(desk.places[0]).opened_at, TimingEvent.objects.count()) == (later(1), 1)


def test_an_armed_case_waits_for_those_before_it(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[1], 1)
    desk.open(desk.places[0], 1)
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[1], 2)
    desk.paint(desk.places[0], 2)
    desk.commit(desk.places[0], seconds=3)
    assert desk.open(desk.places[1], 4).position == 2


def test_a_case_further_on_is_not_there(desk: Desk) -> None:
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[3], 1)
    assert not Reading.objects.exists()


def test_how_many_are_armed_is_a_rule_of_the_study(desk_with: MakeDesk) -> None:
    desk = desk_with(n_cases=8, n_ready=5)
    assert [place.position for place in desk.state().position.prefetched] == [1, 2, 3, 4, 5, 6]
    with refuses(ReadingRefused, "not_yet"):
        desk.open(desk.places[5], 1)
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[6], 1)


def test_a_place_of_another_reader_is_not_there(desk: Desk, remo: User) -> None:
    theirs = Desk(enrol(desk.enrolment.study, remo)).places[0]
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(theirs, 1)


def test_nothing_opens_during_a_break(desk: Desk) -> None:
    desk.pause(1)
    with refuses(ReadingRefused, "paused"):
        desk.open(desk.places[0], 2)
    desk.resume(3)
    desk.open(desk.places[0], 4)


def test_the_next_case_waits_for_the_confidence_of_the_last(desk_with: MakeDesk) -> None:
    desk = desk_with(confidence=True)
    desk.read(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "confidence_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "confidence", "80", seconds=11)
    desk.open(desk.places[1], 12)


def test_the_next_case_waits_for_the_best_guess_of_who_cannot_tell(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.decline(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "guess_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "guess", "C", seconds=11)
    assert desk.open(desk.places[1], 12).position == 2


def test_the_guess_comes_first_and_then_how_sure_it_is(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True, confidence=True)
    desk.decline(desk.places[0], seconds=1)
    with refuses(ReadingRefused, "guess_missing"):
        desk.open(desk.places[1], 10)
    desk.say(desk.places[0], "guess", "C", seconds=11)
    with refuses(ReadingRefused, "confidence_missing"):
        desk.open(desk.places[1], 12)
    desk.say(desk.places[0], "confidence", "40", seconds=13)
    assert desk.open(desk.places[1], 14).position == 2


def test_nothing_is_asked_of_an_option_where_one_may_decline(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True)
    desk.read(desk.places[0], seconds=1)
    assert desk.open(desk.places[1], 10).position == 2


def test_nothing_is_asked_of_who_could_not_tell_too_late(desk_with: MakeDesk) -> None:
    desk = desk_with(cannot_tell=True, confidence=True, time_limit_s=5)
    assert desk.decline(desk.places[0], seconds=1, takes=20).state == "late"
    assert desk.open(desk.places[1], 30).position == 2


def test_practice_comes_before_the_main_block(desk_with: MakeDesk) -> None:
    desk = desk_with(n_practice=2)
    desk.enrolment.practised_at = None
    desk.enrolment.save()
    with refuses(ReadingRefused, "not_prefetched"):
        desk.open(desk.places[0], 1)
    assert [place.block for place in desk.state().position.prefetched] == ["practice", "practice"]


# --- the practice block ----------------------------------------------------------------------------
@pytest.fixture
def practising(desk_with: MakeDesk) -> MakeDesk:
    """Rita before her two practice cases."""

    def make(**rules: object) -> Desk:
        desk = desk_with(n_cases=2, n_practice=2, **rules)
        Enrolment.objects.update(practised_at=None)
        desk.places = places_of(desk.enrolment, Block.PRACTICE)
        return desk

    return make


def feedback(desk: Desk, number: int = 0) -> Feedback | None:
    """What the stored answer to a case gives, if there is one."""
    response = Response.objects.filter(reading__presented=desk.places[number]).first()
    return feedback_of(response) if response is not None else None


def test_key_and_explanation_come_with_the_final_answer(practising: MakeDesk) -> None:
    desk = practising()
    desk.open(desk.places[0], 1)
    desk.choose(desk.places[0], "B", 1, 2)
    assert feedback(desk) is None
    desk.paint(desk.places[0], 2)
    desk.commit(desk.places[0], "A", seconds=5)
    assert feedback(desk) == Feedback(correct=False, key="B", explanation=SECRETS["explanation"])
    desk.read(desk.places[1], "B", seconds=10)
    assert feedback(desk, 1) == Feedback(correct=True, key="B", explanation=SECRETS["explanation"])


def test_a_case_that_ran_out_tells_nothing(practising: MakeDesk) -> None:
    desk = practising(time_limit_s=30)
    desk.open(desk.places[0], 0)
    desk.paint(desk.places[0], 0)
    desk.open(desk.places[1], 40)
    assert feedback(desk) is None


def test_the_main_block_tells_nothing(desk: Desk) -> None:
    desk.read(desk.places[0], "B", seconds=1)
    assert feedback(desk) is None


def test_an_answer_that_is_not_stored_tells_nothing(practising: MakeDesk) -> None:
    desk = practising()
    reading = desk.open(desk.places[0], 1)
    assert feedback_of(Response(reading=reading, is_confirmed=True, option="B", state="answered")) is None


def test_the_main_block_follows_the_last_practice_case(practising: MakeDesk) -> None:
    desk = practising()
    for place in desk.places:
        assert Enrolment.objects.get().practised_at is None
        desk.read(place, seconds=place.position * 20)
    assert Enrolment.objects.get().practised_at == later(48)
    shown = desk.state(50)
    assert (shown.position.block, shown.position.n, shown.position.done, len(shown.cases)) == ("main", 2, 0, 2)
    assert shown.last is not None
    assert shown.last.id == desk.places[1].public_id


@pytest.mark.parametrize(("second", "passes"), [("B", True), ("A", False)])
def test_a_study_can_ask_for_right_answers(practising: MakeDesk, second: str, passes: bool) -> None:
    desk = practising(practice_pass=2)
    desk.read(desk.places[0], "B", seconds=1)
    desk.read(desk.places[1], second, seconds=20)
    assert (Enrolment.objects.get().practised_at is not None) == passes
    shown = desk.state(30)
    assert (shown.position.is_undecided, shown.finished) == (not passes, not passes)
    assert bool(shown.cases) == passes


def test_a_coordinator_lets_a_reader_go_on(practising: MakeDesk, cora: User) -> None:
    desk = practising(practice_pass=2)
    with pytest.raises(StudyRefused):
        let_pass(desk.enrolment, "too early", actor=cora, at=later(0))
    assert Enrolment.objects.get().practised_at is None
    for place in desk.places:
        desk.read(place, "A", seconds=place.position * 20)
    assert n_right(desk.enrolment) == 0
    let_pass(desk.enrolment, "pressed the wrong keys", actor=cora, at=later(99))
    let_pass(desk.enrolment, "again", actor=cora, at=later(100))
    assert Enrolment.objects.get().practised_at == later(99)
    assert AuditEvent.objects.get(act="enrolment.practice_let_pass").facts == {"reason": "pressed the wrong keys"}
    assert desk.state(101).position.block == "main"
