"""A coordinator's first day on a site without a question: own files in, a round through, the corrected bank out.

Her clicks are counted, and those of whoever acts in between; typing, keys and log-ins are not. Home names each step.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image as Picture
from PIL import ImageDraw, ImageFont
from playwright.sync_api import Locator, Page, expect

from annotation.enums import QuestionState, Role
from annotation.models import Image, Question, User
from tests.annotation.questionbank.files import make_record
from tests.annotation.questionbank.test_zip_imports import zip_of
from tests.annotation.rounds.made import say, theirs
from tests.browser.entering import Browse
from tests.browser.journeys.test_adjudication import NEW_STEM, REASON, case_is_there
from tests.browser.review.test_journey import answer, press
from tests.conftest import make_person
from tests.jobs import work

pytestmark = pytest.mark.usefixtures("own_home")
MOST_TO_RELEASED, MOST_TO_OPEN, MOST_TO_CORRECTED = 12, 5, 9


class Hand:
    """Counts what it clicks, ticks or chooses."""

    def __init__(self) -> None:
        self.n = 0

    def click(self, what: Locator) -> None:
        self.n += 1
        what.click()

    def press(self, page: Page, name: str) -> None:
        self.click(page.get_by_role("button", name=name, exact=True))

    def follow(self, page: Page, name: str) -> None:
        self.click(page.locator("main").get_by_role("link", name=name, exact=True))


def film() -> bytes:
    """With a name in it, so that a person has to look."""
    picture = Picture.linear_gradient("L").resize((420, 420))
    ImageDraw.Draw(picture).text((40, 60), "BERGER ANNA", fill=255, font=ImageFont.load_default(40))
    stream = io.BytesIO()
    picture.save(stream, "PNG")
    return stream.getvalue()


def names(page: Page, sentence: str) -> None:
    """Home says so, beside what it offers to do next."""
    told = page.context.request.get("/").text()
    assert sentence in " ".join(told.partition('class="panel next"')[2].partition("</section>")[0].split())


@pytest.mark.journey
def test_the_first_day_costs_few_clicks_and_home_names_each_step(
    browse: Browse, cora: User, dina: User, rita: User, remo: User, tmp_path: Path
) -> None:
    judy = make_person("Judy", Role.REVIEWER)
    coordinator = browse(cora)
    to_released = bring_in(coordinator, browse(dina), tmp_path / "own.zip")
    to_open = open_round(coordinator)
    for one in [*theirs(rita), *theirs(remo)]:
        say(one, verdict="revise" if one.reviewer == remo and one.revision.question.number == 1 else "accept")
    to_corrected = correct(coordinator, browse(judy))
    assert to_released <= MOST_TO_RELEASED
    assert to_open <= MOST_TO_OPEN
    assert to_corrected <= MOST_TO_CORRECTED


def bring_in(page: Page, decides: Page, path: Path) -> int:
    """From a file to images that reviewers may see."""
    records = {f"q{n}": make_record(n, exam=n, ImagePath=[f"{n}/pa.png"]) for n in (1, 2)}
    hers = {f"{n}/pa.png": film() for n in (1, 2)}
    path.write_bytes(zip_of(**{"questions.json": json.dumps(records).encode()}, **hers))
    hand = Hand()
    names(page, "There is no question yet. Import a question bank first.")
    page.goto("/")
    hand.follow(page, "Import questions")
    hand.n += 1
    page.set_input_files("[name=file]", path)
    hand.press(page, "Check the file")
    work()
    hand.press(page, "Store")
    expect(page.get_by_text("The questions are being stored.")).to_be_visible()
    work()
    names(page, "2 of 2 images are still to come: an upload is being read.")
    hand.follow(page, "the images of the ZIP come in")
    work()
    expect(page.get_by_text("Met 2 of 2 images that questions wait for.")).to_be_visible()
    names(page, "2 images are in quarantine. Somebody with the de-identification role decides.")
    names(decides, "2 images are in quarantine.")
    decides.goto("/")
    hand.click(decides.locator(".next a"))
    hand.click(decides.get_by_label("All on this page"))
    hand.press(decides, "Release selected")
    decides.get_by_label("Reason").fill("The name is invented.")
    hand.press(decides, "Release 2 images")
    expect(decides.get_by_text("Your last decision released 2 images.")).to_be_visible()
    assert set(Image.objects.values_list("state", flat=True)) == {"available"}
    return hand.n


def open_round(page: Page) -> int:
    """From a bank to reviewers who see their questions."""
    hand = Hand()
    names(page, "Questions imported. Next: draw a sample of them for a review round.")
    page.goto("/")
    hand.follow(page, "Draw a sample")
    hand.press(page, "Store and make a round of it")
    page.get_by_label("Name", exact=True).fill("Spring")
    for name in ("Rita", "Remo"):
        hand.click(page.get_by_role("checkbox", name=name))
    hand.press(page, "Make and open it")
    expect(page.get_by_text("The round is open: its reviewers see their questions now.")).to_be_visible()
    return hand.n


def correct(page: Page, adjudicator: Page) -> int:
    """From reviews, of which two differ, to the bank with the corrected question."""
    hand = Hand()
    names(page, "All reviews are in: end the independent reviews")
    page.goto("/")
    hand.press(page, "End the independent reviews")
    names(page, "1 question is disputed: name an adjudicator")
    hand.n += 1
    page.get_by_label("Adjudicator").select_option(label="Judy (judy@example.org)")
    hand.press(page, "Add and begin adjudication")
    expect(page.get_by_text("Judy adjudicates this round.")).to_be_visible()
    names(adjudicator, "1 question waits for an adjudicator in “Spring”.")
    adjudicator.goto("/")
    hand.press(adjudicator, "Adjudicate")
    case_is_there(adjudicator)
    answer(adjudicator, "2", "e")
    press(adjudicator, "5", "5", "4", "5", "1", "1", "a", "Enter")
    hand.follow(adjudicator, "Write the revision")
    adjudicator.get_by_label("Question", exact=True).fill(NEW_STEM)
    adjudicator.get_by_label("Reason for the change").fill(REASON)
    hand.press(adjudicator, "Store the revision")
    expect(adjudicator.get_by_text("Revision 2 is stored.")).to_be_visible()
    names(page, "Everything is settled: close the round")
    page.reload()
    hand.click(page.locator(".next").get_by_role("button", name="Close the round"))
    names(page, "1 question was revised and not reviewed since: review it again, or export the bank.")
    hand.follow(page, "Export the bank")
    with page.expect_download() as download:
        hand.press(page, "Download")
    with zipfile.ZipFile(download.value.path()) as archive:
        assert NEW_STEM in archive.read("own/changes.csv").decode()
    assert set(Question.objects.values_list("state", flat=True)) == {QuestionState.ACCEPTED, QuestionState.REVISED}
    return hand.n
