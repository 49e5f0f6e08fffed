"""The worklist and the way on."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, ReviewRound, User
from annotation.review.submitting import skip
from tests.annotation.review.cases import assignments_of, make_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def review_round(rita: User, remo: User) -> ReviewRound:
    return make_round(rita, n_questions=4)


@pytest.fixture
def browser_of_rita(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


def worklist(review_round: ReviewRound) -> str:
    return reverse("review-worklist", args=[review_round.slug])


def test_own_questions_with_their_state(
    browser_of_rita: Client, review_round: ReviewRound, rita: User, noon: datetime
) -> None:
    skip(assignments_of(rita, review_round)[0], "image missing", actor=rita, at=noon)
    sent = browser_of_rita.get(worklist(review_round)).content.decode()
    assert sent.count("Which finding is absent") == 4
    assert "image missing" in sent
    assert "CATEGORY-WORDS" not in sent
    assert "Negation" not in sent


@pytest.mark.parametrize(
    ("chosen", "n"), [("", 4), ("unfinished", 3), ("skipped", 1), ("submitted", 1), ("nonsense", 4)]
)
def test_the_list_can_be_filtered(
    browser_of_rita: Client, review_round: ReviewRound, rita: User, noon: datetime, chosen: str, n: int
) -> None:
    one, two, *_rest = assignments_of(rita, review_round)
    skip(one, "later", actor=rita, at=noon)
    Assignment.objects.filter(pk=two.pk).update(state=AssignmentState.SUBMITTED)
    sent = browser_of_rita.get(worklist(review_round), {"show": chosen}).content.decode()
    assert sent.count("Which finding is absent") == n


def test_continue_leads_to_the_next_question_and_at_the_end_to_the_list(
    browser_of_rita: Client, review_round: ReviewRound, rita: User
) -> None:
    go_on = reverse("review-continue", args=[review_round.slug])
    first = assignments_of(rita, review_round)[0]
    assert browser_of_rita.get(go_on)["Location"] == reverse("review-case", args=[first.public_id])
    Assignment.objects.update(state=AssignmentState.SUBMITTED)
    assert browser_of_rita.get(go_on)["Location"] == worklist(review_round)


def test_a_closed_round_is_listed_and_leads_to_no_question(browser_of_rita: Client, review_round: ReviewRound) -> None:
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert browser_of_rita.get(reverse("review-continue", args=[review_round.slug]))["Location"] == worklist(
        review_round
    )
    assert b"can be read, not changed" in browser_of_rita.get(worklist(review_round)).content


def test_a_draft_round_is_not_there_yet(browser_of_rita: Client, review_round: ReviewRound) -> None:
    ReviewRound.objects.update(state=RoundState.DRAFT)
    assert browser_of_rita.get(worklist(review_round)).status_code == 404
    assert b"No questions assigned to you" in browser_of_rita.get(reverse("review-rounds")).content


def test_rounds_are_listed_with_progress(browser_of_rita: Client, review_round: ReviewRound) -> None:
    sent = browser_of_rita.get(reverse("review-rounds")).content.decode()
    assert review_round.name in sent
    assert "0 / 4" in sent


def test_a_stranger_logs_in_first_and_post_is_no_way_in(client: Client, review_round: ReviewRound, rita: User) -> None:
    assert client.get(worklist(review_round)).status_code == 302
    client.force_login(rita)
    assert client.post(worklist(review_round)).status_code == 405


def test_query_count_does_not_grow_with_the_list(
    browser_of_rita: Client, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    long = make_round(rita, n_questions=30, name="Long")
    with django_assert_max_num_queries(7):
        browser_of_rita.get(worklist(long))
