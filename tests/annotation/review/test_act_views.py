"""What the case page sends: answers, reports, drafts, submissions, skips; and who is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, BlindAnswer, Review, ReviewDraft, User
from annotation.review.answering import answer_blind
from tests.annotation.review.cases import as_post, assignments_of, good_judgement, make_round
from tests.pages import markup

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_pixels")]
HX: dict[str, Any] = {"HTTP_HX_REQUEST": "true"}
BLIND = {"best": "B", "defensible": ["D"], "difficulty": "medium"}
ACTS = [
    *("review-answer", "review-report", "review-draft", "review-events", "review-submit", "review-skip"),
    *("review-slip", "review-return", "review-identifies"),
]
CLOCK = {"page": "b3b4b2f0-6b1e-4d55-9f2a-0d9f3f1f0a01", "events": "[]"}


@pytest.fixture
def mine(rita: User, remo: User) -> list[Assignment]:
    return assignments_of(rita, make_round(rita, remo))


@pytest.fixture
def answered(mine: list[Assignment], rita: User, noon: datetime) -> Assignment:
    answer_blind(mine[0], best="B", defensible=[], difficulty="easy", actor=rita, at=noon)
    return mine[0]


def to(name: str, assignment: Assignment) -> str:
    return reverse(name, args=[assignment.public_id])


# --- step 1 ---------------------------------------------------------------------------------------
def test_an_answer_brings_step_two_and_from_a_plain_form_leads_back_to_the_page(
    reviewer: Client, mine: list[Assignment]
) -> None:
    response = reviewer.post(to("review-answer", mine[0]), BLIND, **HX)
    assert response.status_code == 200
    assert b"EXPLANATION-WORDS" in response.content
    assert b"<html" not in response.content
    assert BlindAnswer.objects.get().defensible == ["B", "D"]
    plain = reviewer.post(to("review-answer", mine[0]), BLIND)
    assert (plain.status_code, plain["Location"]) == (302, to("review-case", mine[0]))


def test_another_answer_is_409_and_nothing_of_the_key_comes_with_it(reviewer: Client, answered: Assignment) -> None:
    response = reviewer.post(to("review-answer", answered), {**BLIND, "best": "A"}, **HX)
    assert response.status_code == 409
    assert "final" in response.json()["message"]
    assert BlindAnswer.objects.get().best == "B"
    plain = reviewer.post(to("review-answer", answered), {**BLIND, "best": "A"})
    assert plain.status_code == 409
    assert b"EXPLANATION-WORDS" not in plain.content


def test_a_bad_answer_is_422_beside_its_field_and_stores_nothing(reviewer: Client, mine: list[Assignment]) -> None:
    for field, value in (
        ("best", ""),
        ("best", "none"),  # and D is defensible
        ("best", "E"),
        ("difficulty", "impossible"),
    ):
        response = reviewer.post(to("review-answer", mine[0]), {**BLIND, field: value}, **HX)
        assert response.status_code == 422
        assert {problem["field"] for problem in response.json()["problems"]} == {field}, value
        plain = reviewer.post(to("review-answer", mine[0]), {**BLIND, field: value})
        assert (plain.status_code, b"EXPLANATION-WORDS" in plain.content) == (422, False)
    assert not BlindAnswer.objects.exists()


# --- the report -----------------------------------------------------------------------------------
def test_the_report_comes_when_it_is_opened_and_not_before_the_blind_answer(
    reviewer: Client, mine: list[Assignment], answered: Assignment
) -> None:
    response = reviewer.post(to("review-report", mine[1]), **HX)
    assert (response.status_code, b"FINDINGS-WORDS" in response.content) == (409, False)
    response = reviewer.post(to("review-report", answered), **HX)
    assert b"FINDINGS-WORDS" in response.content
    answered.refresh_from_db()
    assert answered.report_opened_at is not None


# --- drafts ---------------------------------------------------------------------------------------
def test_a_draft_is_acknowledged_and_comes_back(reviewer: Client, mine: list[Assignment]) -> None:
    response = reviewer.post(to("review-draft", mine[0]), {**BLIND, "based_on": "0"}, **HX)
    assert response.status_code == 204
    assert ReviewDraft.objects.get().data == {"best": "B", "defensible": ["D"], "difficulty": "medium"}
    sent = markup(reviewer.get(to("review-case", mine[0])))
    assert 'value="medium" checked' in sent


def test_a_draft_that_does_not_fit_is_not_stored_and_an_overtaken_one_told_the_newer_number(
    reviewer: Client, mine: list[Assignment]
) -> None:
    drafts = to("review-draft", mine[0])
    assert reviewer.post(drafts, {"password": "x"}, **HX).status_code == 400
    assert reviewer.post(drafts, {"comment": "x", "based_on": "7"}, **HX).status_code == 409
    assert not ReviewDraft.objects.exists()
    assert reviewer.post(drafts, {**BLIND, "sequence": "3"}, **HX).status_code == 204
    late = reviewer.post(drafts, {"best": "A", "sequence": "2"}, **HX)
    assert late.status_code == 409
    assert late.json() == {"reason": "draft_overtaken", "message": "A newer draft is already stored.", "sequence": 3}
    assert 'data-draft-sequence="3"' in reviewer.get(to("review-case", mine[0])).content.decode()


# --- submitting -----------------------------------------------------------------------------------
def test_a_submission_brings_the_next_case_at_step_one_and_the_last_one_the_worklist(
    reviewer: Client, mine: list[Assignment], answered: Assignment
) -> None:
    response = reviewer.post(to("review-submit", answered), as_post(good_judgement()), **HX)
    assert response.status_code == 200
    assert response["HX-Push-Url"] == to("review-case", mine[1])
    assert b"radiographs (2)?" in response.content
    assert b"EXPLANATION-WORDS" not in response.content
    assert Review.objects.get().verdict == "accept"
    Assignment.objects.filter(pk__in=[mine[1].pk, mine[2].pk]).update(state=AssignmentState.SUBMITTED)
    response = reviewer.post(to("review-submit", answered), as_post(good_judgement()), **HX)
    assert response["HX-Redirect"] == reverse("review-worklist", args=[answered.round.slug])


def test_an_incomplete_submission_is_422_beside_its_fields(reviewer: Client, answered: Assignment) -> None:
    response = reviewer.post(to("review-submit", answered), {"comment": "KEPT-WORDS"}, **HX)
    assert response.status_code == 422
    assert "verdict" in {problem["field"] for problem in response.json()["problems"]}
    plain = reviewer.post(to("review-submit", answered), {"comment": "KEPT-WORDS"})
    assert plain.status_code == 422
    assert b"KEPT-WORDS" in plain.content
    assert b"Give a verdict" in plain.content
    assert not Review.objects.exists()


def test_a_page_left_open_is_told_what_became_of_the_round(
    reviewer: Client, answered: Assignment, noon: datetime
) -> None:
    answered.round.state, answered.round.closed_at = RoundState.CLOSED, noon
    answered.round.save()
    for act in ("review-events", "review-draft", "review-submit"):
        response = reviewer.post(to(act, answered), as_post(good_judgement()) | CLOCK, **HX)
        assert response.status_code == 409, act
        assert "You submitted no reviews." in response.json()["ended"]
    assert "closed" in response.json()["message"]
    assert not Review.objects.exists()


def test_a_page_left_open_is_told_that_the_question_is_gone(reviewer: Client, answered: Assignment) -> None:
    for state, sentence in (
        (AssignmentState.WITHDRAWN, "The coordinators reassigned it to another reviewer."),
        (AssignmentState.RETURNED, "You handed it back."),
    ):
        Assignment.objects.filter(pk=answered.pk).update(state=state)
        for act in ACTS:
            others = {} if act == "review-draft" else {"images": "x", "reason": "knows_patient"}
            whole = as_post(good_judgement()) | BLIND | CLOCK | others
            response = reviewer.post(to(act, answered), whole, **HX)
            assert response.status_code == 409, act
            assert sentence in response.json()["ended"], act
            plain = reviewer.post(to(act, answered), whole)
            assert (plain.status_code, "removed from your list" in plain.content.decode()) == (409, True), act


def test_query_counts_of_answering_and_submitting(
    reviewer: Client, mine: list[Assignment], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    lock = connection.vendor == "postgresql"  # of the audit chain; SQLite has one writer anyway
    with django_assert_max_num_queries(18 + lock):
        reviewer.post(to("review-answer", mine[0]), BLIND, **HX)
    with django_assert_max_num_queries(23 + lock):
        reviewer.post(to("review-submit", mine[0]), as_post(good_judgement(comment="x")), **HX)


# --- skipping -------------------------------------------------------------------------------------
def test_a_skip_with_a_reason_brings_the_next_case(reviewer: Client, mine: list[Assignment]) -> None:
    response = reviewer.post(to("review-skip", mine[0]), {"reason": " "}, **HX)
    assert (response.status_code, response.json()["problems"][0]["field"]) == (422, "reason")
    assert reviewer.post(to("review-skip", mine[0]), {}).status_code == 422
    response = reviewer.post(to("review-skip", mine[0]), {"reason": "image missing"}, **HX)
    assert response["HX-Push-Url"] == to("review-case", mine[1])
    mine[0].refresh_from_db()
    assert (mine[0].state, mine[0].skip_reason) == ("skipped", "image missing")


# --- identifying text -----------------------------------------------------------------------------
@pytest.fixture
def quarantined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def note(image: Any, *, reason: str, actor: User, at: datetime) -> None:
        names.append(image.public_id)

    monkeypatch.setattr("annotation.review.submitting.quarantine_image", note)
    return names


def test_an_image_with_identifying_text_goes_to_quarantine(
    reviewer: Client,
    mine: list[Assignment],
    quarantined: list[str],
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    images = list(mine[0].revision.question.exam.images.all())
    others = list(mine[1].revision.question.exam.images.all())
    for image in (*images, *others):
        image.state = "available"
        image.save()
    assert reviewer.post(to("review-identifies", mine[0]), {}, **HX).status_code == 400
    assert quarantined == []
    sent = {"images": [images[1].public_id, others[0].public_id]}
    assert reviewer.post(to("review-identifies", mine[0]), sent).status_code == 302
    assert quarantined == [images[1].public_id]  # an image of another exam is not in reach


def test_a_submitted_flag_sends_all_images_that_nobody_named(
    reviewer: Client, answered: Assignment, quarantined: list[str]
) -> None:
    answered.revision.question.exam.images.update(state="available")
    judgement = good_judgement(flags=("identifies",))
    reviewer.post(to("review-submit", answered), as_post(judgement))
    assert len(quarantined) == 2


# --- categories -----------------------------------------------------------------------------------
def test_categories_come_after_the_blind_answer(
    reviewer: Client, mine: list[Assignment], rita: User, noon: datetime
) -> None:
    assert reviewer.get(to("review-categories", mine[0])).json() == {"categories": []}
    answer_blind(mine[0], best="B", defensible=[], difficulty="easy", actor=rita, at=noon)
    assert reviewer.get(to("review-categories", mine[0])).json() == {"categories": ["CATEGORY-WORDS negation"]}


# --- who ------------------------------------------------------------------------------------------
def test_acts_need_the_token_of_the_form(rita: User, mine: list[Assignment]) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rita)
    for name in ACTS:
        assert strict.post(to(name, mine[0]), BLIND, **HX).status_code == 403, name
    assert not BlindAnswer.objects.exists()
