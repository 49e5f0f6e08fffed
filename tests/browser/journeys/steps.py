"""What stands before anything is sent: the terms of a bank and a permission, given on their pages."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.models import QuestionBank

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
