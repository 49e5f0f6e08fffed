"""Events of a case's clock: who may send them, what is stored once, and what is refused."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries

from annotation.case.kernels import traces
from annotation.case.kernels.traces import (
    MOST_DETAILS,
    MOST_EVENTS,
    MOST_VIEWPORT,
    NO_TRACE,
    CaseRefused,
    Trace,
    parse_events,
    parse_viewport,
    readable_trace,
)
from annotation.enums import RoundState
from annotation.models import Assignment, BlindAnswer, Image, Review, ReviewDraft, ReviewEvent, User
from annotation.review.answering import answer_blind, mark_opened
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.submitting import submit_review
from tests.annotation.case.sent import PAGE, event, fields, seen
from tests.annotation.review.cases import as_post, assignments_of, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels
from tests.refusals import refuses

BLIND = {"best": "B", "defensible": ["D"], "difficulty": "medium"}


@pytest.fixture
def mine(rita: User, remo: User, without_pixels: None) -> list[Assignment]:
    return assignments_of(rita, make_round(rita, remo))


@pytest.fixture
def browser_of_rita(client: Client, rita: User) -> Client:
    client.force_login(rita)
    client.defaults["HTTP_HX_REQUEST"] = "true"
    return client


def to(name: str, assignment: Assignment) -> str:
    return reverse(f"review-{name}", args=[assignment.public_id])


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


# --- no step unseen ---
EASY = {"best": "B", "defensible": [], "difficulty": "easy"}


@pytest.fixture
def case(rita: User) -> Assignment:
    """Two images that can be shown."""
    made = assignments_of(rita, make_round(rita))[0]
    for image in made.revision.question.exam.images.all():
        give_pixels(image, seed=image.position)
    return made


@pytest.fixture
def images(case: Assignment) -> list[str]:
    return list(case.revision.question.exam.images.order_by("position").values_list("public_id", flat=True))


def test_an_answer_unseen_is_409_with_a_sentence_and_stores_nothing(browser_of_rita: Client, case: Assignment) -> None:
    for sent in (EASY, {**EASY, **seen([])}, {**EASY, **seen(["another image"])}):
        answer = browser_of_rita.post(to("answer", case), sent)
        assert answer.status_code == 409
        assert "not been on screen" in answer.json()["message"]
        assert b"EXPLANATION-WORDS" not in answer.content
    assert not BlindAnswer.objects.exists()
    assert not ReviewEvent.objects.exists()


def test_one_of_two_images_is_not_enough(browser_of_rita: Client, case: Assignment, images: list[str]) -> None:
    assert browser_of_rita.post(to("answer", case), {**EASY, **seen(images[:1])}).status_code == 409
    rest = {"unreadable": images[1:]}
    assert browser_of_rita.post(to("answer", case), {**EASY, **seen(images[:1]), **rest}).status_code == 200
    assert BlindAnswer.objects.get().unreadable == images[1:]


def test_events_that_came_before_count(browser_of_rita: Client, case: Assignment, images: list[str]) -> None:
    for n, image in enumerate(images):
        painted = fields(event(n, "painted", 1 + n, views=[image]))
        assert browser_of_rita.post(to("events", case), painted).status_code == 204
    assert browser_of_rita.post(to("answer", case), EASY).status_code == 200


def test_what_cannot_be_read_at_all_can_be_answered_and_has_no_time(
    browser_of_rita: Client, case: Assignment, images: list[str]
) -> None:
    assert browser_of_rita.post(to("answer", case), {**EASY, "unreadable": images}).status_code == 200
    blind = BlindAnswer.objects.get()
    assert (blind.unreadable, blind.active_ms, blind.time_flags) == (sorted(images), None, ["not_painted"])
    assert browser_of_rita.post(to("submit", case), as_post(good_judgement())).status_code == 200
    assert Review.objects.get().unreadable == sorted(images)


def test_a_damaged_clock_costs_no_answer_but_its_time(
    browser_of_rita: Client, case: Assignment, images: list[str]
) -> None:
    """The event that would name the images cannot be read: nobody knows what was seen, and both steps say so."""
    told = fields({**event(0, "painted", -1), "details": {"views": images}}, event(1, "submitted", 9, step="blind"))
    assert browser_of_rita.post(to("answer", case), {**EASY, **told}).status_code == 200
    assert [event.kind for event in ReviewEvent.objects.exclude(page="server")] == ["submitted"]
    later = fields(event(2, "submitted", 20, step="judge"))
    assert browser_of_rita.post(to("submit", case), {**as_post(good_judgement()), **later}).status_code == 200
    for step in (BlindAnswer.objects.get(), Review.objects.get()):
        assert (step.active_ms, step.elapsed_ms, step.time_flags) == (None, None, ["malformed"])


def test_an_image_of_another_case_cannot_be_named(
    browser_of_rita: Client, case: Assignment, images: list[str], rita: User
) -> None:
    other = assignments_of(rita, case.round)[1].revision.question.exam.images.first()
    assert other is not None
    sent = {**EASY, **seen(images), "unreadable": [other.public_id]}
    assert browser_of_rita.post(to("answer", case), sent).status_code == 422
    assert not BlindAnswer.objects.exists()


@pytest.mark.usefixtures("without_pixels")
def test_the_judgement_is_held_to_the_same(
    browser_of_rita: Client, case: Assignment, images: list[str], rita: User, noon: datetime
) -> None:
    """Answered when there was nothing to show; the images came in before the judgement."""
    Image.objects.update(state="pending")
    answer_blind(case, best="B", defensible=[], difficulty="easy", actor=rita, at=noon)
    Image.objects.update(state="available")
    with refuses(ReviewRefused, "not_seen") as refusal:
        submit_review(case, good_judgement(), actor=rita, at=noon)
    assert refusal.value.facts == {"images": sorted(images)}
    judged = {**as_post(good_judgement()), **seen(images, step="judge")}
    assert browser_of_rita.post(to("submit", case), judged).status_code == 200


@pytest.mark.parametrize("change", [{"state": "quarantined"}, {"state": "removed"}, {"display": None}])
def test_what_cannot_be_shown_need_not_be_seen(
    browser_of_rita: Client, case: Assignment, images: list[str], change: dict[str, str | None]
) -> None:
    """But of an exam without any image nothing is answered blind."""
    Image.objects.update(**change)
    assert browser_of_rita.post(to("answer", case), {**EASY, **seen(images)}).status_code == 409
    shown = Image.objects.get(public_id=images[0])
    Image.objects.filter(pk=shown.pk).update(state="available", display={})
    assert browser_of_rita.post(to("answer", case), EASY).status_code == 409
    assert browser_of_rita.post(to("answer", case), {**EASY, **seen(images[:1])}).status_code == 200


def test_the_same_answer_again_and_a_skip_need_no_look(
    browser_of_rita: Client, case: Assignment, images: list[str]
) -> None:
    browser_of_rita.post(to("answer", case), {**EASY, **seen(images)})
    ReviewEvent.objects.all().delete()
    assert browser_of_rita.post(to("answer", case), EASY).status_code == 200
    assert browser_of_rita.post(to("skip", case), {"reason": "later"}).status_code == 200


def test_a_simulated_review_says_so_in_place_of_a_time(case: Assignment, rita: User, noon: datetime) -> None:
    blind = answer_blind(case, best="B", defensible=[], difficulty="easy", actor=rita, at=noon, simulated=True)
    review = submit_review(case, good_judgement(), actor=rita, at=noon, simulated=True)
    for one in (blind, review):
        assert (one.active_ms, one.elapsed_ms, one.time_flags) == (None, None, ["simulated"])


# --- what pages send to the clock of the server, read strictly ---
PAGE = "0f8fad5b-d9cb-469f-a165-70867728950e"
GOOD: dict[str, Any] = {"sequence": 3, "kind": "painted", "client_ms": 12.5, "wall_ms": 1_790_000_000_000}


def test_good_events_come_through() -> None:
    [event] = parse_events(PAGE, json.dumps([{**GOOD, "details": {"views": ["x"]}}]))
    assert (event.sequence, event.kind, event.client_ms) == (3, "painted", 12.5)
    assert (event.wall_ms, event.details) == (1_790_000_000_000.0, {"views": ["x"]})
    assert parse_events("", "") == ()
    assert parse_events(PAGE, "[]") == ()


def test_one_bad_event_refuses_all() -> None:
    changes: list[dict[str, Any]] = [
        {"kind": "opened"},  # the server writes it
        *({"kind": one} for one in ("scrolled", None, ["painted"])),
        *({"sequence": one} for one in (-1, 1.0, True, 2**31)),
        *({"client_ms": one} for one in (None, "1", -0.1, 1e15, True)),
        {"wall_ms": "noon"},
        {"details": []},
        *({"details": {"x": one}} for one in ("y" * MOST_DETAILS, "\x00")),
        {"extra": 1},
    ]
    for change in changes:
        with refuses(CaseRefused, "malformed"):
            parse_events(PAGE, json.dumps([GOOD, {**GOOD, **change}]))


def test_what_is_not_a_list_of_events_or_of_no_page_is_refused() -> None:
    wrong = [
        *("{}", "null", "[1]", "[", "[" * 100_000),
        '[{"sequence":1,"kind":"quiet","client_ms":NaN}]',
        '[{"sequence":1,"kind":"quiet","client_ms":1e999}]',
        '[{"sequence":1,"kind":"quiet","client_ms":1,"details":{"a":"\\ud800"}}]',
        json.dumps([GOOD] * (MOST_EVENTS + 1)),
        " " * 1_000_001,
    ]
    for text in wrong:
        with refuses(CaseRefused, "malformed"):
            parse_events(PAGE, text)
    for page in ("", "server", PAGE.upper(), PAGE + "0", PAGE + "\n"):
        with refuses(CaseRefused, "malformed"):
            parse_events(page, json.dumps([GOOD]))


def test_a_viewport_holds_a_list_of_views() -> None:
    assert parse_viewport("") is None
    state = {"views": [{"zoom": None, "center": [0.5, 0.5]}, None], "linked": False}
    assert parse_viewport(json.dumps(state)) == state
    too_long = json.dumps({"views": [{"x": "y" * MOST_VIEWPORT}]})
    for bad in ("{}", "[]", '{"views": {}}', '{"views": [1]}', '{"views": [NaN]}', too_long):
        with refuses(CaseRefused, "malformed"):
            parse_viewport(bad)


def test_beside_an_answer_the_events_that_can_be_read_are_kept() -> None:
    rows = [GOOD, {**GOOD, "sequence": 4, "client_ms": None}, {**GOOD, "sequence": 5}]
    trace = readable_trace(PAGE, json.dumps(rows), viewport="{", unreadable=["b", "a", "b"])
    assert [event.sequence for event in trace.events] == [3, 5]
    assert (trace.page, trace.is_damaged, trace.viewport, trace.unreadable) == (PAGE, True, None, ("a", "b"))
    assert not readable_trace(PAGE, json.dumps([GOOD])).is_damaged
    assert readable_trace("", "") == NO_TRACE
    assert readable_trace("server", json.dumps([GOOD])) == Trace(is_damaged=True)


@given(st.text(max_size=60) | st.recursive(st.none() | st.floats() | st.text(max_size=4), st.lists).map(json.dumps))
def test_nothing_else_is_ever_raised(text: str) -> None:
    for parse in (lambda: parse_events(PAGE, text), lambda: parse_viewport(text)):
        try:
            parse()
        except CaseRefused:
            continue
    readable_trace(PAGE, text, viewport=text)
