"""From the predictions of three models to a report: imported, read, a case voided, analysed again, computed again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.utils import timezone
from playwright.sync_api import FilePayload, Locator, Page, expect

from annotation.enums import JobState
from annotation.jobs import queueing, running
from annotation.models import Job, User
from readerstudy.models import ReaderStudy
from readerstudy.predictions.entries import enter_model
from tests.annotation.review.cases import NOON
from tests.browser.entering import Browse
from tests.browser.journeys.steps import close_study, read_elsewhere
from tests.readerstudy.studies import make_study

READERS = {"R1": "BBBBBBBBACBB", "R2": "BBBBBBACBBBD"}  # the key of every case is B
MODELS = {"Good": "BBBBBBBBBBCB", "Fair": "BBBBABBCDBBA", "Poor": "ACxBDBBACBDA"}  # x: nothing that could be read
VOIDED = 12  # both readers disagree on it, and two models miss it
REASON = "The key is disputed."


@pytest.fixture
def study(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> ReaderStudy:
    """Twelve cases with images that two readers read elsewhere; the test itself runs the jobs."""
    monkeypatch.setattr(queueing, "nudge", lambda _public_id: None)
    study = make_study("Journey", n_cases=12, pixels=True, seed=5)
    cases = [case.revision.question.number for case in study.cases.order_by("number")]
    rows = [
        f"{reader},{case},{option},answered,{place},60,{20_000 + 500 * place}"
        for reader, said in READERS.items()
        for place, (case, option) in enumerate(zip(cases, said, strict=True), start=1)
    ]
    return read_elsewhere(study, rows)


@pytest.fixture
def page(browse: Browse, study: ReaderStudy, cora: User) -> Page:
    for name in MODELS:
        enter_model({"name": name}, actor=cora, at=NOON)
    return browse(cora)


def test_from_predictions_to_a_report_that_computes_itself_again(
    page: Page, study: ReaderStudy, tmp_path: Path
) -> None:
    for name, said in MODELS.items():
        send_predictions(page, name, predictions_of(study, said))
    close_study(page, "journey")
    work()
    look(page)
    before = accuracy_in(page, "Fair")
    read_the_heatmap(page)
    open_a_disagreement(page)
    void(page)
    analyse_again(page)
    compare_before_and_after(page, before)
    compute_again(export_report(page, tmp_path))


def work() -> None:
    """What a worker would do."""
    for job in Job.objects.filter(state=JobState.QUEUED).order_by("pk"):
        running.run(job.public_id, clock=timezone.now)
        job.refresh_from_db()
        assert job.state == JobState.SUCCEEDED, job.error


# --- predictions ----------------------------------------------------------------------------------
def predictions_of(study: ReaderStudy, said: str) -> bytes:
    lines = [
        {
            "id": str(case.revision.question.number),
            "pred_answer": "I cannot tell." if option == "x" else f"The answer is {option}.",
            "explanation": f"I see it in case {case.number}.",
        }
        for case, option in zip(study.cases.order_by("number"), said, strict=True)
    ]
    return "\n".join(json.dumps(line) for line in lines).encode()


def send_predictions(page: Page, name: str, content: bytes) -> None:
    page.goto("/models/")
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("link", name="Import predictions").first.click()
    page.set_input_files("[name=file]", FilePayload(name=f"{name}.jsonl", mimeType="text/plain", buffer=content))
    page.select_option("[name=target]", "study:journey")
    page.get_by_role("button", name="Check the file").click()
    expect(page.get_by_text("Nothing is stored yet")).to_be_visible()
    work()
    expect(page.get_by_text("Preview: nothing has been saved.")).to_be_visible()
    if name == "Poor":
        expect(page.get_by_role("heading", name="Answers without an option")).to_be_visible()
        expect(page.get_by_text("I cannot tell.")).to_be_visible()
    page.get_by_role("button", name="Store", exact=True).click()
    expect(page.get_by_text("The predictions are being stored.")).to_be_visible()
    work()
    expect(page.get_by_text("The predictions are stored as run 1.")).to_be_visible()


# --- the study ------------------------------------------------------------------------------------
def look(page: Page) -> None:
    """The first look says what it does, and unblinds."""
    page.goto("/studies/journey/")
    page.get_by_role("link", name="Results", exact=True).click()
    expect(page.get_by_role("heading", name="No results have been viewed yet")).to_be_visible()
    page.get_by_role("button", name="Show the results").click()
    expect(page.get_by_role("heading", name="Plan made after the readings")).to_be_visible()
    expect(page.get_by_text("Up to date")).to_be_visible()
    for figure in page.locator("figure img").all():
        expect_loaded(figure)


def expect_loaded(image: Locator) -> None:
    image.scroll_into_view_if_needed()
    expect(image).to_have_js_property("complete", True)
    assert image.evaluate("image => image.naturalWidth") > 0


def accuracy_in(page: Page, rater: str) -> str:
    """Over all questions, as the first column has it."""
    row = page.locator("section[aria-labelledby=accuracy-title] tbody tr").filter(has_text=rater)
    return row.locator("td").first.inner_text().split("\n")[0].replace("\N{NO-BREAK SPACE}", " ")


def read_the_heatmap(page: Page) -> None:
    """The mouse and the keyboard tell the same numbers of a cell."""
    page.get_by_role("navigation", name="Results").get_by_role("link", name="Agreement").click()
    title, card = page.locator("#card h2"), page.locator("#card-facts")
    rows = page.locator(".map.chosen .heatmap tbody tr")
    rows.nth(1).locator("td").nth(2).locator("a").hover()
    expect(title).to_have_text("R2 · Good")
    by_mouse = card.inner_text()
    assert "kappa, same option" in by_mouse
    page.mouse.move(0, 0)
    page.locator(".map.chosen .heatmap a[tabindex='0']").focus()
    expect(title).to_have_text("R1 · R2")
    page.keyboard.press("ArrowRight")
    expect(title).to_have_text("R1 · Good")
    page.keyboard.press("ArrowDown")
    expect(title).to_have_text("R2 · Good")
    assert card.inner_text() == by_mouse


def open_a_disagreement(page: Page) -> None:
    """Enter on the cell: the cases on which the two differ, each with its image, answers and explanation."""
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="4 cases with another option")).to_be_visible()
    case = page.get_by_role("article").filter(has=page.get_by_role("heading", name=f"Case {VOIDED}"))
    expect_loaded(case.locator("img").first)
    expect(case.get_by_role("listitem").filter(has_text="key")).to_contain_text("Good")
    expect(case.get_by_role("listitem").filter(has_text="R2")).to_contain_text("D")
    case.get_by_text("Explanation of Good").click()
    expect(case.get_by_text(f"I see it in case {VOIDED}.")).to_be_visible()


def void(page: Page) -> None:
    page.goto("/studies/journey/watch/")
    page.get_by_text("Void a case by its number").click()
    expect(page.get_by_text("Results were seen")).to_be_visible()
    form = page.locator("details form").filter(has=page.get_by_role("button", name="Void the case"))
    form.get_by_label("Case").fill(str(VOIDED))
    form.locator("[name=reason]").fill(REASON)
    form.get_by_role("button", name="Void the case").click()
    page.get_by_role("button", name=f"Void case {VOIDED}").click()
    expect(page.get_by_role("row").filter(has_text=REASON)).to_contain_text("a sensitivity analysis only")


def analyse_again(page: Page) -> None:
    page.goto("/studies/journey/results/")
    expect(
        page.get_by_text("Out of date: answers, voidings, predictions, raters or the rules of the program have changed")
    ).to_be_visible()
    page.get_by_role("link", name="Analyse again").click()
    page.get_by_role("button", name="Analyse", exact=True).click()
    work()
    page.goto("/studies/journey/results/")
    expect(page.get_by_text("Up to date")).to_be_visible()


def compare_before_and_after(page: Page, before: str) -> None:
    """The primary result stays as it was seen; without the case stands beside it, with its own n."""
    assert accuracy_in(page, "Fair") == before == "66.67 %"
    section = page.locator("section[aria-labelledby=variants-title]")
    row = section.locator("tbody tr").filter(has_text="Fair")
    expect(row.locator("td").nth(0)).to_contain_text("66.67 %")
    expect(row.locator("td").nth(0)).to_contain_text("n = 12")
    expect(row.locator("td").nth(1)).to_contain_text("72.73 %")
    expect(row.locator("td").nth(1)).to_contain_text("n = 11")
    left_out = page.locator("section[aria-labelledby=excluded-title]")
    expect(left_out).to_contain_text(f"Case {VOIDED}: {REASON}")
    expect(left_out).to_contain_text("after unblinding: kept in the primary result")


# --- the report -----------------------------------------------------------------------------------
def export_report(page: Page, folder: Path) -> Path:
    """The folder that a person has after unpacking."""
    page.get_by_role("navigation", name="Results").get_by_role("link", name="Report").click()
    page.get_by_role("button", name="Make the report").click()
    expect(page.get_by_text("The report is being made")).to_be_visible()
    work()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the ZIP").click()
    with ZipFile(download.value.path()) as archive:
        archive.extractall(folder)
    [script] = folder.rglob("recompute.py")
    return script.parent


def compute_again(folder: Path) -> None:
    """Far from this program: the script, public libraries, and the files of the report."""
    script = [sys.executable, "-I", "recompute.py"]
    done = subprocess.run(script, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip().endswith(" agree")
