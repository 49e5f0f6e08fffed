"""Reviewers and adjudicators see the images that count for a question, and have to have seen no others."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotation.case.kernels.traces import CaseRefused, readable_trace
from annotation.enums import ImageState
from annotation.models import Assignment, Image, Revision, User
from annotation.review.answering import answer_blind
from annotation.review.kernels.transitions import ReviewRefused
from annotation.review.rounds import missing_images
from annotation.review.submitting import hide_identifying_images
from tests.annotation.case.sent import PAGE, seen
from tests.annotation.review.cases import NOON, assignments_of, make_round
from tests.annotation.review.pixels import give_pixels
from tests.annotation.review.priors import give_prior
from tests.annotation.review.test_priors import answer, exam_of, ids, page_of, told
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


@pytest.fixture
def mine(rita: User) -> list[Assignment]:
    """Three questions with two images each, of which the first and the second leave one out."""
    rows = assignments_of(rita, make_round(rita))
    for number, row in enumerate(rows):
        for image in exam_of(row).images.all():
            give_pixels(image, seed=10 * number + image.position)
    for row, place in ((rows[0], 1), (rows[1], 0)):
        leave_out(row, ids(exam_of(row))[place])
    return rows


def leave_out(assignment: Assignment, *names: str) -> None:
    Revision.objects.filter(pk=assignment.revision_id).update(images_left_out=list(names) or None)
    assignment.refresh_from_db()


def answer_with(assignment: Assignment, rita: User, *, unreadable: str) -> None:
    [name] = [one for one in ids(exam_of(assignment)) if one != unreadable]
    trace = readable_trace(PAGE, seen([name])["events"], unreadable=[unreadable])
    answer_blind(assignment, best="B", defensible=[], difficulty="easy", actor=rita, at=NOON, trace=trace)


def shown(views: list[dict[str, Any]]) -> list[str]:
    return [view["id"] for view in views]


def test_only_what_counts_is_shown_and_prefetched(reviewer: Client, mine: list[Assignment]) -> None:
    page = page_of(reviewer, mine[0])
    first, second, third = (ids(exam_of(row)) for row in mine)
    assert shown(told(page, "case-views")) == [first[0]]
    assert [shown(views) for views in told(page, "next-cases")] == [[second[1]], third]
    assert first[1] not in page
    assert second[0] not in page


def test_the_turn_to_the_next_case_shows_what_counts(reviewer: Client, mine: list[Assignment]) -> None:
    """The cases ahead are those that the turn has loaded, not looked up."""
    sent = reviewer.post(f"/review/{mine[0].public_id}/skip/", {"reason": "later"}, headers={"HX-Request": "true"})
    text = sent.content.decode()
    first, second, _third = (ids(exam_of(row)) for row in mine)
    assert second[1] in text
    assert second[0] not in text
    assert first[1] not in text


def test_it_costs_no_query(reviewer: Client, mine: list[Assignment]) -> None:
    counts = []
    for row in (mine[2], mine[0]):
        page_of(reviewer, row)  # opens it
        with CaptureQueriesContext(connection) as queries:
            page_of(reviewer, row)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert max(counts) <= 9


def test_only_what_counts_has_to_be_seen(rita: User, mine: list[Assignment]) -> None:
    pa, lateral = ids(exam_of(mine[0]))
    with refuses(ReviewRefused, "not_seen"):
        answer(mine[0], rita, lateral)
    with pytest.raises(CaseRefused):  # as an image of another case
        answer_with(mine[0], rita, unreadable=lateral)
    answer(mine[0], rita, pa)
    with refuses(ReviewRefused, "not_seen"):
        answer(mine[2], rita, ids(exam_of(mine[2]))[0])


def test_the_prior_stays(reviewer: Client, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    prior = give_prior(exam, seed=70)
    assert shown(told(page_of(reviewer, mine[0]), "case-views")) == [ids(exam)[0], *ids(prior)]


def test_an_image_that_does_not_count_is_not_missed(reviewer: Client, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    assert missing_images(mine[0].round).numbers == []
    exam.images.filter(position=1).update(state=ImageState.QUARANTINED)
    assert missing_images(mine[0].round).numbers == []
    assert "withheld" not in page_of(reviewer, mine[0])
    leave_out(mine[0])
    assert missing_images(mine[0].round).numbers == [1]


def test_identifying_text_hides_what_was_shown(rita: User, mine: list[Assignment]) -> None:
    exam = exam_of(mine[0])
    assert hide_identifying_images(mine[0], ids(exam)[1:], actor=rita, at=NOON) == 0
    assert hide_identifying_images(mine[0], actor=rita, at=NOON) == 1
    assert Image.objects.get(state=ImageState.QUARANTINED).public_id == ids(exam)[0]
