"""From twelve reports to a release with a private split, by pages: from the plan of the generation to the ZIP."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from annotation.enums import Flag
from annotation.models import GenerationRun, Question, QuestionBank, Release, ReleasedQuestion, Revision, User
from annotation.review.ending import close_round
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.generation.made import FINDINGS
from tests.annotation.questionbank.files import run_import
from tests.annotation.rounds.made import say, theirs
from tests.browser.entering import Browse
from tests.browser.journeys.conftest import Worker
from tests.browser.journeys.steps import permit, reports_of, see, state_terms
from tests.browser.journeys.test_questions_from_reports import key_of

N_REPORTS = 12
NAMED = "Dr. Anna Berger was told at 4 pm. "


@pytest.fixture
def reports(transactional_db: None, tmp_path: Path, settings: Settings) -> QuestionBank:
    """Twelve exams with images; the report of one names a person."""
    settings.TEMP_ROOT = tmp_path
    return reports_of(N_REPORTS, tmp_path, Findings=NAMED + FINDINGS)


def test_what_a_model_wrote_and_people_accepted_is_released(
    browse: Browse, worker: Worker, reports: QuestionBank, ada: User, cora: User, rita: User, tmp_path: Path
) -> None:
    administrator, coordinator = browse(ada), browse(cora)
    state_terms(coordinator, reports)
    permit(administrator, reports, "reports")
    written = generate(coordinator)
    set_gate(coordinator)
    rejected = review(written, cora, rita)
    release(coordinator, n=len(written) - 1, n_out=N_REPORTS + 1)
    made = Release.objects.get()
    assert not ReleasedQuestion.objects.filter(release=made, revision=rejected).exists()
    read_back(take(coordinator), tmp_path, len(written) - 1)


def generate(page: Page) -> list[Revision]:
    """The report that names a person is held back with the place marked, then masked."""
    page.goto("/banks/reports/generated/")
    page.fill("[name=exams]", str(N_REPORTS))
    page.fill("[name=model]", OBEYS_SCHEMA)
    page.fill("[name=per_exam]", "2")
    page.get_by_role("button", name="Plan", exact=True).click()
    expect(page.locator("mark").first).to_contain_text("Anna Berger")
    page.get_by_role("button", name="Mask the marked places and plan again").click()
    page.get_by_role("button", name="Start").click()
    see(page, "Draw a sample to review")
    written = list(
        Revision.objects.filter(bank_import=GenerationRun.objects.get().bank_import).order_by("question__number")
    )
    assert len(written) >= N_REPORTS // 2
    return written


def set_gate(page: Page) -> None:
    page.goto("/banks/reports/validators/")
    for part in ("identifiers", "expert"):
        page.check(f"[name=parts][value={part}]")
    page.fill("[name=name]", "Release")
    page.get_by_role("button", name="Set the gate").click()
    expect(page.get_by_text("fail the gate and are drawn into no new sample")).to_be_visible()


def review(written: list[Revision], cora: User, rita: User) -> Revision:
    """All are accepted but the first, which has two right options."""
    bank, numbers, now = written[0].bank, [one.question.number for one in written], timezone.now()
    sample = draw_sample(bank, name="First", per_thousand=1000, numbers=numbers, actor=cora, at=now)
    made = create_round(sample, name="First", reviewers=[rita], actor=cora, at=now)
    open_round(made, actor=cora, at=now)
    for one in theirs(rita):
        flags = [Flag.SEVERAL_VALID] if one.revision_id == written[0].pk else []
        say(one, best=key_of(one), flags=flags, comment="A second option fits." if flags else "")
    close_round(made, actor=cora, at=timezone.now())
    assert Question.objects.get(pk=written[0].question_id).state != "accepted"
    return written[0]


def release(page: Page, *, n: int, n_out: int) -> None:
    """First what would be, with what stays out; then the release."""
    page.goto("/banks/reports/releases/")
    page.fill("[name=name]", "First release")
    for split, share in {"train": 40, "valid": 20, "test": 20, "private": 20}.items():
        page.fill(f"[name={split}]", str(share))
    page.get_by_role("button", name="Show what would be released").click()
    counts = page.get_by_role("row", name="Questions").locator("td").all_inner_texts()
    assert [sum(map(int, counts[:-1])), int(counts[-1])] == [n, n]
    expect(page.get_by_text(f"{n_out} questions do not pass the gate")).to_be_visible()
    page.get_by_role("button", name="Release this").click()
    expect(page.get_by_text("“First release” is released.")).to_be_visible()


def take(page: Page) -> bytes:
    """Written with images in the background, then downloaded."""
    page.get_by_text("Write it with images").click()
    page.get_by_role("button", name="as stored").click()
    see(page, "Show the result")
    page.goto("/banks/reports/releases/")
    with page.expect_download() as download:
        page.get_by_role("button", name="With images (ZIP").click()
    return Path(download.value.path()).read_bytes()


def read_back(content: bytes, folder: Path, n: int) -> None:
    """The private split tells no answer; the others come in again as they are."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(folder / "out")
    files = {path.name: json.loads(path.read_text()) for path in (folder / "out").rglob("metadata/*.json")}
    private = next(records for name, records in files.items() if "private" in name)
    assert sum(map(len, files.values())) == n
    assert private
    told = json.dumps(list(private.values()) if isinstance(private, dict) else private)
    assert not any(word in told for word in ("correct_answer", "explanation", FINDINGS[:40]))
    for name in files.keys() - {one for one in files if "private" in one}:
        path = next((folder / "out").rglob(f"metadata/{name}"))
        if files[name]:
            result = run_import(path, bank="Read back")
            assert (result.rejected, result.stored) == (0, True)
    back = Revision.objects.filter(bank__name="Read back").values_list("stem", "options")
    again = {(stem, tuple(options)) for stem, options in back}
    here = ReleasedQuestion.objects.exclude(split="private").values_list("revision__stem", "revision__options")
    assert again == {(stem, tuple(options)) for stem, options in here}
