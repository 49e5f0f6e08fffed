"""A model writes questions from reports, another checks them, and their prompt is changed by feedback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState
from annotation.enums import Flag, QuestionState
from annotation.models import (
    AnswerKey,
    Assignment,
    Finding,
    GenerationRun,
    PromptVersion,
    Question,
    QuestionBank,
    Review,
    Revision,
    User,
    ValidatorRun,
)
from annotation.review.ending import close_round
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from tests.annotation.endpoints.simulated_models import JUDGES, OBEYS_SCHEMA
from tests.annotation.generation.made import FINDINGS, IMPRESSION
from tests.annotation.rounds.made import say, theirs
from tests.browser.entering import Browse
from tests.browser.journeys.conftest import Worker
from tests.browser.journeys.steps import ENDPOINT, KEY, permit, reports_of, see, state_terms
from tests.browser.review.test_journey import BLIND, JUDGE, commit, press

N_REPORTS = 8


@pytest.fixture
def reports(transactional_db: None, tmp_path: Path, settings: Settings) -> QuestionBank:
    """Eight exams with a report and images, and an imported question each."""
    settings.TEMP_ROOT = tmp_path
    return reports_of(N_REPORTS, tmp_path)


def test_questions_are_made_checked_and_their_prompt_is_changed(
    browse: Browse, worker: Worker, reports: QuestionBank, ada: User, cora: User, rita: User
) -> None:
    administrator, coordinator, reviewer = browse(ada), browse(cora), browse(rita)
    state_terms(coordinator, reports)
    permit(administrator, reports, "questions", "images", "reports")
    made = generate(coordinator)
    followed = ask_validators(coordinator, made)
    follow(coordinator, followed)
    review_first(reviewer, made, followed, cora)
    accepted = Question.objects.get(pk=followed.question_id)
    assert accepted.state == QuestionState.ACCEPTED
    write_next_version(coordinator, made.questions_prompt)


def generate(page: Page) -> GenerationRun:
    """By the command, since no page begins it; the page of the run tells how far it is."""
    asked = ("--bank", "Reports", "--exams", str(N_REPORTS), "--per-exam", "2", "--seed", "7")
    call_command("generate_questions", *asked, "--endpoint", ENDPOINT, "--model", OBEYS_SCHEMA, verbosity=0)
    page.goto("/banks/reports/generated/")
    page.locator("main table a").first.click()
    see(page, "Draw a sample to review")
    run = GenerationRun.objects.get()
    assert run.n_made >= N_REPORTS
    return run


def ask_validators(page: Page, run: GenerationRun) -> Revision:
    """All three; a question that c3 fails, with the reason on the page of the validator."""
    page.goto("/banks/reports/validators/")
    page.select_option("[name=check]", label="c1, c2 and c3")
    page.fill("[name=model]", JUDGES)
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("Started:")).to_be_visible()
    for _again in range(150):
        page.goto("/banks/reports/validators/c3/")
        found = Finding.objects.open().filter(rule="c3", verdict="fail", revision__bank_import=run.bank_import)
        if not ValidatorRun.objects.exclude(batch__state=BatchState.COMPLETE).exists() and found.exists():
            break
        page.wait_for_timeout(200)
    page.reload()
    expect(page.get_by_text("Simulated (fail)").first).to_be_visible()
    expect(page.get_by_text("not tested").first).to_be_visible()
    return found.select_related("revision__question").order_by("pk")[0].revision


def follow(page: Page, revision: Revision) -> None:
    """From the sentence of the report to the key, and what the validators say of it."""
    page.goto(f"/banks/reports/{revision.question.number}/")
    origin = page.locator("section, div").filter(has=page.get_by_role("heading", name="Written by a model")).last
    expect(origin.locator(".tag.good")).to_have_text("key")
    quote = origin.locator("q").first.inner_text().strip("“”")
    assert quote in FINDINGS + " " + IMPRESSION
    expect(page.get_by_text("Simulated (fail)").first).to_be_visible()


def review_first(page: Page, run: GenerationRun, followed: Revision, cora: User) -> None:
    """One question by keyboard, with a comment; the others by code. Nothing is wrong with the one that was followed."""
    rows = Revision.objects.filter(bank_import=run.bank_import).values_list("question__number", flat=True)
    sample = draw_sample(run.bank, name="First", per_thousand=1000, numbers=rows, actor=cora, at=timezone.now())
    rita = User.objects.get(name="Rita")
    made = create_round(sample, name="First", reviewers=[rita], actor=cora, at=timezone.now())
    open_round(made, actor=cora, at=timezone.now())
    by_keyboard(page, "first", comment="Two options fit.")
    for one in theirs(rita):
        if not Review.objects.filter(assignment=one).exists():
            flags = [] if one.revision_id == followed.pk else [Flag.SEVERAL_VALID]
            say(one, best=key_of(one), flags=flags, comment="More than one option fits." if flags else "")
    close_round(made, actor=cora, at=timezone.now())


def by_keyboard(page: Page, slug: str, *, comment: str = "") -> None:
    """The first open question of a round: the answer is the key, nothing is wrong."""
    page.goto(f"/review/rounds/{slug}/continue/")
    expect(page.locator(BLIND)).to_be_visible()
    page.wait_for_load_state("load")
    expect(page.locator(".viewer-stage")).to_be_visible()
    for word in ("stand-in", "Simulated (", "questions from findings"):
        assert word not in page.content()
    place = page.locator(".case-place").inner_text()
    page.keyboard.press("1")
    press(page, "e")
    commit(page)
    expect(page.locator(JUDGE)).to_be_visible()
    if page.locator("[data-row][data-field=disagreement]").count():
        press(page, "2")
    press(page, "5", "5", "4", "5", "1", "1", "a")
    if comment:
        press(page, "t")
        page.keyboard.type(comment)
        press(page, "Escape")
    commit(page, "Control+Enter")
    expect(page.locator(".case-place")).not_to_have_text(place)
    page.goto("/")


def key_of(assignment: Assignment) -> str:
    return AnswerKey.objects.get(revision=assignment.revision).key


def write_next_version(page: Page, first: PromptVersion) -> None:
    """The comments that are ticked stand in the reason, a person writes the text, and the history tells both."""
    page.goto(f"/prompts/{first.public_id}/")
    page.get_by_role("link", name="Comments of reviewers").click()
    page.locator("[name=quote]").first.check()
    page.get_by_role("button", name="Write a new version with these").click()
    expect(page.locator("[name=reason]")).to_have_value(re.compile("option"))
    page.fill("[name=text]", f"{first.text}\n\nNever offer what is merely not mentioned.")
    page.get_by_role("button", name="Store the version").click()
    page.get_by_role("link", name="History").click()
    expect(page.get_by_role("row").filter(has_text="More than one option fits.")).to_be_visible()
    assert KEY not in page.content()
