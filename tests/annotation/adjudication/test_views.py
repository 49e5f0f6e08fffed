"""The pages of adjudication: whom they are for, what they show, and what they refuse."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.enums import Role
from annotation.models import ReviewRound, Revision, Settlement, User
from annotation.outcomes.adjudicating import adjudicators_of, decide, name_adjudicator, show_reviews, take_next
from annotation.people.roles import grant
from annotation.questionbank.editing import current_revision, wording_of
from annotation.review.ending import close_round, complete_reviews
from annotation.review.kernels.form_design import PAPER
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.adjudication.test_acts import judge_own, taken_and_judged
from tests.annotation.review.pixels import give_pixels
from tests.conftest import NOON, make_person

pytestmark = pytest.mark.usefixtures("without_pixels")


@pytest.fixture
def hers(client: Client, judy: User) -> Client:
    client.force_login(judy)
    return client


@pytest.fixture
def settlement(adjudicated: ReviewRound, judy: User, noon: datetime) -> Settlement:
    """Question 2, answered and judged by Judy."""
    return taken_and_judged(adjudicated, judy, noon)


def decide_url(settlement: Settlement) -> str:
    return f"/adjudication/decide/{settlement.public_id}/"


def test_a_coordinator_takes_a_round_from_its_reviews_to_its_end(
    coordinator: Client, cora: User, rita: User, remo: User, judy: User
) -> None:
    made = make_reviewed(cora, rita, remo)
    asked = coordinator.post("/rounds/spring/complete/")
    assert asked.status_code == 200
    assert b"3 assigned questions are not reviewed yet" in asked.content
    coordinator.post("/rounds/spring/complete/", {"confirmed_open": N_OPEN})
    page = coordinator.get("/rounds/spring/")
    assert page.context["why_not_adjudicate"] == "Name an adjudicator first."
    assert "Name an adjudicator first." in page.content.decode()
    assert "blind answers differ; verdict “revise”" in page.content.decode()
    coordinator.post("/rounds/spring/adjudicators/add/", {"adjudicator-person": judy.pk})
    assert list(adjudicators_of(made)) == [judy]
    coordinator.post("/rounds/spring/adjudicate/")
    made.refresh_from_db()
    assert made.state == "adjudication"
    asked = coordinator.post("/rounds/spring/close/")
    assert b"Close without 2 decisions" in asked.content
    coordinator.post("/rounds/spring/close/", {"confirmed_open": 2})
    made.refresh_from_db()
    assert made.state == "closed"


def test_a_refused_act_says_why_on_the_page_of_the_round(
    coordinator: Client, cora: User, rita: User, remo: User
) -> None:
    make_reviewed(cora, rita, remo)
    page = coordinator.post("/rounds/spring/adjudicate/", follow=True)
    assert "Adjudication begins once the independent reviews are complete" in page.content.decode()
    page = coordinator.post("/rounds/spring/adjudicators/add/", {"adjudicator-person": cora.pk}, follow=True)
    assert "Choose a person who can log in." in page.content.decode()


def test_an_adjudicator_is_named_and_begins_in_one_act(
    coordinator: Client, cora: User, rita: User, remo: User, judy: User
) -> None:
    made = make_reviewed(cora, rita, remo)
    sent = {"adjudicator-person": judy.pk, "begin": "yes"}
    page = coordinator.post("/rounds/spring/adjudicators/add/", sent, follow=True)
    assert "Adjudication begins once the independent reviews are complete" in page.content.decode()
    assert list(adjudicators_of(made)) == []
    coordinator.post("/rounds/spring/complete/", {"confirmed_open": N_OPEN})
    assert "Add and begin adjudication" in coordinator.get("/rounds/spring/").content.decode()
    coordinator.post("/rounds/spring/adjudicators/add/", sent)
    made.refresh_from_db()
    assert (made.state, list(adjudicators_of(made))) == ("adjudication", [judy])


def test_an_adjudicator_goes_from_home_to_the_decision(
    hers: Client, adjudicated: ReviewRound, judy: User, noon: datetime
) -> None:
    home = hers.get("/")
    assert "2 questions wait for an adjudicator in “Spring”." in home.content.decode()
    assert '<form method="post" action="/adjudication/spring/next/">' in home.content.decode()
    assert "2 questions are waiting; you have decided 0." in hers.get("/adjudication/spring/").content.decode()
    answer = hers.post("/adjudication/spring/next/")
    assignment = take_next(adjudicated, judy, at=noon)
    assert assignment is not None
    assert answer["Location"] == f"/review/{assignment.public_id}/"
    case = hers.get(answer["Location"])
    assert case.status_code == 200
    assert "REMO-WORDS" not in case.content.decode()
    assert hers.get(f"/adjudication/question/{assignment.public_id}/")["Location"] == "/adjudication/spring/"
    judge_own(assignment, judy, noon)
    there = hers.get(f"/adjudication/question/{assignment.public_id}/")["Location"]
    page = hers.get(there)
    text = page.content.decode()
    assert "REMO-WORDS" in text
    assert "Remo" not in text
    assert "Not settled:</span> blind answers differ" in text
    answer = hers.post(there, {"decision": "revise", "reason": "Two options fit."})
    assert answer["Location"] == "/adjudication/spring/"
    assert "Two options fit." in hers.get("/adjudication/spring/").content.decode()


def test_the_own_submission_leads_to_the_decision(
    hers: Client, adjudicated: ReviewRound, judy: User, noon: datetime
) -> None:
    assignment = take_next(adjudicated, judy, at=noon)
    assert assignment is not None
    address = f"/review/{assignment.public_id}"
    hers.post(f"{address}/answer/", {"best": "B", "defensible": ["B"], "difficulty": "easy"})
    judged = {**{one.value: "4" for one in PAPER.grades}, "needs_image": "yes", "relevant": "yes", "verdict": "accept"}
    answer = hers.post(f"{address}/submit/", judged)
    assert answer["Location"] == f"/adjudication/question/{assignment.public_id}/"
    assert hers.get(f"/review/rounds/{assignment.round.slug}/")["Location"] == "/adjudication/spring/"


def test_a_decision_needs_a_reason_and_stores_nothing_without(hers: Client, settlement: Settlement) -> None:
    hers.get(decide_url(settlement))
    page = hers.post(decide_url(settlement), {"decision": "revise"})
    assert page.status_code == 422
    assert set(page.context["form"].errors) == {"reason"}
    assert hers.post(decide_url(settlement), {"decision": "perhaps", "reason": "x"}).status_code == 422
    settlement.refresh_from_db()
    assert settlement.decision == ""


def test_an_adjudicator_writes_the_revision_in_place(
    hers: Client, adjudicated: ReviewRound, settlement: Settlement, judy: User, cora: User
) -> None:
    address = f"{decide_url(settlement)}revise/"
    assert hers.get(address)["Location"] == decide_url(settlement)  # the reviews come first
    hers.get(decide_url(settlement))
    assert "Storing decides that the question needs revision" in hers.get(address).content.decode()
    typed = {**wording_of(settlement.revision).texts(), "stem": "Which is absent on both views?"}
    answer = hers.post(address, {**typed, "based_on": 1, "reason": "Two fit.", "store": "yes"})
    assert answer["Location"] == decide_url(settlement)
    settlement.refresh_from_db()
    assert settlement.decision == "revise"
    rolf = make_person("Rolf")  # coordinates this round alone, and so the fresh one
    grant(rolf, Role.COORDINATOR, actor=cora, at=NOON, review_round=adjudicated)
    hers.force_login(rolf)
    page = hers.get("/rounds/spring/").content.decode()
    assert "Review the revised question again" in page
    answer = hers.post("/rounds/spring/fresh/")
    assert answer["Location"] == "/rounds/spring-revised-1/"
    assert hers.get(answer["Location"]).status_code == 200
    assert hers.post("/rounds/spring-revised-1/fresh/")["Location"] == "/rounds/spring-revised-1/"


def test_an_adjudicator_leaves_an_image_out_in_place(
    hers: Client, adjudicated: ReviewRound, settlement: Settlement
) -> None:
    pa, lateral = images = list(settlement.revision.question.exam.images.order_by("position"))
    for image in images:
        give_pixels(image, seed=image.position)

    def on_its_page() -> list[bool]:
        page = hers.get(decide_url(settlement)).content.decode()
        return [image.public_id in page for image in images]

    first = Revision.objects.filter(pk=settlement.revision_id)
    first.update(images_left_out=[pa.public_id])
    assert on_its_page() == [False, True], "the images that count"
    first.update(images_left_out=None)
    assert on_its_page() == [True, True]
    typed = {**wording_of(settlement.revision).texts(), "based_on": 1, "reason": "It misleads.", "store": "yes"}
    shown = {"images_shown": [pa.public_id, lateral.public_id]}
    refused = hers.post(f"{decide_url(settlement)}revise/", {**typed, **shown})
    assert refused.status_code == 422
    assert "At least one image must count." in refused.content.decode()
    settlement.refresh_from_db()
    assert settlement.decision == ""
    hers.post(f"{decide_url(settlement)}revise/", {**typed, **shown, "images": pa.public_id})
    settlement.refresh_from_db()
    assert settlement.decision == "revise"
    assert current_revision(settlement.revision.question).left_out == {lateral.public_id}
    assert lateral.public_id in hers.get(decide_url(settlement)).content.decode()  # of the wording that was reviewed


def test_before_and_after_adjudication_its_page_says_so(
    hers: Client, cora: User, rita: User, remo: User, judy: User, noon: datetime
) -> None:
    made = make_reviewed(cora, rita, remo)
    name_adjudicator(made, judy, actor=cora, at=noon)
    assert "Adjudication has not begun." in hers.get("/adjudication/spring/").content.decode()
    page = hers.post("/adjudication/spring/next/", follow=True)
    assert "The round is not in adjudication." in page.content.decode()
    complete_reviews(made, actor=cora, at=noon, confirmed_open=N_OPEN)
    close_round(made, actor=cora, at=noon)
    assert "The round is closed." in hers.get("/adjudication/spring/").content.decode()


@pytest.mark.logs("adjudication.decided")
def test_a_decided_question_is_read_only(hers: Client, settlement: Settlement, judy: User, noon: datetime) -> None:
    show_reviews(settlement, actor=judy, at=noon)
    decide(settlement, "accept", "Plain on the lateral view.", actor=judy, at=noon)
    page = hers.get(decide_url(settlement)).content.decode()
    assert "Plain on the lateral view." in page
    assert "<textarea" not in page
    answer = hers.post(decide_url(settlement), {"decision": "reject", "reason": "Other."})
    assert answer.status_code == 422
    assert "This question is decided" in answer.content.decode()


def test_after_closing_an_adjudicator_reads_the_comments(
    hers: Client, settlement: Settlement, cora: User, judy: User, noon: datetime
) -> None:
    show_reviews(settlement, actor=judy, at=noon)
    decide(settlement, "accept", "Plain on the lateral view.", actor=judy, at=noon)
    assert settlement.assignment is not None
    address = f"/review/{settlement.assignment.public_id}/comments/"
    assert address not in hers.get("/adjudication/spring/").content.decode()
    close_round(settlement.round, actor=cora, at=noon, confirmed_open=1)
    assert address in hers.get("/adjudication/spring/").content.decode()
    assert hers.get(address).status_code == 200


def test_an_adjudicator_who_coordinates_sees_no_reason_on_the_page_of_the_round(
    coordinator: Client, adjudicated: ReviewRound, cora: User, ada: User, noon: datetime
) -> None:
    name_adjudicator(adjudicated, cora, actor=ada, at=noon)
    page = coordinator.get("/rounds/spring/")
    assert page.context["settling"] is None
    assert "blind answers differ" not in page.content.decode()
    assert coordinator.get("/rounds/spring/export/csv/").status_code == 403


def test_the_pages_cost_the_same_however_many_questions(
    client: Client,
    adjudicated: ReviewRound,
    settlement: Settlement,
    judy: User,
    cora: User,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    client.force_login(judy)
    with django_assert_max_num_queries(25):
        client.get("/adjudication/spring/")
    client.get(decide_url(settlement))
    with django_assert_max_num_queries(18):
        client.get(decide_url(settlement))
    client.force_login(cora)
    with django_assert_max_num_queries(40):
        client.get("/rounds/spring/")
