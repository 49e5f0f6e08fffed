"""What was written into a form that the browser itself sends is there again where something else took it."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from annotation.enums import ImageState
from annotation.models import Image, QuestionComment, Upload, User
from tests.annotation.discussion.test_comments import closed, first_of, spring  # noqa: F401 - fixtures
from tests.annotation.images.conftest import MakeImage, home, make_image  # noqa: F401 - fixtures
from tests.browser.entering import Browse
from tests.browser.foreign import ANSWERS, answer_always


def test_a_comment_is_kept_until_the_site_says_that_it_came(
    browse: Browse,
    closed: object,  # noqa: F811
    cora: User,
) -> None:
    question = first_of(closed)  # type: ignore[arg-type]
    address = f"/banks/{question.bank.slug}/1/"
    page = browse(cora)
    page.goto(address)
    text, send = page.locator("#comment-text"), page.get_by_role("button", name="Comment", exact=True)
    answer_always(page, "portal")
    text.fill("Is the key right?")
    page.get_by_label("to do").check()
    send.click()
    expect(page).to_have_title("Hospital network")
    assert not QuestionComment.objects.exists()
    page.unroute_all(behavior="ignoreErrors")
    page.goto("/")
    page.goto(address)
    expect(text).to_have_value("Is the key right?")
    expect(page.get_by_label("to do")).to_be_checked()
    send.click()
    expect(page.locator("#comments ol")).to_contain_text("Is the key right?")
    expect(text).to_have_value("")
    page.reload()
    expect(text).to_have_value("")
    assert QuestionComment.objects.count() == 1


def test_boxes_on_an_image_are_kept_until_the_site_says_that_they_came(
    browse: Browse,
    dina: User,
    make_image: MakeImage,  # noqa: F811
) -> None:
    image = make_image(ImageState.QUARANTINED, state_reason="Text in the pixels.")
    page = browse(dina)
    page.goto(f"/quarantine/{image.public_id}/")
    boxes = page.locator("#box-rows tr")
    for row in range(2):
        page.get_by_role("button", name="Add a box").click()
        for name, value in {"x": 1 + row, "y": 2, "width": 10, "height": 20}.items():
            boxes.nth(row).locator(f"[name={name}]").fill(str(value))
    page.locator("#mask-reason").fill("a name")
    answer_always(page, "portal")
    page.get_by_role("button", name="Black out these boxes").click()
    expect(page).to_have_title("Hospital network")
    page.unroute_all(behavior="ignoreErrors")
    page.goto(f"/quarantine/{image.public_id}/")
    expect(boxes).to_have_count(2)
    expect(boxes.nth(1).locator("[name=x]")).to_have_value("2")
    expect(page.locator("#box-canvas rect")).to_have_count(2)
    expect(page.locator("#mask-reason")).to_have_value("a name")
    assert Image.objects.get().state == ImageState.QUARANTINED


def test_an_upload_that_something_else_took_is_said_to_have_failed(
    browse: Browse,
    cora: User,
    home: Path,  # noqa: F811
) -> None:
    page = browse(cora)
    page.goto("/uploads/new/")
    address = page.url
    page.locator("[name=files]").set_input_files({"name": "a.dcm", "mimeType": "", "buffer": b"nothing of an image"})
    for name in ANSWERS:
        answer_always(page, name)
        page.locator("#upload-button").click()
        expect(page.locator("#upload-errors")).not_to_be_empty()
        assert (page.url, Upload.objects.count()) == (address, 0)
        page.unroute_all(behavior="ignoreErrors")
    page.locator("#upload-button").click()  # the files are still chosen
    page.wait_for_url(lambda url: "/new/" not in url)
    assert Upload.objects.count() == 1
