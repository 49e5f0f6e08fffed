"""What a model has right without the image, beside what reviewers say of it."""

from __future__ import annotations

import pytest

from annotation.call_enums import BatchState
from annotation.enums import RoundState
from annotation.models import QuestionBank, ReviewRound, User
from readerstudy.predictions.listing import Target
from readerstudy.results.variants import family_of, image_need
from tests.annotation.review.cases import make_round
from tests.readerstudy.comparison.variant_runs import blind_run, complete, review, right_on
from tests.readerstudy.model_runs.made import end

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoints")]


# --- beside reviewers -----------------------------------------------------------------------------
@pytest.mark.usefixtures("reviewed")
def test_right_without_the_image_by_what_reviewers_say(twelve: QuestionBank, cora: User) -> None:
    """Right without the image: 1, 3 of those that need it, 4 of the partly ones, 6, and 8 that nobody reviewed."""
    need = image_need(family_of(blind_run(twelve, 1, 3, 4, 6, 7, 8)), cora)
    assert need is not None
    found = [(row.label, row.right["value"], row.right["n"]) for row in need.rows]
    assert found == [("yes", 2 / 3, 3), ("partly", 1 / 2, 2), ("no", 1, 1), ("", 4 / 6, 6)]
    assert all(row.right["method"] == "wilson" and row.right["ci95"] for row in need.rows)
    assert [one.number for one in need.right_without] == [1, 3]
    assert (need.n_cannot_judge, need.reviews_per_question) == (1, [(1, 2), (2, 4)])


@pytest.mark.usefixtures("reviewed")
def test_there_is_nothing_without_a_complete_run_without_images(twelve: QuestionBank, cora: User) -> None:
    run = blind_run(twelve, 1)
    end(run, BatchState.RUNNING)
    assert image_need(family_of(run), cora) is None
    assert image_need(family_of(complete(Target(twelve), right_on(1))), cora) is None


def test_who_reviews_learns_nothing_of_their_round_nor_of_their_questions(
    twelve: QuestionBank, reviewed: ReviewRound, cora: User, rita: User
) -> None:
    run = blind_run(twelve, 1, 3)
    under_way = make_round(cora, rita, n_questions=0, name="Second", bank=twelve)
    review(under_way, 1, {cora: "no", rita: "no"})
    review(under_way, 8, {rita: "yes"})
    need = image_need(family_of(run), cora)
    assert need is not None
    assert (need.n_rounds_hidden, need.n_questions_hidden) == (1, 1)
    assert [one.number for one in need.questions] == [2, 3, 4, 5, 6]
    under_way.state = RoundState.CLOSED
    under_way.save()
    need = image_need(family_of(run), cora)
    assert need is not None
    assert (need.n_rounds_hidden, need.n_questions_hidden) == (0, 0)
    assert {one.number: one.need for one in need.questions}[1] == "no"


def test_questions_on_the_images_that_somebody_reviews_are_hidden_as_well(
    twelve: QuestionBank, reviewed: ReviewRound, cora: User
) -> None:
    run = blind_run(twelve, 1, 3)
    second = make_round(cora, n_questions=0, name="Second", bank=twelve)
    review(second, 9, {cora: "yes"})
    ninth = twelve.questions.get(number=9)
    twelve.questions.filter(number=3).update(exam=ninth.exam)
    need = image_need(family_of(run), cora)
    assert need is not None
    assert 3 not in {one.number for one in need.questions}


def test_the_command_line_hears_of_closed_rounds_alone(twelve: QuestionBank, rita: User, remo: User) -> None:
    made = make_round(rita, n_questions=0, bank=twelve)
    review(made, 1, {rita: "yes"})
    run = blind_run(twelve, 1)
    need = image_need(family_of(run), None)
    assert need is not None
    assert (need.questions, need.n_rounds_hidden) == ([], 1)
