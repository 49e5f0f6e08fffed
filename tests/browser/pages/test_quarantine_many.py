"""Selecting many images in quarantine with mouse and keyboard, one decision about them, and undoing it."""

from __future__ import annotations

import pytest
from django.db import transaction
from playwright.sync_api import expect

from annotation.audit.recording import record
from annotation.enums import ImageState
from annotation.ingest import searching
from annotation.models import AuditEvent, Image, User
from tests.annotation.images.conftest import MakeImage, home, make_image  # noqa: F401 - fixtures
from tests.browser.entering import Browse
from tests.browser.screenshots import SIZES, keep
from tests.conftest import NOON


@pytest.mark.journey
def test_many_are_selected_decided_upon_and_put_back(
    browse: Browse,
    dina: User,
    make_image: MakeImage,  # noqa: F811
) -> None:
    for _number in range(7):
        make_image(ImageState.QUARANTINED, state_reason="Text in the pixels.")
    page = browse(dina)
    page.goto("/quarantine/")
    boxes, release = page.locator("input[name=image]"), page.get_by_role("button", name="Release selected")
    expect(release).to_be_disabled()
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    expect(page.get_by_text("4 selected")).to_be_visible()
    page.get_by_label("All on this page").press("Space")
    expect(page.get_by_text("7 selected")).to_be_visible()
    boxes.nth(0).press("Space")
    expect(page.get_by_text("6 selected")).to_be_visible()
    keep(page, "quarantine-selected", *SIZES)
    release.press("Enter")
    expect(page.get_by_role("heading", name="Release 6 images")).to_be_visible()
    keep(page, "quarantine-release", *SIZES)
    assert Image.objects.filter(state=ImageState.QUARANTINED).count() == 7
    page.get_by_label("Reason").fill("an arrow only")
    page.get_by_label("Reason").press("Enter")
    expect(page.get_by_text("Your last decision released 6 images.")).to_be_visible()
    assert Image.objects.filter(state=ImageState.QUARANTINED).count() == 1
    keep(page, "quarantine-released", *SIZES)
    page.get_by_role("button", name="Put them back").click()
    expect(page.get_by_text("6 images are back in quarantine.")).to_be_visible()
    assert AuditEvent.objects.filter(act__in=["image.released", "image.quarantined"]).count() == 12
    page.get_by_label("All on this page").check()
    page.get_by_role("button", name="Remove selected").click()
    expect(page.get_by_text("This cannot be undone")).to_be_visible()
    keep(page, "quarantine-remove", *SIZES)
    page.get_by_role("link", name="Cancel").click()
    expect(boxes).to_have_count(7)


def test_images_that_a_listed_word_held_are_offered_and_released(
    browse: Browse,
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
    page = browse(dina)
    page.goto("/quarantine/")
    page.get_by_role("link", name="Words that are never names").click()
    expect(page.get_by_text("3 selected")).to_be_visible()
    keep(page, "quarantine-words", *SIZES)
    page.get_by_label("Word").fill("Auf Station")
    page.get_by_label("Word").press("Enter")
    expect(page.get_by_text("One word at a time")).to_be_visible()
    keep(page, "quarantine-words-refused", *SIZES)
    page.locator("input[name=image]").nth(2).press("Space")
    page.get_by_role("button", name="Release selected").click()
    page.get_by_label("Reason").fill("position words only")
    page.get_by_role("button", name="Release 2 images").click()
    expect(page.get_by_text("Your last decision released 2 images.")).to_be_visible()
    assert searching.quarantined_for_words().count() == 1
