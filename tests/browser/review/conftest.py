"""A small round with images that the browser can really show."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request
from pytest_django.live_server_helper import LiveServer

from annotation.models import ReviewRound, User
from tests.annotation.review.cases import assignments_of, make_round
from tests.annotation.review.pixels import give_pixels
from tests.browser.entering import give_session
from tests.browser.server import leave


@pytest.fixture
def review_round(transactional_db: None, rita: User) -> ReviewRound:
    """Three questions for Rita, each with two images; the key is B."""
    made = make_round(rita, n_questions=3, name="Pilot")
    for seed, assignment in enumerate(assignments_of(rita, made)):
        for image in assignment.revision.question.exam.images.all():
            give_pixels(image, seed=seed * 2 + image.position)
    return made


# A reload took the page away while the file was loading; the test took the connection away.
EXPECTED_LOSSES = ("net::ERR_ABORTED", "net::ERR_INTERNET_DISCONNECTED")


def is_lost_file(asked: Request) -> bool:
    """A script or style that did not come although nothing stood in its way."""
    return asked.url.endswith((".js", ".css")) and asked.failure not in EXPECTED_LOSSES


@pytest.fixture
def page(browser: Browser, live_server: LiveServer, review_round: ReviewRound, rita: User) -> Iterator[Page]:
    """Rita's browser at 1366x768, logged in; a script error or a console error fails the test."""
    context = browser.new_context(viewport={"width": 1366, "height": 768}, base_url=live_server.url)
    give_session(context, rita, live_server.url)
    opened = context.new_page()
    opened.set_default_timeout(15_000)
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on(
        "console", lambda m: errors.append(m.text) if m.type == "error" and "Failed to load" not in m.text else None
    )
    opened.on("requestfailed", lambda asked: errors.append(asked.url) if is_lost_file(asked) else None)
    yield opened
    opened.goto("about:blank")  # hands over what is not saved yet
    leave(context, live_server)
    assert errors == []
