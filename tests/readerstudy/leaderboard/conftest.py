"""What tests of leaderboards begin with: a home of their own, a frozen leaderboard, its team, a submitter of models."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from annotation.enums import Role
from annotation.models import User
from readerstudy.leaderboard import benchmarks
from readerstudy.models import Benchmark, Team
from tests.conftest import make_person
from tests.readerstudy.leaderboard.made import Clock, make_benchmark, make_team


@pytest.fixture(autouse=True)
def _home(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path  # other processes of the tests write files of their first leaderboard, too


@pytest.fixture
def board(db: None) -> Benchmark:
    return make_benchmark(n=12)


@pytest.fixture
def team(board: Benchmark) -> Team:
    return make_team(board)


@pytest.fixture
def sam(db: None) -> User:
    return make_person("Sam", Role.MODEL_SUBMITTER)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Benchmarks of a few questions can be frozen."""
    monkeypatch.setattr(benchmarks, "FEWEST_IN_BENCHMARK", 3)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The site reads this time: teams send, before the first edition."""
    made = Clock()
    monkeypatch.setattr(timezone, "now", made)
    return made
