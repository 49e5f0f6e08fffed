"""A disputed question from the end of its reviews to a settled revision, with coordinator and adjudicator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.enums import Flag, QuestionState, Role
from annotation.models import Question, ReviewRound, Revision, User
from annotation.review.assigning import assign_round
from annotation.review.rounds import create_round, open_round
from tests.annotation.review.cases import NOON
from tests.annotation.review.pixels import give_pixels
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.browser.readerstudy.conftest import devices_at
from tests.browser.review.test_journey import answer, press
from tests.conftest import make_person

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
NEW_STEM = "Which of these findings is absent on both radiographs?"


@pytest.fixture
def spring(transactional_db: None, cora: User, rita: User, remo: User) -> ReviewRound:
    """Two questions with images: the reviewers agree on the first, and on the second one of them does not."""
    made = create_round(
        make_sample(2), name="Spring", reviewers=[rita, remo], reviewers_per_question=2, actor=cora, at=NOON
    )
    open_round(made, actor=cora, at=NOON)
    for one in (*theirs(rita), *theirs(remo)):
        is_second = one.revision.question.number == 2 and one.reviewer_id == remo.pk
        doubt: dict[str, Any] = {"best": "C", "verdict": "revise", "flags": [Flag.UNSOUND], "comment": "REMO-WORDS"}
        say(one, **doubt if is_second else {})
    for seed, image in enumerate(Question.objects.get(number=2).exam.images.all()):
        give_pixels(image, seed=seed)
    return made


@pytest.fixture
def device(browser: Browser, live_server: LiveServer) -> Iterator[Callable[[User], Page]]:
    with devices_at(browser, live_server) as open_device:
        yield lambda person: open_device(person).page


def test_a_disputed_question_is_rewritten_reviewed_again_and_accepted(
    device: Callable[[User], Page], spring: ReviewRound, cora: User
) -> None:
    judy = make_person("Judy")
    coordinator, adjudicator = device(cora), device(judy)
    begin(coordinator, "Judy")
    judge(adjudicator)
    rewrite(adjudicator)
    fresh = make_fresh_round(coordinator)
    review_again(fresh, cora)
    end(coordinator, fresh)
    assert list(Question.objects.order_by("number").values_list("state", flat=True)) == [QuestionState.ACCEPTED] * 2
    assert Revision.objects.filter(question__number=2).count() == 2
    history(coordinator)


def begin(page: Page, name: str) -> None:
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="End the independent reviews").click()
    expect(page.get_by_text("blind answers differ; verdict “revise”; flag “ambiguous")).to_be_visible()
    expect(page.get_by_role("button", name="Begin adjudication")).to_be_disabled()
    page.get_by_label("Adjudicator").select_option(label=f"{name} ({name.lower()}@example.org)")
    page.get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Begin adjudication").click()
    expect(page.get_by_text("Adjudication has begun")).to_be_visible()


def judge(page: Page) -> None:
    """The own answer and judgement by keyboard, in the form of the reviewers; nothing of the others shows before."""
    page.goto("/")
    page.get_by_role("link", name="Adjudicate").click()
    page.get_by_role("button", name="Next question").click()
    expect(page.locator("#case-form[data-step=blind]")).to_be_visible()
    page.wait_for_load_state("load")  # its scripts take keys from now on
    expect(page.locator(".viewer-stage")).to_be_visible()
    assert "REMO-WORDS" not in page.content()
    answer(page, "2", "e")
    assert "REMO-WORDS" not in page.content()
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    expect(page.get_by_text("REMO-WORDS")).to_be_visible()
    assert "Remo" not in page.inner_text("main")


def rewrite(page: Page) -> None:
    page.get_by_role("link", name="Write the revision").click()
    page.get_by_label("Question", exact=True).fill(NEW_STEM)
    page.get_by_label("Reason for the change").fill("Two options fitted one view.")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("dl.changes ins").first).to_be_visible()
    page.get_by_role("button", name="Store the revision").click()
    expect(page.get_by_text("Revision 2 is stored.")).to_be_visible()
    expect(page.locator("#decision-title + p")).to_contain_text("needs revision")


def make_fresh_round(page: Page) -> ReviewRound:
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="Review the revised question again").click()
    expect(page.get_by_role("heading", name="Spring, revised 1")).to_be_visible()
    return ReviewRound.objects.get(slug="spring-revised-1")


def review_again(fresh: ReviewRound, cora: User) -> None:
    """Two people who have not seen the question agree on it."""
    fresh_eyes = [make_person(name, Role.REVIEWER) for name in ("Nora", "Nils")]
    assign_round(fresh, fresh_eyes, actor=cora, at=NOON)
    open_round(fresh, actor=cora, at=NOON)
    for person in fresh_eyes:
        for one in theirs(person):
            say(one)


def end(page: Page, fresh: ReviewRound) -> None:
    page.goto(f"/rounds/{fresh.slug}/")
    page.get_by_role("button", name="End the independent reviews").click()
    expect(page.get_by_text("Every reviewed question is settled: close the round.").first).to_be_visible()
    page.get_by_role("button", name="Close the round").click()
    expect(page.get_by_text("The round is closed.")).to_be_visible()
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="Close the round").click()
    expect(page.get_by_text("The round is closed.")).to_be_visible()


def history(page: Page) -> None:
    """The question tells who changed it, why, and by which words."""
    bank = ReviewRound.objects.get(slug="spring").plan.bank.slug
    page.goto(f"/banks/{bank}/2/")
    expect(page.locator(".head .tag").first).to_have_text("accepted")
    expect(page.get_by_text("Two options fitted one view.")).to_be_visible()
    expect(page.get_by_text("(adjudication of Spring)")).to_be_visible()
