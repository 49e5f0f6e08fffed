"""Steps of several journeys: a study read elsewhere and closed, reports of a bank, and leave to send them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import Image, QuestionBank
from readerstudy.models import ReaderStudy
from readerstudy.reading.response_import import import_responses
from tests.annotation.generation.made import FINDINGS, IMPRESSION
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import NOON
from tests.annotation.review.pixels import give_pixels_to

ENDPOINT, KEY = "stand-in", "planted-key-4711-abcdef"
TERMS = "The images stay with whoever signed. Models may be asked that keep nothing."


def see(page: Page, text: str, *, seconds: float = 30) -> None:
    """Load the page again until this stands there; the key stands nowhere."""
    for _again in range(int(seconds * 5)):
        if page.get_by_text(text).count():
            break
        page.wait_for_timeout(200)
        page.reload()
    expect(page.get_by_text(text).first).to_be_visible()
    assert KEY not in page.content()


def state_terms(page: Page, bank: QuestionBank) -> None:
    page.goto(f"/banks/{bank.slug}/sending/terms/")
    page.fill("[name=terms]", TERMS)
    page.locator("main form button.primary").click()
    expect(page.get_by_text("The terms are stored.")).to_be_visible()


def permit(page: Page, bank: QuestionBank, *what: str) -> None:
    page.goto(f"/banks/{bank.slug}/sending/permit/")
    expect(page.locator(".terms")).to_have_text(TERMS)
    for name in (*what, "accepted"):
        page.check(f"[name={name}]")
    page.fill("[name=reason]", "Figures of a paper.")
    page.fill("[name=agreement]", "Contract 12 of 2026.")
    page.fill("[name=expires_at]", (timezone.now() + timedelta(days=90)).date().isoformat())
    page.get_by_role("button", name="Permit").click()
    expect(page.get_by_text("“stand-in” may be sent what you chose.")).to_be_visible()


def read_elsewhere(study: ReaderStudy, rows: Iterable[str]) -> ReaderStudy:
    sheet = "\n".join(["reader,case,option,state,position,confidence,active_ms", *rows])
    result = import_responses(study, name="read.csv", content=sheet.encode(), actor=None, at=NOON)
    assert result.stored, result.problems
    return study


def confirm(page: Page) -> None:
    """Pages that ask back have one button that says yes."""
    sure = page.locator("form:has([name=confirmed]) button")
    if sure.count():
        with page.expect_navigation():
            sure.click()


def close_study(page: Page, slug: str) -> None:
    page.goto(f"/studies/{slug}/watch/")
    with page.expect_navigation():
        page.get_by_role("button", name="Close the study").click()
    confirm(page)
    page.goto(f"/studies/{slug}/")
    expect(page.locator("main .tag").first).to_have_text("closed")


def reports_of(n: int, folder: Path, **first: str) -> QuestionBank:
    """Exams with a report and images, and an imported question each; ``first``: what the first has instead."""
    records = {f"q_{one}": make_record(one, one, Findings=FINDINGS, Impression=IMPRESSION) for one in range(1, n + 1)}
    records["q_1"] |= first
    run_import(write_file(folder / "in", records), bank="Reports")
    give_pixels_to((image, one) for one, image in enumerate(Image.objects.order_by("pk")))
    return QuestionBank.objects.get(name="Reports")
