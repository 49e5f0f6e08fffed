"""Selecting many questions of a bank with the mouse, one act about them, its outcome in the list, and undoing it."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.enums import JobState, QuestionState
from annotation.jobs import queueing, running
from annotation.models import Job, Question, QuestionTag, User
from annotation.views.questionbank import chosen
from tests.annotation.review.cases import make_bank, make_revisions
from tests.browser.entering import Browse
from tests.browser.screenshots import SIZES, keep


def withdrawn() -> int:
    return Question.objects.filter(state=QuestionState.WITHDRAWN).count()


def begin(page: Page, act: str) -> None:
    page.get_by_role("button", name=act, exact=True).click()


def test_all_that_match_are_selected_changed_and_brought_back(
    browse: Browse, cora: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = make_bank("Chest")
    make_revisions(bank, {number: {"category": "Heart" if number % 5 else "Lung"} for number in range(1, 71)})
    page = browse(cora)
    page.goto("/banks/chest/")

    boxes = page.locator("input[name=number]")
    boxes.nth(1).click()
    boxes.nth(4).click(modifiers=["Shift"])
    begin(page, "Withdraw")
    expect(page.get_by_text("4 questions are selected.")).to_be_visible()
    page.get_by_label("Reason").fill("an old model wrote them")
    page.get_by_role("button", name="Withdraw the questions").click()
    expect(page.get_by_text("4 questions are withdrawn.")).to_be_visible()

    page.get_by_label("Category").select_option("Heart")
    page.get_by_label("all 56 that match").check()
    begin(page, "Withdraw")
    expect(page.get_by_text("56 questions are selected.")).to_be_visible()
    keep(page, "bank-chosen", *SIZES)
    page.get_by_label("Reason").fill("another model wrote them")
    page.get_by_role("button", name="Withdraw the questions").click()
    expect(page.get_by_text("53 questions are withdrawn.")).to_be_visible()
    expect(page.get_by_text("3 were withdrawn before:")).to_be_visible()
    expect(page.get_by_role("link", name="Category: Heart")).to_be_visible()
    keep(page, "bank-withdrawn", *SIZES)
    page.get_by_role("link", name="4", exact=True).first.click()
    page.go_back()
    page.get_by_role("button", name="Bring these back").click()
    expect(page.get_by_text("53 questions are back.")).to_be_visible()
    assert withdrawn() == 4

    monkeypatch.setattr(chosen, "AT_ONCE", 50)
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    page.get_by_label("all questions of the bank").check()
    begin(page, "Tag")
    expect(page.get_by_text("So many questions are changed in the background")).to_be_visible()
    page.get_by_label("Tag").fill("Course 2026")
    keep(page, "bank-chosen-many", *SIZES)
    page.get_by_role("button", name="Tag the questions").click()
    expect(page.get_by_text("Waiting for a worker.")).to_be_visible()
    keep(page, "bank-job-waits", *SIZES)
    running.run(Job.objects.get(state=JobState.QUEUED).public_id, clock=timezone.now)
    expect(page.get_by_text("70 questions are tagged.")).to_be_visible()
    keep(page, "bank-job-done", *SIZES)
    page.get_by_role("button", name="Take the tag away from these").click()
    expect(page.get_by_text("Waiting for a worker.")).to_be_visible()
    running.run(Job.objects.get(state=JobState.QUEUED).public_id, clock=timezone.now)
    expect(page.get_by_text("The tag is taken away from 70 questions.")).to_be_visible()
    assert not QuestionTag.objects.standing().exists()
