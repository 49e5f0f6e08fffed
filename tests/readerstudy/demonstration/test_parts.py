"""What is made for the demonstration by ordinary acts: models at work, versions of a prompt, a leaderboard.

All of it is labelled simulated, and made once.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.demonstration.building import add_people
from annotation.demonstration.simulated_exams import EXAMS
from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.sending_permissions import permission_in_force
from annotation.endpoints.simulated_endpoint import SIMULATED, WRITER, port_file
from annotation.jobs import queueing
from annotation.model_calls.asking import Clock, ask_endpoint
from annotation.model_calls.probing import take_lease
from annotation.models import (
    CallBatch,
    EndpointProbe,
    Finding,
    GenerationRun,
    Image,
    ModelCall,
    Price,
    PromptVersion,
    QuestionBank,
    Review,
    ReviewRound,
    User,
)
from annotation.outcomes.prompt_flags import prompt_flags
from annotation.outcomes.prompt_line import prompt_line
from readerstudy.demonstration import models_at_work, private_test, prompt_iterations
from readerstudy.demonstration.models_at_work import add_models_at_work
from readerstudy.demonstration.private_test import MEMBER, NAME, add_leaderboard
from readerstudy.demonstration.prompt_iterations import CHANGES, PROMPT, add_prompt_iterations
from readerstudy.enums import SubmissionWay
from readerstudy.leaderboard import benchmarks
from readerstudy.leaderboard.edition_scoring import verify
from readerstudy.leaderboard.editions import folder_here
from readerstudy.leaderboard.public_board import files_of
from readerstudy.models import Benchmark, EditionResult, ModelRun, PredictionRun, Submission
from tests.annotation.review.cases import NOON, make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.check]


@pytest.fixture
def bank(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuestionBank:
    """Two exams whose images come again as small pictures."""
    settings.DEMO, settings.HOME = True, tmp_path
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    add_people(at=NOON - timedelta(days=300))
    bank = make_bank("Demonstration")
    bank.simulated = True
    bank.save()
    make_revisions(bank, {1: {}, 2: {}})
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    return bank


def build(add: Callable[..., None], bank: QuestionBank, folder: Path) -> None:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total

    cora = User.objects.get(email="cora@demo.example")
    add(bank, exams=EXAMS[1:3], folder=folder / "files", coordinator=cora, at=NOON, tell=tell)


# --- models at work -------------------------------------------------------------------------------
def test_a_probe_a_run_and_made_questions_are_there(bank: QuestionBank, tmp_path: Path) -> None:
    build(add_models_at_work, bank, tmp_path)
    own = QuestionBank.objects.get(name=models_at_work.BANK)
    assert own.simulated
    run = ModelRun.objects.get(batch__images=SentImages.ALL)
    assert "imulated" in run.entry.name
    variant = ModelRun.objects.get(batch__images=SentImages.NONE)
    assert (variant.batch.state, variant.entry) == (BatchState.COMPLETE, run.entry)
    assert (run.batch.state, run.batch.n_calls, run.batch.model) == (BatchState.COMPLETE, 10, WRITER)
    calls = ModelCall.objects.filter(batch=run.batch)
    assert {(call.outcome, len(call.pictures or ())) for call in calls} == {(CallOutcome.ANSWERED, 1)}
    assert all(call.cost for call in calls)
    assert (run.estimate or {})["cost"]
    assert PredictionRun.objects.get().bank == own
    generation = GenerationRun.objects.filter(bank=own).order_by("pk")[0]
    verdicts = Finding.objects.filter(bank=own, rule="c3").exclude(call=None)
    assert set(verdicts.values_list("verdict", flat=True)) >= {"pass", "fail"}
    assert generation.finished_at is not None
    assert generation.finished_at <= NOON
    assert generation.n_made > 0
    assert EndpointProbe.objects.get().model == WRITER
    for one in (bank, own):
        permission = permission_in_force(one, SIMULATED, at=NOON, images=True, reports=True)
        assert permission.reason == "demonstration"
        assert permission.given_by == User.objects.get(email="ada@demo.example")
    assert not port_file().exists()
    assert endpoints() == ()

    def stored() -> list[int]:
        kinds = (CallBatch, ModelCall, EndpointProbe, Price, PredictionRun, Image, Finding, PromptVersion)
        return [one.objects.count() for one in kinds]

    before = stored()
    build(add_models_at_work, bank, tmp_path)
    assert stored() == before


@pytest.mark.parametrize("n_asked", [0, 1, 3, 5, 6])
def test_a_build_that_was_broken_off_is_taken_up(
    bank: QuestionBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_asked: int
) -> None:
    """Wherever it was killed: the lease that it held is no hindrance."""
    asked: list[str] = []

    def killed(name: str, *, clock: Clock) -> bool:
        if len(asked) == n_asked:
            take_lease(SIMULATED, "killed", at=NOON)
            raise KeyboardInterrupt
        asked.append(name)
        return ask_endpoint(name, clock=clock)

    monkeypatch.setattr(models_at_work, "ask_endpoint", killed)
    with pytest.raises(KeyboardInterrupt):
        build(add_models_at_work, bank, tmp_path)
    monkeypatch.setattr(models_at_work, "ask_endpoint", ask_endpoint)
    build(add_models_at_work, bank, tmp_path)
    assert set(CallBatch.objects.values_list("state", flat=True)) == {BatchState.COMPLETE}
    assert (ModelRun.objects.count(), PredictionRun.objects.count()) == (2, 1)
    assert set(GenerationRun.objects.values_list("finished_at", flat=True)) == {NOON - timedelta(hours=1)}
    assert GenerationRun.objects.count() == 1


# --- the leaderboard ------------------------------------------------------------------------------
@pytest.fixture
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are enough for a leaderboard here."""
    monkeypatch.setattr(private_test, "FEWEST_IN_BENCHMARK", 1)
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 1)
    monkeypatch.setattr(private_test, "SHARE", 4)


def test_two_editions_are_published_and_verified_and_nothing_is_made_twice(
    bank: QuestionBank, tmp_path: Path, few_questions: None
) -> None:
    build(add_leaderboard, bank, tmp_path)
    made = Benchmark.objects.get(name=NAME)
    assert [one.entries.count() for one in made.editions.all()] == [3, 5]
    assert [one.published_at is not None for one in made.editions.all()] == [True, True]
    assert Submission.objects.filter(way=SubmissionWay.HERE).count() == 1
    assert made.teams.filter(members__user__email=MEMBER).count() == 1
    assert verify(made, folder_here(made), at=NOON) == []
    pages = [content for name, content in files_of(made, on=NOON.date()).items() if name.endswith(".html")]
    assert all(b"Simulated" in page for page in pages)

    build(add_leaderboard, bank, tmp_path)
    assert (Submission.objects.count(), EditionResult.objects.count()) == (5, 2)


def test_few_chests_make_no_leaderboard(bank: QuestionBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_test, "FEWEST_IN_BENCHMARK", 300)
    build(add_leaderboard, bank, tmp_path)
    assert not Benchmark.objects.exists()


# --- versions of a prompt -------------------------------------------------------------------------
def test_each_version_names_what_was_found_in_the_one_before(bank: QuestionBank, tmp_path: Path) -> None:
    def stored() -> list[int]:
        build(add_prompt_iterations, bank, tmp_path)
        return [one.objects.count() for one in (PromptVersion, ReviewRound, Review)]

    first = stored()
    versions = list(PromptVersion.objects.filter(name=PROMPT).order_by("number"))
    assert [one.number for one in versions] == list(range(1, len(CHANGES) + 2))
    for before, version, change in zip(versions, versions[1:], CHANGES, strict=False):
        assert version.parent == before
        assert change in version.text
        assert f"{before}, in the rounds Version {before.number} of a prompt (simulated reviews)" in version.reason
        assert version.reason.startswith("Simulated.")
    lines = prompt_line(prompt_flags(versions, User.objects.get(email="cora@demo.example")))
    assert all(one.n_reviews and one.measured[0].n and one.cost is not None for one in lines)
    assert not Review.objects.filter(simulated=False).exists()
    assert QuestionBank.objects.get(name=prompt_iterations.BANK).simulated
    assert not ReviewRound.objects.filter(archived_at=None).exists(), "twelve rounds would fill every list"
    assert stored() == first, "what is there is left alone"
