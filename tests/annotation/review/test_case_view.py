"""The case page: who may open it, and what its bytes contain at each step; the worklist, and the way on.

A case page is light: everything but the images, as it travels.
"""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.enums import AssignmentState, RoundState, RoundSteps
from annotation.models import Assignment, BlindAnswer, Image, Question, Review, ReviewRound, User
from annotation.review.answering import answer_blind, open_report, save_draft
from annotation.review.submitting import skip, submit_review
from tests.annotation.review.cases import NOON, SECRETS, assignments_of, good_judgement, make_round
from tests.annotation.review.pixels import give_pixels

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_pixels")]
HX = {"HTTP_HX_REQUEST": "true"}
TRUTH = [
    "EXPLANATION-WORDS",
    "FINDINGS-WORDS",
    "IMPRESSION-WORDS",
    "CATEGORY-WORDS",
    "Negation",
    'class="case-key"',
    "stated difficulty",
]


@pytest.fixture
def first(rita: User, remo: User) -> Assignment:
    return assignments_of(rita, make_round(rita, remo))[0]


@pytest.fixture
def browser_of_rita(client: Client, rita: User) -> Client:
    client.force_login(rita)
    return client


def page(assignment: Assignment) -> str:
    return reverse("review-case", args=[assignment.public_id])


def answered(assignment: Assignment, rita: User, noon: datetime, best: str = "B") -> Assignment:
    answer_blind(assignment, best=best, defensible=[], difficulty="easy", actor=rita, at=noon)
    return assignment


@pytest.mark.parametrize("headers", [{}, HX])
def test_step_one_shows_the_question_and_nothing_of_the_truth(
    browser_of_rita: Client, first: Assignment, headers: dict[str, str]
) -> None:
    response = browser_of_rita.get(page(first), **headers)  # type: ignore[arg-type]
    sent = response.content.decode() + str(response.headers)
    assert response.status_code == 200
    assert "Which finding is absent" in sent
    assert "58 years" in sent
    for words in TRUTH:
        assert words not in sent
    assert "no-store" in response["Cache-Control"]
    assert "HX-Request" in response["Vary"]


def test_step_one_is_the_same_bytes_whatever_the_truth_is(client: Client, rita: User, noon: datetime) -> None:
    """Two rounds that differ only in what is hidden; what the server sends differs only in random names."""
    seen = []
    for name, key, hidden in (("Round-7Q", "A", "easy"), ("Round-8W", "D", "hard")):
        review_round = make_round(
            rita, name=name, key=key, difficulty=hidden, category=f"{name} of all", task="location"
        )
        first = assignments_of(rita, review_round)[0]
        client.force_login(rita)
        body = client.get(page(first)).content.decode()
        for there, here in ((first.public_id, "ID"), (review_round.slug, "SLUG"), (review_round.name, "NAME")):
            body = body.replace(there, here)
        lines = [line for line in body.splitlines() if "csrf" not in line.lower()]
        seen.append(lines)
    assert seen[0] == seen[1]


def test_step_one_does_not_ask_the_table_of_keys(
    browser_of_rita: Client, first: Assignment, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(9) as queries:
        browser_of_rita.get(page(first))
    assert not [
        q["sql"] for q in queries.captured_queries if "answerkey" in q["sql"] or "annotation_report" in q["sql"]
    ]


def test_step_two_shows_key_explanation_task_and_category(
    browser_of_rita: Client, first: Assignment, rita: User, noon: datetime
) -> None:
    sent = browser_of_rita.get(page(answered(first, rita, noon))).content.decode()
    for words in ("EXPLANATION-WORDS", "CATEGORY-WORDS", "Negation", 'class="case-key"'):
        assert words in sent
    for words in ("FINDINGS-WORDS", "IMPRESSION-WORDS", "stated difficulty"):
        assert words not in sent


def test_the_report_is_sent_only_after_its_moment(
    browser_of_rita: Client, first: Assignment, rita: User, noon: datetime
) -> None:
    open_report(answered(first, rita, noon), actor=rita, at=noon)
    sent = browser_of_rita.get(page(first)).content.decode()
    assert "FINDINGS-WORDS" in sent
    assert "IMPRESSION-WORDS" in sent
    assert "stated difficulty" not in sent


def test_the_stated_difficulty_is_shown_after_the_submission(
    browser_of_rita: Client, first: Assignment, rita: User, noon: datetime
) -> None:
    submit_review(answered(first, rita, noon), good_judgement(comment="MY-COMMENT"), actor=rita, at=noon)
    sent = browser_of_rita.get(page(first)).content.decode()
    assert f"stated difficulty: {SECRETS['difficulty']}" in sent
    assert "MY-COMMENT" in sent  # to be changed
    assert "submitted, version 1" in sent


def test_an_open_round_starts_with_the_key(reviewer: Client, rita: User) -> None:
    first = assignments_of(rita, make_round(rita, steps=RoundSteps.OPEN))[0]
    sent = reviewer.get(page(first)).content.decode()
    assert "EXPLANATION-WORDS" in sent
    assert "FINDINGS-WORDS" not in sent


def test_unknown_age_sex_and_views_are_said_to_be_unknown(browser_of_rita: Client, first: Assignment) -> None:
    exam = first.revision.question.exam
    exam.age_years, exam.sex = None, ""
    exam.save()
    exam.images.update(view_position="unknown")
    sent = browser_of_rita.get(page(first)).content.decode()
    for words in ("age unknown", "sex unknown", "view unknown"):
        assert words in sent


def test_images_that_are_not_there_are_named(browser_of_rita: Client, first: Assignment) -> None:
    first.revision.question.exam.images.filter(position=1).update(state="quarantined")
    sent = browser_of_rita.get(page(first)).content.decode()
    assert "No images available" in sent
    assert "withheld (possible patient data)" in sent
    assert "PA not uploaded yet" in sent


def test_the_key_is_not_in_the_descriptors_of_the_next_case(browser_of_rita: Client, first: Assignment) -> None:
    sent = browser_of_rita.get(page(first)).content.decode()
    assert "Which finding is absent on these radiographs (1)?" in sent
    assert "radiographs (2)?" not in sent  # the next case comes as images, never as words


def test_the_images_of_the_next_two_cases_come_with_the_page(reviewer: Client, rita: User) -> None:
    mine = assignments_of(rita, make_round(rita, n_questions=4))
    images = [give_first_image(assignment) for assignment in mine]
    assert cases_ahead(reviewer, mine[0]) == [[images[1]], [images[2]]]
    Assignment.objects.filter(pk=mine[2].pk).update(state=AssignmentState.SUBMITTED)
    Assignment.objects.filter(pk=mine[0].pk).update(state=AssignmentState.SKIPPED, skipped_at=NOON)
    assert cases_ahead(reviewer, mine[1]) == [[images[3]], [images[0]]]  # the skipped one comes last
    assert cases_ahead(reviewer, mine[0]) == [[images[1]], [images[3]]]
    Assignment.objects.filter(pk__in=[mine[1].pk, mine[3].pk]).update(state=AssignmentState.SUBMITTED)
    assert cases_ahead(reviewer, mine[0]) == []


def test_questions_on_one_exam_each_bring_its_images(reviewer: Client, rita: User) -> None:
    mine = assignments_of(rita, make_round(rita))
    Question.objects.update(exam=mine[0].revision.question.exam)
    image = give_first_image(mine[0])
    assert cases_ahead(reviewer, mine[0]) == [[image], [image]]


def test_the_turn_brings_the_same_cases_ahead_as_the_page(reviewer: Client, rita: User) -> None:
    mine = assignments_of(rita, make_round(rita, n_questions=4))
    images = [give_first_image(assignment) for assignment in mine]
    turned = reviewer.post(reverse("review-skip", args=[mine[0].public_id]), {"reason": "later"}, **HX)  # type: ignore[arg-type]
    assert ahead_in(turned.content.decode()) == cases_ahead(reviewer, mine[1]) == [[images[2]], [images[3]]]


def give_first_image(assignment: Assignment) -> str:
    """The first image of the case gets pixels; its name."""
    image = assignment.revision.question.exam.images.get(position=0)
    give_pixels(image, seed=assignment.position)
    return image.public_id


def cases_ahead(client: Client, assignment: Assignment) -> list[list[str]]:
    return ahead_in(client.get(page(assignment)).content.decode())


def ahead_in(sent: str) -> list[list[str]]:
    """The names of the images of each case that the page prepares."""
    found = re.search(r'<script id="next-cases" type="application/json">(.*?)</script>', sent)
    assert found is not None
    return [[image["id"] for image in case] for case in json.loads(found[1])]


def test_a_closed_round_is_read_only(browser_of_rita: Client, first: Assignment, rita: User, noon: datetime) -> None:
    submit_review(answered(first, rita, noon), good_judgement(), actor=rita, at=noon)
    first.round.state = RoundState.CLOSED
    first.round.save()
    sent = browser_of_rita.get(page(first)).content.decode()
    assert "can be read, not changed" in sent
    assert 'id="case-go"' not in sent


def test_a_change_that_was_not_submitted_says_so_until_the_round_closes(
    browser_of_rita: Client, first: Assignment, rita: User, noon: datetime
) -> None:
    submit_review(answered(first, rita, noon), good_judgement(), actor=rita, at=noon, simulated=True)
    worklist = reverse("review-worklist", args=[first.round.slug])
    said = "changed, not submitted</"
    assert said not in browser_of_rita.get(worklist).content.decode()
    save_draft(first, {"verdict": "reject", "comment": "on second thought"}, actor=rita, at=noon)
    assert said in browser_of_rita.get(worklist).content.decode()
    assert 'data-saving="changed"' in browser_of_rita.get(page(first)).content.decode()
    first.round.state = RoundState.CLOSED
    first.round.save()
    assert said not in browser_of_rita.get(worklist).content.decode()
    assert "on second thought" not in browser_of_rita.get(page(first)).content.decode()


def test_markup_in_a_question_is_text(reviewer: Client, rita: User, noon: datetime) -> None:
    nasty = "<script>alert(1)</script></script>"
    first = assignments_of(rita, make_round(rita, stem=nasty, options=[nasty, "b", "c", "d"], category=nasty))[0]
    answered(first, rita, noon)
    assert b"<script>alert" not in reviewer.get(page(first)).content


def test_withdrawn_and_unopened_questions_are_not_there(browser_of_rita: Client, first: Assignment) -> None:
    Assignment.objects.filter(pk=first.pk).update(state=AssignmentState.WITHDRAWN)
    assert browser_of_rita.get(page(first)).status_code == 404
    Assignment.objects.filter(pk=first.pk).update(state=AssignmentState.WAITING)
    first.round.state = RoundState.DRAFT
    first.round.save()
    assert browser_of_rita.get(page(first)).status_code == 404


def test_wrong_method(browser_of_rita: Client, first: Assignment) -> None:
    assert browser_of_rita.post(page(first)).status_code == 405


def test_opening_is_stored_once(browser_of_rita: Client, first: Assignment) -> None:
    browser_of_rita.get(page(first))
    first.refresh_from_db()
    opened = first.opened_at
    browser_of_rita.get(page(first))
    first.refresh_from_db()
    assert opened is not None
    assert first.opened_at == opened


@pytest.mark.parametrize("step", ["blind", "judge", "submitted"])
def test_query_count_does_not_exceed_nine(
    browser_of_rita: Client,
    first: Assignment,
    rita: User,
    noon: datetime,
    step: str,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    if step != "blind":
        open_report(answered(first, rita, noon), actor=rita, at=noon)
    if step == "submitted":
        submit_review(first, good_judgement(), actor=rita, at=noon)
        assert Review.objects.count() == 1
    with django_assert_max_num_queries(9):
        assert browser_of_rita.get(page(first)).status_code == 200


def test_the_first_question_of_the_first_round_explains_its_steps(
    browser_of_rita: Client, first: Assignment, rita: User
) -> None:
    card = "Each question has three steps."
    assert card in browser_of_rita.get(f"/review/{first.public_id}/").content.decode()
    second = assignments_of(rita, first.round)[1]
    assert card not in browser_of_rita.get(f"/review/{second.public_id}/").content.decode()
    BlindAnswer.objects.create(assignment=second, best="B", defensible=["B"], difficulty="easy", answered_at=NOON)
    assert card not in browser_of_rita.get(f"/review/{first.public_id}/").content.decode()
    later = assignments_of(rita, make_round(rita, name="Later"))[0]
    assert card not in browser_of_rita.get(f"/review/{later.public_id}/").content.decode()


MOST_BYTES = 120_000


@pytest.mark.django_db
def test_a_case_page_without_its_images_is_under_120_kb(reviewer: Client, rita: User) -> None:
    review_round = make_round(rita)
    for image in Image.objects.all():
        give_pixels(image, seed=1)
    page = reviewer.get(reverse("review-case", args=[assignments_of(rita, review_round)[0].public_id])).content
    named = sorted(set(re.findall(r'"/static/([^"]+)"', page.decode())))
    assert "annotation/review/case.js" in named
    files = [finders.find(name) for name in named]
    assert all(files)
    compressed = sum(len(gzip.compress(Path(file).read_bytes())) for file in files if isinstance(file, str))
    assert len(page) + compressed < MOST_BYTES


# --- the worklist, and the way on ---
@pytest.fixture
def review_round(rita: User, remo: User) -> ReviewRound:
    return make_round(rita, n_questions=4)


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
