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
from annotation.models import Assignment, BlindAnswer, Image, Question, ReviewRound, User
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


def page(assignment: Assignment) -> str:
    return reverse("review-case", args=[assignment.public_id])


def answered(assignment: Assignment, rita: User, noon: datetime, best: str = "B") -> Assignment:
    answer_blind(assignment, best=best, defensible=[], difficulty="easy", actor=rita, at=noon)
    return assignment


def test_step_one_shows_the_question_and_nothing_of_the_truth(
    reviewer: Client, first: Assignment, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    assert reviewer.post(page(first)).status_code == 405
    for headers in ({}, HX):
        with django_assert_max_num_queries(9) as queries:
            response = reviewer.get(page(first), **headers)  # type: ignore[arg-type]
        asked = [one["sql"] for one in queries.captured_queries]
        assert not [sql for sql in asked if "answerkey" in sql or "annotation_report" in sql]
        sent = response.content.decode() + str(response.headers)
        assert response.status_code == 200
        assert "Which finding is absent on these radiographs (1)?" in sent
        assert "radiographs (2)?" not in sent  # the next case comes as images, never as words
        assert "58 years" in sent
        for words in TRUTH:
            assert words not in sent
        assert "no-store" in response["Cache-Control"]
        assert "HX-Request" in response["Vary"]
        opened = first.opened_at
        first.refresh_from_db()
        assert first.opened_at is not None
        assert opened in (None, first.opened_at), "opening is stored once"


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


def test_each_step_shows_what_is_due_by_then_in_few_queries(
    reviewer: Client,
    first: Assignment,
    rita: User,
    noon: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    def sent(*hidden: str) -> str:
        with django_assert_max_num_queries(9):
            text = reviewer.get(page(first)).content.decode()
        for words in hidden:
            assert words not in text
        return text

    at_two = ("EXPLANATION-WORDS", "CATEGORY-WORDS", "Negation", 'class="case-key"')
    answered(first, rita, noon)
    text = sent("FINDINGS-WORDS", "IMPRESSION-WORDS", "stated difficulty")
    assert [words for words in at_two if words not in text] == []
    open_report(first, actor=rita, at=noon)
    text = sent("stated difficulty")
    assert [words for words in ("FINDINGS-WORDS", "IMPRESSION-WORDS") if words not in text] == []
    submit_review(first, good_judgement(comment="MY-COMMENT"), actor=rita, at=noon)
    text = sent()
    assert f"stated difficulty: {SECRETS['difficulty']}" in text
    assert "MY-COMMENT" in text  # to be changed
    assert "submitted, version 1" in text
    assert 'id="case-go"' in text
    first.round.state = RoundState.CLOSED
    first.round.save()
    assert "can be read, not changed" in sent('id="case-go"')


def test_an_open_round_starts_with_the_key(reviewer: Client, rita: User) -> None:
    first = assignments_of(rita, make_round(rita, steps=RoundSteps.OPEN))[0]
    sent = reviewer.get(page(first)).content.decode()
    assert "EXPLANATION-WORDS" in sent
    assert "FINDINGS-WORDS" not in sent


def test_what_is_unknown_or_not_there_is_said(reviewer: Client, first: Assignment) -> None:
    exam = first.revision.question.exam
    exam.images.filter(position=1).update(state="quarantined")
    sent = reviewer.get(page(first)).content.decode()
    for words in ("No images available", "withheld (possible patient data)", "PA not uploaded yet"):
        assert words in sent
    exam.age_years, exam.sex = None, ""
    exam.save()
    exam.images.update(view_position="unknown")
    sent = reviewer.get(page(first)).content.decode()
    for words in ("age unknown", "sex unknown", "view unknown"):
        assert words in sent


def test_the_images_of_the_next_two_cases_come_with_the_page_and_with_the_turn(reviewer: Client, rita: User) -> None:
    mine = assignments_of(rita, make_round(rita, n_questions=4))
    images = [give_first_image(assignment) for assignment in mine]
    assert cases_ahead(reviewer, mine[0]) == [[images[1]], [images[2]]]
    turned = reviewer.post(reverse("review-skip", args=[mine[0].public_id]), {"reason": "later"}, **HX)  # type: ignore[arg-type]
    assert ahead_in(turned.content.decode()) == cases_ahead(reviewer, mine[1]) == [[images[2]], [images[3]]]
    Assignment.objects.filter(pk=mine[2].pk).update(state=AssignmentState.SUBMITTED)
    assert cases_ahead(reviewer, mine[1]) == [[images[3]], [images[0]]]  # the skipped one comes last
    assert cases_ahead(reviewer, mine[0]) == [[images[1]], [images[3]]]
    Assignment.objects.filter(pk__in=[mine[1].pk, mine[3].pk]).update(state=AssignmentState.SUBMITTED)
    assert cases_ahead(reviewer, mine[0]) == []


def test_questions_on_one_exam_each_bring_its_images(reviewer: Client, rita: User) -> None:
    mine = assignments_of(rita, make_round(rita))
    Question.objects.update(exam=mine[0].revision.question.exam)
    image = give_first_image(mine[0])
    assert cases_ahead(reviewer, mine[0]) == [[image], [image]]


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


def test_a_change_that_was_not_submitted_says_so_until_the_round_closes(
    reviewer: Client, first: Assignment, rita: User, noon: datetime
) -> None:
    submit_review(answered(first, rita, noon), good_judgement(), actor=rita, at=noon, simulated=True)
    worklist = reverse("review-worklist", args=[first.round.slug])
    said = "changed, not submitted</"
    assert said not in reviewer.get(worklist).content.decode()
    save_draft(first, {"verdict": "reject", "comment": "on second thought"}, actor=rita, at=noon)
    assert said in reviewer.get(worklist).content.decode()
    assert 'data-saving="changed"' in reviewer.get(page(first)).content.decode()
    first.round.state = RoundState.CLOSED
    first.round.save()
    assert said not in reviewer.get(worklist).content.decode()
    assert "on second thought" not in reviewer.get(page(first)).content.decode()


def test_markup_in_a_question_is_text(reviewer: Client, rita: User, noon: datetime) -> None:
    nasty = "<script>alert(1)</script></script>"
    first = assignments_of(rita, make_round(rita, stem=nasty, options=[nasty, "b", "c", "d"], category=nasty))[0]
    answered(first, rita, noon)
    assert b"<script>alert" not in reviewer.get(page(first)).content


def test_withdrawn_and_unopened_questions_are_not_there(reviewer: Client, first: Assignment) -> None:
    Assignment.objects.filter(pk=first.pk).update(state=AssignmentState.WITHDRAWN)
    assert reviewer.get(page(first)).status_code == 404
    Assignment.objects.filter(pk=first.pk).update(state=AssignmentState.WAITING)
    first.round.state = RoundState.DRAFT
    first.round.save()
    assert reviewer.get(page(first)).status_code == 404


def test_the_first_question_of_the_first_round_explains_its_steps(
    reviewer: Client, first: Assignment, rita: User
) -> None:
    card = "Each question has three steps."
    assert card in reviewer.get(f"/review/{first.public_id}/").content.decode()
    second = assignments_of(rita, first.round)[1]
    assert card not in reviewer.get(f"/review/{second.public_id}/").content.decode()
    BlindAnswer.objects.create(assignment=second, best="B", defensible=["B"], difficulty="easy", answered_at=NOON)
    assert card not in reviewer.get(f"/review/{first.public_id}/").content.decode()
    later = assignments_of(rita, make_round(rita, name="Later"))[0]
    assert card not in reviewer.get(f"/review/{later.public_id}/").content.decode()


MOST_BYTES = 120_000


def test_a_case_page_without_its_images_is_under_120_kb(reviewer: Client, rita: User) -> None:
    review_round = make_round(rita)
    for image in Image.objects.all():
        give_pixels(image, seed=1)
    sent = reviewer.get(page(assignments_of(rita, review_round)[0])).content
    named = sorted(set(re.findall(r'"/static/([^"]+)"', sent.decode())))
    assert "annotation/review/case.js" in named
    files = [finders.find(name) for name in named]
    assert all(files)
    compressed = sum(len(gzip.compress(Path(file).read_bytes())) for file in files if isinstance(file, str))
    assert len(sent) + compressed < MOST_BYTES


# --- the worklist, and the way on ---
@pytest.fixture
def review_round(rita: User, remo: User) -> ReviewRound:
    return make_round(rita, n_questions=4)


def worklist(review_round: ReviewRound) -> str:
    return reverse("review-worklist", args=[review_round.slug])


def test_own_questions_with_their_state_and_filtered_by_it(
    reviewer: Client, review_round: ReviewRound, rita: User, noon: datetime
) -> None:
    rounds = reviewer.get(reverse("review-rounds")).content.decode()
    assert (review_round.name in rounds, "0 / 4" in rounds) == (True, True)
    one, two, *_rest = assignments_of(rita, review_round)
    skip(one, "image missing", actor=rita, at=noon)
    sent = reviewer.get(worklist(review_round)).content.decode()
    assert "image missing" in sent
    assert ("CATEGORY-WORDS" in sent, "Negation" in sent) == (False, False)
    Assignment.objects.filter(pk=two.pk).update(state=AssignmentState.SUBMITTED)
    for chosen, n in {"": 4, "unfinished": 3, "skipped": 1, "submitted": 1, "nonsense": 4}.items():
        sent = reviewer.get(worklist(review_round), {"show": chosen}).content.decode()
        assert sent.count("Which finding is absent") == n, chosen


def test_continue_leads_to_the_next_question_and_at_the_end_to_the_list(
    reviewer: Client, review_round: ReviewRound, rita: User
) -> None:
    go_on = reverse("review-continue", args=[review_round.slug])
    first = assignments_of(rita, review_round)[0]
    assert reviewer.get(go_on)["Location"] == page(first)
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert reviewer.get(go_on)["Location"] == worklist(review_round)
    assert b"can be read, not changed" in reviewer.get(worklist(review_round)).content
    ReviewRound.objects.update(state=RoundState.OPEN)
    Assignment.objects.update(state=AssignmentState.SUBMITTED)
    assert reviewer.get(go_on)["Location"] == worklist(review_round)
    ReviewRound.objects.update(state=RoundState.DRAFT)
    assert reviewer.get(worklist(review_round)).status_code == 404
    assert b"No questions assigned to you" in reviewer.get(reverse("review-rounds")).content


def test_a_stranger_logs_in_first_and_post_is_no_way_in(client: Client, review_round: ReviewRound, rita: User) -> None:
    assert client.get(worklist(review_round)).status_code == 302
    client.force_login(rita)
    assert client.post(worklist(review_round)).status_code == 405


def test_query_count_does_not_grow_with_the_list(
    reviewer: Client, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    long = make_round(rita, n_questions=30, name="Long")
    with django_assert_max_num_queries(7):
        reviewer.get(worklist(long))
