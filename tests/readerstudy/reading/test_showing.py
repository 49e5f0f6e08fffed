"""What the reading page of a reader may hold, and that nothing else is asked of the database."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import AnswerKey, Exam, Report
from readerstudy.models import Arm, Enrolment
from readerstudy.views.reading import state_json
from tests.annotation.review.cases import SECRETS
from tests.readerstudy.reading.conftest import MakeDesk
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.reading.page import ReadingPage
from tests.readerstudy.studies import keep_again

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
