"""Selecting many images in quarantine with mouse and keyboard, one decision about them, and undoing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.db import transaction
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.audit.recording import record
from annotation.enums import ImageState
from annotation.ingest import searching
from annotation.models import AuditEvent, Image, User
from tests.annotation.images.conftest import MakeImage, home, make_image  # noqa: F401 - fixtures
from tests.browser.entering import log_in
from tests.browser.server import leave
from tests.conftest import NOON

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
WIDTHS = ((1366, 768), (1920, 1080))


def keep(page: Page, name: str) -> None:
    """A picture of the page at both sizes, where somebody wants them."""
    folder = os.environ.get("REXVQA_SCREENSHOTS")
    for width, height in WIDTHS if folder else ():
        page.set_viewport_size({"width": width, "height": height})
        page.screenshot(path=Path(str(folder)) / f"{name}-{width}.png")


@pytest.mark.journey
def test_many_are_selected_decided_upon_and_put_back(
    browser: Browser,
    live_server: LiveServer,
    dina: User,
    make_image: MakeImage,  # noqa: F811
) -> None:
    for _number in range(7):
        make_image(ImageState.QUARANTINED, state_reason="Text in the pixels.")
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = log_in(context.new_page(), dina, live_server.url)
    page.goto(f"{live_server.url}/quarantine/")
    boxes, release = page.locator("input[name=image]"), page.get_by_role("button", name="Release selected")
    expect(release).to_be_disabled()
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(page.get_by_text("4 selected")).to_be_visible()
    page.get_by_label("All on this page").press("Space")
    expect(page.get_by_text("7 selected")).to_be_visible()
    boxes.nth(0).press("Space")
    expect(page.get_by_text("6 selected")).to_be_visible()
    keep(page, "quarantine-selected")
    release.press("Enter")
    expect(page.get_by_role("heading", name="Release 6 images")).to_be_visible()
    keep(page, "quarantine-release")
    assert Image.objects.filter(state=ImageState.QUARANTINED).count() == 7
    page.get_by_label("Reason").fill("an arrow only")
    page.get_by_label("Reason").press("Enter")
    expect(page.get_by_text("Your last decision released 6 images.")).to_be_visible()
    assert Image.objects.filter(state=ImageState.QUARANTINED).count() == 1
    keep(page, "quarantine-released")
    page.get_by_role("button", name="Put them back").click()
    expect(page.get_by_text("6 images are back in quarantine.")).to_be_visible()
    assert AuditEvent.objects.filter(act__in=["image.released", "image.quarantined"]).count() == 12
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Remove selected").click()
    expect(page.get_by_text("This cannot be undone")).to_be_visible()
    keep(page, "quarantine-remove")
    page.get_by_role("link", name="Cancel").click()
    expect(boxes).to_have_count(7)
    leave(context, live_server)


def test_images_that_a_listed_word_held_are_offered_and_released(
    browser: Browser,
    live_server: LiveServer,
    dina: User,
    make_image: MakeImage,  # noqa: F811
) -> None:
    """The search itself is not run: its events and findings stand as it leaves them."""
    for word in ("liegend", "Bettaufnahme"):
        searching.add_word(word, actor=dina, at=NOON)
    held = {"text_findings": [{"box": [10, 10, 20, 8], "allowed": True, "length": 7, "score": 0.9}]}
    for _number in range(3):
        image = make_image(ImageState.QUARANTINED, state_reason="Text in the pixels.", **held)
        with transaction.atomic():
            for words, again in ((0, False), (2, True)):
                facts = {"rule": "text-2", "words": words, "again": again}
                record("image.searched", actor=None, at=NOON, subject=image, facts=facts)
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    page = log_in(context.new_page(), dina, live_server.url)
    page.goto(f"{live_server.url}/quarantine/")
    page.get_by_role("link", name="Words that are never names").click()
    expect(page.get_by_text("3 selected")).to_be_visible()
    keep(page, "quarantine-words")
    page.get_by_label("Word").fill("Auf Station")
    page.get_by_label("Word").press("Enter")
    expect(page.get_by_text("One word at a time")).to_be_visible()
    keep(page, "quarantine-words-refused")
    page.locator("input[name=image]").nth(2).press("Space")
    page.get_by_role("button", name="Release selected").click()
    page.get_by_label("Reason").fill("position words only")
    page.get_by_role("button", name="Release 2 images").click()
    expect(page.get_by_text("Your last decision released 2 images.")).to_be_visible()
    assert searching.quarantined_for_words().count() == 1
    leave(context, live_server)
