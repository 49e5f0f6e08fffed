"""Committing an answer over HTTP."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import User
from readerstudy.design.kernels.documents import Rules
from readerstudy.models import Enrolment, RefusedAnswer, Response
from tests.annotation.review.cases import SECRETS
from tests.readerstudy.reading.page import ReadingPage, new_key
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(rita: User) -> ReadingPage:
    study = make_study(n_cases=5, pixels=True, rules=Rules(cannot_tell=True))
    enrol(study, rita)
    return ReadingPage(rita, study.slug)


def test_an_answer_is_stored_and_the_state_that_follows_comes_with_it(page: ReadingPage) -> None:
    first, second, *_rest = page.begin()["state"]["cases"]
    answer = page.read(first, "C")
    assert answer.status_code == 200, answer.content
    body = answer.json()
    stored = Response.objects.get()
    assert (stored.option, stored.state, stored.is_confirmed) == ("C", "answered", True)
    assert (stored.active_ms, stored.time_flags) == (1_500, [])
    assert body["stored"] == {
        "place": first["id"],
        "option": "C",
        "state": "answered",
        "key": stored.key,
        "delivered_late": False,
    }
    assert body["feedback"] is None
    assert body["state"]["done"] == 1
    assert body["state"]["cases"][0]["id"] == second["id"]
    assert body["state"]["last"]["option"] == "C"
    assert body["state"]["last"]["options"] == first["options"]  # as they stood on screen: a slip names one of them
    assert "no-store" in answer["Cache-Control"]


def test_the_same_key_gets_the_same_answer(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    told, key = page.watch(case, 0, 1_000), new_key()
    first = page.commit(case["id"], "C", *told, key=key).json()["stored"]
    again = page.commit(case["id"], "C", *told, key=key)
    assert (again.status_code, again.json()["stored"]) == (200, first)
    assert page.commit(case["id"], "C").json()["stored"] == first


def test_another_answer_gets_the_stored_one(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    first = page.read(case, "C").json()["stored"]
    refused = page.commit(case["id"], "D")
    assert refused.status_code == 409
    assert (refused.json()["reason"], refused.json()["stored"]) == ("other_answer", first)
    assert RefusedAnswer.objects.get().option == "D"


def test_what_was_not_seen_is_named(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    refused = page.commit(case["id"], "C")
    assert (refused.status_code, refused.json()["reason"]) == (409, "not_seen")
    assert set(refused.json()["images"]) == {view["id"] for view in case["views"]}
    assert not Response.objects.exists()


@pytest.mark.parametrize(
    "trace",
    [{"events": "no json"}, {"events": "{}"}, {"events": '[{"kind": "painted"}]'}, {"page": "x", "events": "[]x"}],
)
def test_a_malformed_clock_costs_the_time_alone(page: ReadingPage, trace: dict[str, str]) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    answer = page.commit(case["id"], "C", **trace)
    assert (answer.status_code, answer.json()["stored"]["state"]) == (200, "answered")
    stored = Response.objects.get()
    assert (stored.active_ms, "malformed" in stored.time_flags) == (None, True)


@pytest.mark.parametrize(
    "sent", [{"option": "E"}, {"option": ""}, {"key": "x", "option": "A"}, {"option": "A", "unreadable": "nothing"}]
)
def test_nonsense_is_422_and_stores_nothing(page: ReadingPage, sent: dict[str, str]) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    refused = page.post("commit", case["id"], **{"key": new_key(), **sent})
    assert (refused.status_code, refused.json()["reason"]) == (422, "malformed")
    assert not Response.objects.exists()


def test_cannot_tell(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    answer = page.commit(case["id"], "", *page.watch(case, 0, 1_000), declined="yes")
    assert (answer.json()["stored"]["state"], answer.json()["state"]["last"]["may_slip"]) == ("declined", False)


def test_how_the_views_stood_is_stored(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    page.commit(case["id"], "A", *page.watch(case, 0, 1_000), viewport='{"views": [{"zoom": 2}, null]}')
    assert Response.objects.get().viewport == {"views": [{"zoom": 2}, None]}


def test_settings_of_the_views_that_cannot_be_read_cost_nothing(page: ReadingPage) -> None:
    case = page.begin()["state"]["cases"][0]
    page.open(case["id"])
    page.commit(case["id"], "A", *page.watch(case, 0, 1_000), viewport="[]")
    assert (Response.objects.get().viewport, Response.objects.get().active_ms) == (None, 1_000)


def test_a_practice_case_tells_whether_it_was_right(rita: User) -> None:
    study = make_study("Second", n_practice=1)
    enrol(study, rita)
    Enrolment.objects.update(practised_at=None)
    page = ReadingPage(rita, study.slug)
    found = page.begin()["state"]
    assert (found["block"], found["n"], len(found["cases"])) == ("practice", 1, 1)
    body = page.read(found["cases"][0], "B").json()
    assert body["feedback"] == {"correct": True, "key": "B", "explanation": SECRETS["explanation"]}
    assert (body["state"]["block"], len(body["state"]["cases"])) == ("main", 3)


def test_an_answer_takes_few_queries(page: ReadingPage) -> None:
    first, second, *_rest = page.begin()["state"]["cases"]
    page.read(first)
    page.open(second["id"])
    told = page.watch(second, 2_000, 3_000)
    with CaptureQueriesContext(connection) as queries:
        assert page.commit(second["id"], "A", *told).status_code == 200
    assert len(queries) <= 33, "\n".join(query["sql"][:100] for query in queries)


def test_opening_takes_few_queries(page: ReadingPage) -> None:
    first = page.begin()["state"]["cases"][0]
    with CaptureQueriesContext(connection) as queries:
        page.open(first["id"])
    assert len(queries) <= 18, "\n".join(query["sql"][:100] for query in queries)
