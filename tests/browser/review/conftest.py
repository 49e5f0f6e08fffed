"""A small round with images that the browser can really show."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from annotation.models import ReviewRound, User
from tests.annotation.review.cases import assignments_of, make_round
from tests.annotation.review.pixels import give_pixels
from tests.browser.entering import Browse


@pytest.fixture
def review_round(transactional_db: None, rita: User) -> ReviewRound:
    """Three questions for Rita, each with two images; the key is B."""
    made = make_round(rita, n_questions=3, name="Pilot")
    for seed, assignment in enumerate(assignments_of(rita, made)):
        for image in assignment.revision.question.exam.images.all():
            give_pixels(image, seed=seed * 2 + image.position)
    return made


@pytest.fixture
def page(browse: Browse, review_round: ReviewRound, rita: User) -> Page:
    """Rita's browser; a script error or a console error fails the test."""
    return browse(rita)
