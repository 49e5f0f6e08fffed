"""A run on this site becomes a submission of a team, and no prediction; no page tells how it did on a benchmark."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pytest_django.fixtures import Settings

from annotation.call_enums import CallOutcome, SentImages
from annotation.models import CallBatch, Job, ModelCall, Revision
from readerstudy.enums import BenchmarkState, SubmissionState, SubmissionWay
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.running import checked_run, hand_in, teams_to_hand_in, without_images_of
from readerstudy.leaderboard.submissions import check_file
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.planning import shows_results
from readerstudy.model_runs.publishing import KIND, ask_to_publish, publish, publish_later
from readerstudy.models import Benchmark, ModelRun, Prediction, PredictionRun, Team
from readerstudy.predictions.listing import Target
from readerstudy.predictions.looks import right_without_images
from readerstudy.results.comparison_job import banks_compared
from readerstudy.results.variants import family_of
from tests.annotation.review.cases import images_are_there
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import AT, answer_file, make_benchmark, make_team
from tests.readerstudy.model_runs.made import answer, end, make_prompt, name_endpoints, planned
from tests.readerstudy.predictions.made import keyed_bank
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
BEFORE, AFTER = datetime(2020, 1, 1, tzinfo=UTC), datetime(2999, 1, 1, tzinfo=UTC)
N = 5


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)
    make_prompt(images=SentImages.ALL)


@pytest.fixture
def board() -> Benchmark:
    bank = keyed_bank(N)
    images_are_there(bank)
    return make_benchmark(bank)


def letter(call: ModelCall) -> str:
    assert call.revision is not None
    return "ABCD"[call.revision.question.number % 4]


def complete(board: Benchmark, **fields: object) -> ModelRun:
    run = planned(Target(board.bank), **fields)
    answer(run, letter, outcomes={1: CallOutcome.REJECTED, 2: CallOutcome.FAILED})
    end(run)
    CallBatch.objects.filter(pk=run.batch_id).update(finished_at=AT)
    return run


def test_a_run_becomes_a_submission_as_its_file_would(board: Benchmark, team: Team) -> None:
    run = complete(board, n_orders=4, n_repeats=2)
    made = hand_in(run, team, way=SubmissionWay.TEAM_ENDPOINT, actor=None, at=AT)
    assert (made.state, made.way, made.model_run) == (SubmissionState.CHECKED, SubmissionWay.TEAM_ENDPOINT, run)
    assert sorted(made.answers) == sorted("-?" + made.answers.replace("-", "").replace("?", ""))
    assert (made.report["n_orders"], made.report["n_repeats"]) == (4, 2)
    said = answer_file(board, made.answers.replace("?", "E"))
    beside = check_file(said, made.version)
    assert beside.answers == made.answers
    same = ("n_answered", "n_failed", "n_missing", "n_questions", "missing")
    assert {name: made.report[name] for name in same} == {name: beside.report[name] for name in same}
    assert not Prediction.objects.exists()


def test_handing_it_in_again_is_the_same_submission(board: Benchmark, team: Team) -> None:
    run = complete(board)
    first = hand_in(run, team, actor=None, at=AT)
    assert hand_in(run, team, actor=None, at=AT).pk == first.pk
    assert hand_in(complete(board), team, actor=None, at=AT).number == 2


def test_another_wording_than_that_of_the_benchmark_is_missing(board: Benchmark) -> None:
    run, version = complete(board), board.versions.get()
    asked = version.questions.get(place=4)
    asked.revision = (
        Revision.objects.exclude(question__bank=board.bank).first()
        or make_questions(1, name="Other", pixels=False).questions.get().revisions.get()
    )
    asked.save()
    found = checked_run(run, version)
    assert found.answers[4] == "-"
    assert asked.name in found.report["missing"]
    assert found.report["n_unknown"] == 0


def test_what_is_no_run_of_the_benchmark_is_refused(board: Benchmark, team: Team) -> None:
    variant = planned(Target(board.bank), images=SentImages.NONE)
    other = make_benchmark_elsewhere()
    for run, of in ((variant, team), (complete(board), other)):
        with refuses(LeaderboardRefused, "other_run"):
            hand_in(run, of, actor=None, at=AT)
    with refuses(RunningRefused, "incomplete", match="Nothing is handed in"):
        hand_in(planned(Target(board.bank)), team, actor=None, at=AT)
    assert list(teams_to_hand_in(complete(board))) == [team]
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    assert not teams_to_hand_in(complete(board)).exists()


def make_benchmark_elsewhere() -> Team:
    Benchmark.objects.update(slug="first")
    return make_team(make_benchmark(keyed_bank(2, name="Elsewhere")), "Team Two")


def test_on_a_benchmark_nothing_is_published_and_nothing_shows_how_it_did(board: Benchmark, team: Team) -> None:
    run, text_only = complete(board), complete(board, images=SentImages.NONE)
    publish_later(run.batch, AT)
    assert not Job.objects.filter(kind=KIND).exists()
    for act in (publish, ask_to_publish):
        with refuses(RunningRefused, "benchmarked", match="hand the run in for a team"):
            act(run, actor=None, at=AT)
    found = RunProgress(run)
    assert (found.may_publish, found.failed_job, shows_results(run)) == (False, None, False)
    assert "benchmark" in found.sentence
    with refuses(RunningRefused, "hidden"):
        family_of(run)
    wordings = Revision.objects.in_bank(board.bank).current()
    assert list(right_without_images(board.bank, wordings)) == []
    assert not PredictionRun.objects.exists()
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    assert shows_results(run)
    assert [one.n for one in right_without_images(board.bank, wordings)] == [N - 1]
    assert text_only.entry == run.entry


def test_what_was_stored_before_freezing_is_not_compared_while_the_benchmark_goes_on(board: Benchmark) -> None:
    Benchmark.objects.update(state=BenchmarkState.DRAFT)
    publish(complete(board), actor=None, at=AT)
    assert list(banks_compared()) == [board.bank]
    Benchmark.objects.update(state=BenchmarkState.FROZEN)
    assert not banks_compared().exists()


def test_the_same_model_without_images(board: Benchmark, team: Team) -> None:
    made = hand_in(complete(board), team, actor=None, at=AT)
    assert without_images_of(made, AFTER) is None
    planned(Target(board.bank), images=SentImages.NONE)
    assert without_images_of(made, AFTER) is None, "not complete"
    text_only = complete(board, images=SentImages.NONE)
    other = complete(board, images=SentImages.NONE, name="Other", prompt=make_prompt("another"))
    assert without_images_of(made, AFTER) == text_only != other
    assert without_images_of(made, BEFORE) is None, "what an edition was scored with is verified later"
    made.way = SubmissionWay.TEAM_ENDPOINT
    assert without_images_of(made, AFTER) is None, "a team's endpoint could answer with a second file"
    made.way = SubmissionWay.HERE
    made.model_run = text_only
    assert without_images_of(made, AFTER) is None
