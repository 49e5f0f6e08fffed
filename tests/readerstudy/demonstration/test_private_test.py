"""The leaderboard of the demonstration: two editions, five simulated models, labelled simulated, made once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.demonstration.building import add_people
from annotation.demonstration.simulated_exams import EXAMS
from annotation.jobs import queueing
from annotation.models import Image, QuestionBank, User
from readerstudy.demonstration import private_test
from readerstudy.demonstration.private_test import MEMBER, NAME, add_leaderboard
from readerstudy.enums import SubmissionWay
from readerstudy.leaderboard import benchmarks
from readerstudy.leaderboard.editions import folder_here
from readerstudy.leaderboard.public_board import files_of
from readerstudy.leaderboard.verifying import verify
from readerstudy.models import Benchmark, EditionResult, Submission
from tests.annotation.review.cases import NOON, make_bank, make_revisions
from tests.annotation.review.pixels import give_pixels

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.check]


@pytest.fixture
def bank(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> QuestionBank:
    """Two exams whose images come again as small pictures; few questions are enough for a leaderboard here."""
    settings.DEMO, settings.HOME = True, tmp_path
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    monkeypatch.setattr(private_test, "FEWEST_IN_BENCHMARK", 1)
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 1)
    monkeypatch.setattr(private_test, "SHARE", 4)
    add_people(at=NOON - timedelta(days=300))
    bank = make_bank("Demonstration")
    bank.simulated = True
    bank.save()
    make_revisions(bank, {1: {}, 2: {}})
    for seed, image in enumerate(Image.objects.all()):
        give_pixels(image, seed=seed)
    return bank


def build(bank: QuestionBank, folder: Path) -> None:
    def tell(words: str, done: int, total: int, /) -> None:
        assert 0 <= done <= total

    cora = User.objects.get(email="cora@demo.example")
    add_leaderboard(bank, exams=EXAMS[:2], folder=folder / "files", coordinator=cora, at=NOON, tell=tell)


def test_two_editions_are_published_and_verified_and_nothing_is_made_twice(bank: QuestionBank, tmp_path: Path) -> None:
    build(bank, tmp_path)
    made = Benchmark.objects.get(name=NAME)
    assert [one.entries.count() for one in made.editions.all()] == [3, 5]
    assert [one.published_at is not None for one in made.editions.all()] == [True, True]
    assert Submission.objects.filter(way=SubmissionWay.HERE).count() == 1
    assert made.teams.filter(members__user__email=MEMBER).count() == 1
    assert verify(made, folder_here(made), at=NOON) == []
    pages = [content for name, content in files_of(made, on=NOON.date()).items() if name.endswith(".html")]
    assert all(b"Simulated" in page for page in pages)

    build(bank, tmp_path)
    assert (Submission.objects.count(), EditionResult.objects.count()) == (5, 2)


def test_few_chests_make_no_leaderboard(bank: QuestionBank, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_test, "FEWEST_IN_BENCHMARK", 300)
    build(bank, tmp_path)
    assert not Benchmark.objects.exists()
