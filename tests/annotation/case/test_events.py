"""Events of a case's clock: who may send them, what is stored once, and what is refused."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.case.kernels import traces
from annotation.enums import RoundState
from annotation.models import Assignment, BlindAnswer, Review, ReviewDraft, ReviewEvent, User
from annotation.review.answering import mark_opened
from tests.annotation.case.sent import PAGE, event, fields, seen, to
from tests.annotation.review.cases import as_post, assignments_of, good_judgement, make_round

BLIND = {"best": "B", "defensible": ["D"], "difficulty": "medium"}


@pytest.fixture
def mine(rita: User, remo: User, without_pixels: None) -> list[Assignment]:
    return assignments_of(rita, make_round(rita, remo))


def stored() -> list[tuple[int, str]]:
    return list(ReviewEvent.objects.exclude(page="server").order_by("sequence").values_list("sequence", "kind"))


def test_events_are_stored_once_however_often_they_come(browser_of_rita: Client, mine: list[Assignment]) -> None:
    address = to("events", mine[0])
    first = fields(event(0, "painted", 1, views=["x"]), event(1, "heartbeat", 5))
    for _ in range(2):
        assert browser_of_rita.post(address, first).status_code == 204
    again = fields(event(1, "quiet", 9), event(2, "heartbeat", 10))
    assert browser_of_rita.post(address, again).status_code == 204
    assert stored() == [(0, "painted"), (1, "heartbeat"), (2, "heartbeat")]
    painted = ReviewEvent.objects.get(sequence=0)
    assert (painted.page, painted.client_ms, painted.wall_ms) == (PAGE, 1000, 1_790_000_001_000)
    assert painted.details == {"views": ["x"]}


def test_the_server_writes_the_first_opening(mine: list[Assignment], noon: datetime) -> None:
    for _ in range(2):
        mark_opened(mine[0], at=noon)
        mine[0].refresh_from_db()
    [opened] = ReviewEvent.objects.all()
    assert (opened.page, opened.kind, opened.received_at) == ("server", "opened", noon)


BAD = [
    fields({"sequence": 0, "kind": "opened", "client_ms": 1}),
    fields(*(event(n, "heartbeat", n) for n in range(2001))),
    fields(event(0, "quiet", 1, words="x" * 2000)),
    fields(event(0, "quiet", 1), page="server"),
    {"page": PAGE, "events": "["},
]


def test_nonsense_alone_is_422_with_a_sentence_and_nothing_of_it_is_stored(
    browser_of_rita: Client, mine: list[Assignment]
) -> None:
    for bad in BAD:
        answer = browser_of_rita.post(to("events", mine[0]), bad)
        assert answer.status_code == 422
        assert answer.json()["message"].endswith(".")
        assert stored() == []


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("act", ["answer", "draft", "skip"])
def test_nonsense_never_costs_what_it_came_with(
    browser_of_rita: Client, mine: list[Assignment], bad: dict[str, str], act: str
) -> None:
    sent = {**(BLIND if act != "skip" else {"reason": "r"}), **bad, "viewport": "{"}
    answer = browser_of_rita.post(to(act, mine[0]), sent)
    assert answer.status_code < 300
    assert [kind for _n, kind in stored()] == []
    mine[0].refresh_from_db()
    assert mine[0].state == {"answer": "answered", "draft": "waiting", "skip": "skipped"}[act]
    assert ReviewDraft.objects.exists() == (act == "draft")
    for blind in BlindAnswer.objects.all():
        assert (blind.best, blind.active_ms, blind.time_flags, blind.viewport) == ("B", None, ["malformed"], None)


def test_a_closed_round_takes_no_events(browser_of_rita: Client, mine: list[Assignment]) -> None:
    mine[0].round.state = RoundState.CLOSED
    mine[0].round.save()
    assert browser_of_rita.post(to("events", mine[0]), fields(event(0, "quiet", 1))).status_code == 409
    assert stored() == []


@pytest.mark.parametrize("act", ["answer", "draft", "skip"])
def test_events_come_with_any_act(browser_of_rita: Client, mine: list[Assignment], act: str) -> None:
    sent = {**BLIND, "reason": "r"} if act == "skip" else BLIND
    answer = browser_of_rita.post(to(act, mine[0]), {**sent, **fields(event(4, "selected", 2))})
    assert answer.status_code < 300
    assert stored() == [(4, "selected")]


def test_a_refused_step_stores_no_events(browser_of_rita: Client, mine: list[Assignment]) -> None:
    sent = {**BLIND, "best": "E", **fields(event(0, "painted", 1))}
    assert browser_of_rita.post(to("answer", mine[0]), sent).status_code == 422
    assert stored() == []


def test_a_full_log_takes_no_more_but_lets_a_step_through(
    browser_of_rita: Client, mine: list[Assignment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "MOST_STORED", 3)
    many = fields(*(event(n, "heartbeat", n) for n in range(3)))
    assert browser_of_rita.post(to("events", mine[0]), many).status_code == 204
    one_more = fields(event(3, "heartbeat", 3))
    assert browser_of_rita.post(to("events", mine[0]), one_more).status_code == 422
    assert browser_of_rita.post(to("draft", mine[0]), {**BLIND, **one_more}).status_code == 204
    assert len(stored()) == 3
    assert browser_of_rita.post(to("answer", mine[0]), {**BLIND, **seen([], first=10)}).status_code == 200
    assert stored()[3:] == [(10, "painted"), (12, "submitted")]


def test_times_are_stored_with_both_steps(browser_of_rita: Client, mine: list[Assignment], rita: User) -> None:
    browser_of_rita.get(to("case", mine[0]))
    Assignment.objects.filter(pk=mine[0].pk).update(opened_at=mine[0].round.created_at)
    viewport = json.dumps({"views": [{"zoom": None, "invert": True}]})
    sent = {**BLIND, "best": "B", "defensible": [], **seen([], end=11), "viewport": viewport}
    assert browser_of_rita.post(to("answer", mine[0]), sent).status_code == 200
    blind = BlindAnswer.objects.get()
    assert (blind.active_ms, blind.elapsed_ms, blind.n_sittings) == (10_000, 10_000, 1)
    assert (blind.time_rule, blind.time_flags, blind.viewport) == ("active-2", [], json.loads(viewport))
    later = fields(event(10, "heartbeat", 20), event(11, "hidden", 22), event(12, "visible", 26))
    assert browser_of_rita.post(to("events", mine[0]), later).status_code == 204
    commit = fields(event(13, "submitted", 31, step="judge"))
    assert browser_of_rita.post(to("submit", mine[0]), {**as_post(good_judgement()), **commit}).status_code == 200
    review = Review.objects.get()
    assert (review.active_ms, review.elapsed_ms, review.time_flags) == (26_000, 30_000, ["hidden"])
    assert review.viewport is None


def test_a_step_whose_page_told_nothing_has_no_time_and_says_why(
    browser_of_rita: Client, mine: list[Assignment]
) -> None:
    browser_of_rita.post(to("answer", mine[0]), BLIND)
    blind = BlindAnswer.objects.get()
    assert (blind.active_ms, blind.elapsed_ms, blind.time_flags) == (None, None, ["not_painted"])


def test_query_counts(
    browser_of_rita: Client, mine: list[Assignment], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Events: session, person, case; transaction, hold, count, insert, end. A step: two more than without a clock."""
    browser_of_rita.get(to("case", mine[0]))
    with django_assert_num_queries(8):
        browser_of_rita.post(to("events", mine[0]), fields(event(0, "painted", 1), event(1, "heartbeat", 5)))
    browser_of_rita.post(to("draft", mine[0]), {"best": "B"})
    before = _n_queries(browser_of_rita, to("draft", mine[0]), {"best": "B", "sequence": "1"})
    after = _n_queries(browser_of_rita, to("draft", mine[0]), {"best": "B", "sequence": "2", **seen([], first=5)})
    assert after == before + 2


def _n_queries(client: Client, address: str, sent: dict[str, str]) -> int:
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        assert client.post(address, sent).status_code == 204
    return len(queries)
