"""From an invitation to a corrected bank elsewhere: two reviewers, one adjudicator and a coordinator."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django import Settings

from annotation.enums import QuestionState, Role
from annotation.exports.bank_export import BankChoice, BankForm, export_bank
from annotation.models import Image, Question, QuestionBank, Review, ReviewRound, User
from annotation.people.invitations import Grant, invite
from annotation.questionbank.editing import current_revision, wording_of
from annotation.review.assigning import assign_round
from annotation.review.ending import close_round
from annotation.review.round_design import RoundDesign
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import NOON
from tests.annotation.review.pixels import give_pixels_to
from tests.annotation.rounds.made import make_sample, say, theirs
from tests.browser.entering import Browse
from tests.browser.review.test_journey import BLIND, answer, commit, press
from tests.browser.translating import is_told, is_untouched, translate, translate_all_the_same
from tests.conftest import make_person

NEW_STEM = "Which of these findings is absent on both radiographs?"
REASON = "Two options fitted one view."


@pytest.fixture
def spring(transactional_db: None, tmp_path: Path, settings: Settings, cora: User) -> ReviewRound:
    """Two imported questions; their reviewers, not assigned yet, first judge one question that an expert has judged."""
    settings.TEMP_ROOT = tmp_path
    design = RoundDesign(shared_answers=_closed(make_person("Elke"), cora), pass_mark=70)
    run_import(write_file(tmp_path / "in", {f"own-{n}": make_record(n, exam=n) for n in (1, 2)}), bank="Chest")
    give_pixels_to(zip(Image.objects.all(), range(Image.objects.count()), strict=True))
    plan = draw_sample(QuestionBank.objects.get(name="Chest"), name="Spring", per_thousand=1000, actor=cora, at=NOON)
    return create_round(plan, name="Spring", reviewers=[], reviewers_per_question=2, design=design, actor=cora, at=NOON)


def _closed(expert: User, cora: User) -> ReviewRound:
    made = create_round(make_sample(1, name="Calibration"), name="Shared", reviewers=[expert], actor=cora, at=NOON)
    open_round(made, actor=cora, at=NOON)
    for one in theirs(expert):
        say(one, comment="EXPERT-WORDS")
    close_round(made, actor=cora, at=NOON)
    return made


@pytest.mark.journey
def test_a_disputed_question_is_rewritten_reviewed_again_and_given_back(
    browse: Browse, spring: ReviewRound, cora: User, rita: User, tmp_path: Path
) -> None:
    judy = make_person("Judy")
    newcomer, colleague, coordinator, adjudicator = browse(), browse(rita), browse(cora), browse(judy)
    remo = accept_invitation(newcomer, spring, cora)
    assign_round(spring, [rita, remo], actor=cora, at=NOON)
    open_round(spring, actor=cora, at=NOON)
    calibrate(newcomer)
    let_in(coordinator, colleague)
    disputed = doubt(newcomer, remo)
    agree(colleague, rita)
    begin(coordinator, "Judy")
    judge(adjudicator)
    rewrite(adjudicator)
    fresh = make_fresh_round(coordinator)
    review_again(fresh, cora)
    end(coordinator, fresh)
    in_chest = Question.objects.filter(bank__name="Chest")
    assert list(in_chest.values_list("state", flat=True)) == [QuestionState.ACCEPTED] * 2
    history(coordinator, disputed)
    files = take_away(coordinator)
    assert [(row["id"], row["after"], row["why"], row["round"]) for row in files.changes] == [
        (f"own-{disputed.number}", NEW_STEM, REASON, "Spring")
    ]
    import_elsewhere(files.questions, tmp_path)


def accept_invitation(page: Page, spring: ReviewRound, cora: User) -> User:
    """A link to this round alone makes an account, which then is at home."""
    issued = invite(Grant(Role.REVIEWER, spring), email="remo@example.org", name="Remo", actor=cora, at=timezone.now())
    page.goto(f"/invitation/{issued.token}/")
    for label in ("Password", "Repeat password"):
        page.get_by_label(label, exact=True).fill("another staple 77")
    page.get_by_role("button", name="Create account").click()
    expect(page.get_by_text("When a round opens with questions for you, they appear here.")).to_be_visible()
    return User.objects.get(email="remo@example.org")


def case_is_there(page: Page) -> None:
    expect(page.locator(BLIND)).to_be_visible()
    page.wait_for_load_state("load")  # its scripts take keys from now on
    expect(page.locator(".viewer-stage")).to_be_visible()


def calibrate(page: Page) -> None:
    """What the expert said shows only with the result."""
    page.goto("/review/rounds/spring/")
    page.get_by_role("link", name="To the calibration").click()
    page.get_by_role("button", name="Begin the calibration").click()
    case_is_there(page)
    answer(page, "2", "e")
    assert "EXPERT-WORDS" not in page.content()
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    expect(page.locator(".head .tag")).to_have_text("passed")
    expect(page.get_by_text("You agree with the shared answers in 5 of 5 judgements")).to_be_visible()
    expect(page.get_by_text("EXPERT-WORDS")).to_be_visible()


def let_in(coordinator: Page, reviewer: Page) -> None:
    """Who has not passed begins when a coordinator says so, with a reason."""
    reviewer.goto("/review/rounds/spring/")
    expect(reviewer.get_by_role("link", name="Start")).to_have_count(0)
    coordinator.goto("/rounds/spring/")
    row = coordinator.get_by_role("row").filter(has=coordinator.get_by_text("not begun"))
    row.get_by_text("Let in", exact=True).click()
    row.get_by_label("Reason").fill("Wrote the textbook.")
    row.get_by_role("button", name="Let in without passing").click()
    expect(coordinator.get_by_text("Rita may review in this round now.")).to_be_visible()


def doubt(page: Page, remo: User) -> Question:
    """Another answer than the key, a reasoned "revise" by keyboard; the other question by code."""
    page.get_by_role("link", name="To the questions of the round").click()
    page.get_by_role("link", name="Start").click()
    case_is_there(page)
    answer(page, "3", "e")
    press(page, "1", "3", "4", "4", "4", "1", "1", "v", "y")
    page.keyboard.type("REMO-WORDS")
    press(page, "Escape")
    commit(page, "Control+Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 2")
    page.goto("/")
    review = Review.objects.get(assignment__round__slug="spring", assignment__reviewer=remo)
    for one in theirs(remo):
        if one.round.slug == "spring" and one.pk != review.assignment_id:
            say(one)
    return review.assignment.revision.question


def agree(page: Page, rita: User) -> None:
    page.reload()
    page.get_by_role("link", name="Start").click()
    case_is_there(page)
    assert "REMO-WORDS" not in page.content()
    answer(page, "2", "e")
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    expect(page.locator(".case-place")).to_have_text("2 / 2")
    page.goto("/")
    for one in theirs(rita):
        if not Review.objects.filter(assignment=one).exists():
            say(one)


def begin(page: Page, name: str) -> None:
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="End the independent reviews").click()
    expect(page.get_by_text("blind answers differ; verdict “revise”; flag “key wrong")).to_be_visible()
    expect(page.get_by_role("button", name="Begin adjudication", exact=True)).to_be_disabled()
    page.get_by_label("Adjudicator").select_option(label=f"{name} ({name.lower()}@example.org)")
    page.get_by_role("button", name="Add and begin adjudication").click()
    expect(page.get_by_text(f"{name} adjudicates this round.")).to_be_visible()


def judge(page: Page) -> None:
    """The own answer and judgement by keyboard, in the form of the reviewers; nothing of the others shows before."""
    page.goto("/")
    page.get_by_role("button", name="Adjudicate").click()
    case_is_there(page)
    assert "REMO-WORDS" not in page.content()
    answer(page, "2", "e")
    assert "REMO-WORDS" not in page.content()
    press(page, "5", "5", "4", "5", "1", "1", "a", "Enter")
    expect(page.get_by_role("heading", name="Reviews")).to_be_visible()
    expect(page.get_by_text("REMO-WORDS")).to_be_visible()
    expect(page.get_by_role("button", name="Decide")).to_be_in_viewport(ratio=1)
    assert "Remo" not in page.inner_text("main")
    translate(page)
    is_untouched(page)
    translate_all_the_same(page)
    is_told(page)
    page.reload()
    is_untouched(page)


def rewrite(page: Page) -> None:
    page.get_by_role("link", name="Write the revision").click()
    page.get_by_label("Question", exact=True).fill(NEW_STEM)
    page.get_by_label("Reason for the change").fill(REASON)
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("dl.changes ins").first).to_be_visible()
    page.get_by_role("button", name="Store the revision").click()
    expect(page.get_by_text("Revision 2 is stored.")).to_be_visible()
    expect(page.locator("#decision-title + p")).to_contain_text("needs revision")


def make_fresh_round(page: Page) -> ReviewRound:
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="Review the revised question again").click()
    expect(page.get_by_role("heading", name="Spring, revised 1")).to_be_visible()
    return ReviewRound.objects.get(slug="spring-revised-1")


def review_again(fresh: ReviewRound, cora: User) -> None:
    """Two people who have not seen the question agree on it."""
    fresh_eyes = [make_person(name, Role.REVIEWER) for name in ("Nora", "Nils")]
    assign_round(fresh, fresh_eyes, actor=cora, at=NOON)
    open_round(fresh, actor=cora, at=NOON)
    for person in fresh_eyes:
        for one in theirs(person):
            say(one)


def end(page: Page, fresh: ReviewRound) -> None:
    page.goto(f"/rounds/{fresh.slug}/")
    page.get_by_role("button", name="End the independent reviews").click()
    expect(page.get_by_text("Every reviewed question is settled: close the round.").first).to_be_visible()
    page.get_by_role("button", name="Close the round").click()
    expect(page.get_by_text("The round is closed.")).to_be_visible()
    page.goto("/rounds/spring/")
    page.get_by_role("button", name="Close the round").click()
    expect(page.get_by_text("The round is closed.")).to_be_visible()


def history(page: Page, question: Question) -> None:
    """The question tells who changed it, why, and by which words."""
    page.goto(f"/banks/chest/{question.number}/")
    expect(page.locator(".head .tag").first).to_have_text("accepted")
    written = page.locator("ol.history > li").filter(has_text="Revision 2 was written in the adjudication of “Spring”.")
    expect(written).to_contain_text(REASON)
    expect(written.locator("dl.changes ins").first).to_be_visible()


class Taken(NamedTuple):
    questions: bytes
    changes: list[dict[str, str]]


def take_away(page: Page) -> Taken:
    """The corrected bank, by the button on its page, in the form in which it came."""
    page.goto("/banks/chest/")
    page.get_by_text("Export the bank").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        changes = io.StringIO(archive.read("chest/changes.csv").decode("utf-8-sig"))
        return Taken(archive.read("chest/questions.json"), list(csv.DictReader(changes)))


def import_elsewhere(questions: bytes, folder: Path) -> None:
    """Another bank says word by word the same, and gives back the same bytes but for what reviews decided here."""
    path = folder / "questions.json"
    path.write_bytes(questions)
    assert run_import(path, bank="Elsewhere").stored
    banks = [QuestionBank.objects.get(name=name) for name in ("Chest", "Elsewhere")]
    said = [[wording_of(current_revision(one)) for one in Question.objects.filter(bank=bank)] for bank in banks]
    assert said[0] == said[1]
    assert NEW_STEM in [wording.stem for wording in said[1]]
    export_bank(banks[1], BankChoice(BankForm.REXVQA), folder / "elsewhere", actor=None, at=NOON)
    assert b'"review_state": "accepted"' in questions, "each record carries its state"
    without_states = re.sub(rb',\s*"review_state": "\w+"', b"", questions)
    assert (folder / "elsewhere" / "questions.json").read_bytes() == without_states
