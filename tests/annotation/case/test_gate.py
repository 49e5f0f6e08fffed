"""No step unseen: every image that can be shown was on screen, or the person said that it cannot be read."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client

from annotation.models import Assignment, BlindAnswer, Image, Review, ReviewEvent, User
from annotation.review.answering import answer_blind
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.submitting import submit_review
from tests.annotation.case.sent import event, fields, seen, to
from tests.annotation.review.cases import as_post, assignments_of, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels
from tests.refusals import refuses

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
