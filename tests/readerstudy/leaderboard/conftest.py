"""What tests of leaderboards begin with: a home of their own, a frozen leaderboard and its team."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from readerstudy.models import Benchmark, Team
from tests.readerstudy.leaderboard.made import make_benchmark, make_team


@pytest.fixture(autouse=True)
def _home(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path  # other processes of the tests write files of their first leaderboard, too


@pytest.fixture
def board() -> Benchmark:
    return make_benchmark(n=12)


@pytest.fixture
def team(board: Benchmark) -> Team:
    return make_team(board)
