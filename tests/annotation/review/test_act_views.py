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
    *(
        "review-answer",
        "review-report",
        "review-draft",
        "review-events",
        "review-submit",
        "review-skip",
        "review-slip",
        "review-return",
    ),
    "review-identifies",
]


@pytest.fixture
def mine(rita: User, remo: User) -> list[Assignment]:
    return assignments_of(rita, make_round(rita, remo))


@pytest.fixture
def browser_of_rita(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


@pytest.fixture
def answered(mine: list[Assignment], rita: User, noon: datetime) -> Assignment:
    answer_blind(mine[0], best="B", defensible=[], difficulty="easy", actor=rita, at=noon)
    return mine[0]


def to(name: str, assignment: Assignment) -> str:
    return reverse(name, args=[assignment.public_id])


# --- step 1 ---------------------------------------------------------------------------------------
def test_an_answer_brings_step_two(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-answer", mine[0]), BLIND, **HX)
    assert response.status_code == 200
    assert b"EXPLANATION-WORDS" in response.content
    assert b"<html" not in response.content
    assert BlindAnswer.objects.get().defensible == ["B", "D"]


def test_an_answer_from_a_plain_form_goes_back_to_the_page(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-answer", mine[0]), BLIND)
    assert response.status_code == 302
    assert response["Location"] == to("review-case", mine[0])


def test_another_answer_is_409_and_nothing_of_the_key_comes_with_it(
    browser_of_rita: Client, answered: Assignment
) -> None:
    response = browser_of_rita.post(to("review-answer", answered), {**BLIND, "best": "A"}, **HX)
    assert response.status_code == 409
    assert "final" in response.json()["message"]
    assert BlindAnswer.objects.get().best == "B"
    plain = browser_of_rita.post(to("review-answer", answered), {**BLIND, "best": "A"})
    assert plain.status_code == 409
    assert b"EXPLANATION-WORDS" not in plain.content


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"best": ""}, {"best"}),
        ({"best": "none"}, {"best"}),  # and D is defensible
        ({"best": "E"}, {"best"}),
        ({"difficulty": "impossible"}, {"difficulty"}),
    ],
)
def test_a_bad_answer_is_422_beside_its_field_and_stores_nothing(
    browser_of_rita: Client, mine: list[Assignment], change: dict[str, str], fields: set[str]
) -> None:
    response = browser_of_rita.post(to("review-answer", mine[0]), {**BLIND, **change}, **HX)
    assert response.status_code == 422
    assert {problem["field"] for problem in response.json()["problems"]} == fields
    plain = browser_of_rita.post(to("review-answer", mine[0]), {**BLIND, **change})
    assert plain.status_code == 422
    assert b"EXPLANATION-WORDS" not in plain.content
    assert not BlindAnswer.objects.exists()


# --- the report -----------------------------------------------------------------------------------
def test_the_report_comes_when_it_is_opened(browser_of_rita: Client, answered: Assignment) -> None:
    response = browser_of_rita.post(to("review-report", answered), **HX)
    assert b"FINDINGS-WORDS" in response.content
    answered.refresh_from_db()
    assert answered.report_opened_at is not None


def test_no_report_before_the_blind_answer(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-report", mine[0]), **HX)
    assert response.status_code == 409
    assert b"FINDINGS-WORDS" not in response.content


# --- drafts ---------------------------------------------------------------------------------------
def test_a_draft_is_acknowledged_and_comes_back(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-draft", mine[0]), {**BLIND, "based_on": "0"}, **HX)
    assert response.status_code == 204
    assert ReviewDraft.objects.get().data == {"best": "B", "defensible": ["D"], "difficulty": "medium"}
    sent = markup(browser_of_rita.get(to("review-case", mine[0])))
    assert 'value="medium" checked' in sent


def test_an_overtaken_draft_is_told_the_number_of_the_newer_one(
    browser_of_rita: Client, mine: list[Assignment]
) -> None:
    drafts = to("review-draft", mine[0])
    assert browser_of_rita.post(drafts, {**BLIND, "sequence": "3"}, **HX).status_code == 204
    late = browser_of_rita.post(drafts, {"best": "A", "sequence": "2"}, **HX)
    assert late.status_code == 409
    assert late.json() == {"reason": "draft_overtaken", "message": "A newer draft is already stored.", "sequence": 3}
    assert 'data-draft-sequence="3"' in browser_of_rita.get(to("review-case", mine[0])).content.decode()


@pytest.mark.parametrize(("data", "status"), [({"password": "x"}, 400), ({"comment": "x", "based_on": "7"}, 409)])
def test_a_draft_that_does_not_fit_stores_nothing(
    browser_of_rita: Client, mine: list[Assignment], data: dict[str, str], status: int
) -> None:
    assert browser_of_rita.post(to("review-draft", mine[0]), data, **HX).status_code == status
    assert not ReviewDraft.objects.exists()


# --- submitting -----------------------------------------------------------------------------------
def test_a_submission_brings_the_next_case_at_step_one(
    browser_of_rita: Client, mine: list[Assignment], answered: Assignment
) -> None:
    response = browser_of_rita.post(to("review-submit", answered), as_post(good_judgement()), **HX)
    assert response.status_code == 200
    assert response["HX-Push-Url"] == to("review-case", mine[1])
    assert b"radiographs (2)?" in response.content
    assert b"EXPLANATION-WORDS" not in response.content
    assert Review.objects.get().verdict == "accept"


def test_the_last_submission_leads_to_the_worklist(
    browser_of_rita: Client, mine: list[Assignment], answered: Assignment
) -> None:
    Assignment.objects.filter(pk__in=[mine[1].pk, mine[2].pk]).update(state=AssignmentState.SUBMITTED)
    response = browser_of_rita.post(to("review-submit", answered), as_post(good_judgement()), **HX)
    assert response["HX-Redirect"] == reverse("review-worklist", args=[answered.round.slug])


def test_an_incomplete_submission_is_422_beside_its_fields(browser_of_rita: Client, answered: Assignment) -> None:
    response = browser_of_rita.post(to("review-submit", answered), {"comment": "KEPT-WORDS"}, **HX)
    assert response.status_code == 422
    assert "verdict" in {problem["field"] for problem in response.json()["problems"]}
    plain = browser_of_rita.post(to("review-submit", answered), {"comment": "KEPT-WORDS"})
    assert plain.status_code == 422
    assert b"KEPT-WORDS" in plain.content
    assert b"Give a verdict" in plain.content
    assert not Review.objects.exists()


def test_no_submission_before_the_blind_answer(browser_of_rita: Client, mine: list[Assignment]) -> None:
    assert browser_of_rita.post(to("review-submit", mine[0]), as_post(good_judgement()), **HX).status_code == 409
    assert not Review.objects.exists()


def test_a_closed_round_takes_nothing(browser_of_rita: Client, answered: Assignment) -> None:
    answered.round.state = RoundState.CLOSED
    answered.round.save()
    response = browser_of_rita.post(to("review-submit", answered), as_post(good_judgement()), **HX)
    assert response.status_code == 409
    assert "closed" in response.json()["message"]
    assert not Review.objects.exists()


@pytest.mark.parametrize("act", ["review-events", "review-draft", "review-submit"])
def test_a_page_left_open_is_told_what_became_of_the_round(
    browser_of_rita: Client, answered: Assignment, noon: datetime, act: str
) -> None:
    answered.round.state, answered.round.closed_at = RoundState.CLOSED, noon
    answered.round.save()
    clock = {"page": "b3b4b2f0-6b1e-4d55-9f2a-0d9f3f1f0a01", "events": "[]"}
    response = browser_of_rita.post(to(act, answered), as_post(good_judgement()) | clock, **HX)
    assert response.status_code == 409
    assert "You submitted no reviews." in response.json()["ended"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        (AssignmentState.WITHDRAWN, "The coordinators reassigned it to another reviewer."),
        (AssignmentState.RETURNED, "You handed it back."),
    ],
)
@pytest.mark.parametrize("act", ACTS)
def test_a_page_left_open_is_told_that_the_question_is_gone(
    browser_of_rita: Client, answered: Assignment, act: str, state: str, sentence: str
) -> None:
    Assignment.objects.filter(pk=answered.pk).update(state=state)
    clock = {"page": "b3b4b2f0-6b1e-4d55-9f2a-0d9f3f1f0a01", "events": "[]"}
    others = {} if act == "review-draft" else {"images": "x", "reason": "knows_patient"}
    whole = as_post(good_judgement()) | BLIND | clock | others
    response = browser_of_rita.post(to(act, answered), whole, **HX)
    assert response.status_code == 409
    assert sentence in response.json()["ended"]
    plain = browser_of_rita.post(to(act, answered), whole)
    assert (plain.status_code, "removed from your list" in plain.content.decode()) == (409, True)


def test_query_counts_of_answering_and_submitting(
    browser_of_rita: Client, mine: list[Assignment], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    lock = connection.vendor == "postgresql"  # of the audit chain; SQLite has one writer anyway
    with django_assert_max_num_queries(18 + lock):
        browser_of_rita.post(to("review-answer", mine[0]), BLIND, **HX)
    with django_assert_max_num_queries(23 + lock):
        browser_of_rita.post(to("review-submit", mine[0]), as_post(good_judgement(comment="x")), **HX)


# --- skipping -------------------------------------------------------------------------------------
def test_a_skip_brings_the_next_case(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-skip", mine[0]), {"reason": "image missing"}, **HX)
    assert response["HX-Push-Url"] == to("review-case", mine[1])
    mine[0].refresh_from_db()
    assert (mine[0].state, mine[0].skip_reason) == ("skipped", "image missing")


def test_a_skip_without_reason_is_refused(browser_of_rita: Client, mine: list[Assignment]) -> None:
    response = browser_of_rita.post(to("review-skip", mine[0]), {"reason": " "}, **HX)
    assert response.status_code == 422
    assert response.json()["problems"][0]["field"] == "reason"
    assert browser_of_rita.post(to("review-skip", mine[0]), {}).status_code == 422


# --- identifying text -----------------------------------------------------------------------------
@pytest.fixture
def quarantined(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def note(image: Any, *, reason: str, actor: User, at: datetime) -> None:
        names.append(image.public_id)

    monkeypatch.setattr("annotation.review.submitting.quarantine_image", note)
    return names


def test_an_image_with_identifying_text_goes_to_quarantine(
    browser_of_rita: Client,
    mine: list[Assignment],
    quarantined: list[str],
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    images = list(mine[0].revision.question.exam.images.all())
    others = list(mine[1].revision.question.exam.images.all())
    for image in (*images, *others):
        image.state = "available"
        image.save()
    sent = {"images": [images[1].public_id, others[0].public_id]}
    assert browser_of_rita.post(to("review-identifies", mine[0]), sent).status_code == 302
    assert quarantined == [images[1].public_id]  # an image of another exam is not in reach


def test_no_image_named_is_said(browser_of_rita: Client, mine: list[Assignment], quarantined: list[str]) -> None:
    assert browser_of_rita.post(to("review-identifies", mine[0]), {}, **HX).status_code == 400
    assert quarantined == []


def test_a_submitted_flag_sends_all_images_that_nobody_named(
    browser_of_rita: Client, answered: Assignment, quarantined: list[str]
) -> None:
    answered.revision.question.exam.images.update(state="available")
    judgement = good_judgement(flags=("identifies",))
    browser_of_rita.post(to("review-submit", answered), as_post(judgement))
    assert len(quarantined) == 2


# --- categories -----------------------------------------------------------------------------------
def test_categories_come_after_the_blind_answer(
    browser_of_rita: Client, mine: list[Assignment], rita: User, noon: datetime
) -> None:
    assert browser_of_rita.get(to("review-categories", mine[0])).json() == {"categories": []}
    answer_blind(mine[0], best="B", defensible=[], difficulty="easy", actor=rita, at=noon)
    assert browser_of_rita.get(to("review-categories", mine[0])).json() == {"categories": ["CATEGORY-WORDS negation"]}


# --- who ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ACTS)
def test_acts_need_the_token_of_the_form(rita: User, mine: list[Assignment], name: str) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(rita)
    assert strict.post(to(name, mine[0]), BLIND, **HX).status_code == 403
    assert not BlindAnswer.objects.exists()
