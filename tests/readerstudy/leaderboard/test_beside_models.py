"""What stands beside the models of a board: readers of closed studies, and the same model without images."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from annotation.enums import Role
from readerstudy.enums import Block, StudyState
from readerstudy.leaderboard import edition_scoring
from readerstudy.leaderboard.edition_scoring import verify
from readerstudy.leaderboard.public_board import files_of
from readerstudy.models import Benchmark, EditionResult, ReaderStudy, Reading, Response, Submission
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import make_bank
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import after, keys_of, make_benchmark, make_submission, make_team, scored
from tests.readerstudy.model_runs.made import answer, end, name_endpoints, planned
from tests.readerstudy.studies import enrol, make_study

pytestmark = pytest.mark.django_db
READ_AT = datetime(2026, 4, 1, tzinfo=UTC)


def read_study(n: int, *, right: int, **fields: Any) -> ReaderStudy:
    """A closed study of ``n`` cases whose only reader had so many right; the key of each is B."""
    usual = {"state": StudyState.CLOSED, "closed_at": READ_AT, "unblinded_at": READ_AT}
    study = make_study(n_cases=n, bank=make_bank("Board"), **{**usual, **fields})
    enrolment = enrol(study, make_person("remo", Role.REVIEWER))
    cases = study.cases.filter(block=Block.MAIN).order_by("number")
    arm = study.arms.get()
    for place, case in enumerate(cases):
        reading = Reading.objects.create(enrolment=enrolment, case=case, arm=arm, opened_at=READ_AT, closed_at=READ_AT)
        said = "B" if place < right else "C"
        Response.objects.create(
            reading=reading, is_confirmed=True, state="answered", option=said, stored_at=READ_AT, active_ms=1000
        )
    return study


def board_of(study: ReaderStudy) -> tuple[Benchmark, dict[str, Any]]:
    benchmark = make_benchmark(study.bank, n_editions=1)
    make_submission(make_team(benchmark), keys_of(benchmark), edition=benchmark.editions.get())
    scored(benchmark.editions.get())
    return benchmark, msgspec.json.decode(EditionResult.objects.get().result)


def test_readers_of_a_closed_study_stand_beside_the_models() -> None:
    study = read_study(40, right=30)
    benchmark, result = board_of(study)
    readers = result["readers"]
    assert (readers["value"], readers["n"], readers["n_readers"], readers["n_questions"]) == (75.0, 40, 1, 40)
    assert readers["studies"][0]["study"] == study.protocol_sha256
    assert result["entries"][0]["on_read"]["value"] == 100.0
    files = files_of(benchmark, on=after(benchmark.editions.get()).date())
    assert "75.0 %" in files["index.html"].decode()
    assert study.name not in files["index.html"].decode()
    assert b"1 readers, 75.0 % of 40 answers" in files["board.svg"]
    assert verify(benchmark, at=after(benchmark.editions.get())) == []


@pytest.mark.parametrize(
    ("n", "fields"),
    [(29, {}), (40, {"state": StudyState.OPEN}), (40, {"unblinded_at": None})],
    ids=["few questions", "open", "seen by nobody"],
)
def test_other_studies_tell_nothing(n: int, fields: dict[str, Any]) -> None:
    _benchmark, result = board_of(read_study(n, right=20, **fields))
    assert result["readers"] is None
    assert result["entries"][0]["on_read"] is None


def test_the_same_model_without_images(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    name_endpoints(settings)
    study = read_study(40, right=30)
    run = planned(Target(study.bank))
    answer(run, lambda call: "B" if call.number % 4 else "none of these")
    end(run)
    monkeypatch.setattr(edition_scoring, "without_images_of", lambda submission, at: run)
    benchmark = make_benchmark(study.bank, n_editions=1)
    make_submission(make_team(benchmark), keys_of(benchmark), edition=benchmark.editions.get())
    Submission.objects.update(way="here", model_run=run)
    scored(benchmark.editions.get())
    (entry,) = msgspec.json.decode(EditionResult.objects.get().result)["entries"]
    assert (entry["without_images"]["value"], entry["without_images"]["n"]) == (75.0, 40)
    assert (entry["way"], entry["n_runs"], entry["n_orders"]) == ("here", 1, 1)
    page = files_of(benchmark, on=after(benchmark.editions.get()).date())["index.html"].decode()
    assert "Without images, %" in page
    assert "runs: 1, option orders: 1" in page
