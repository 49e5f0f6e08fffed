"""The short form of what ``make torture`` does to the calls of a model, on SQLite."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.processes import migrated_home
from tests.torture.calls import torture_calls


def test_every_call_has_one_outcome_when_workers_are_killed(tmp_path: Path) -> None:
    shutil.copytree(migrated_home(), tmp_path / "home")
    outcome = torture_calls(tmp_path / "home", n_calls=300, n_kills=2, seed=3)
    assert outcome.is_clean, str(outcome)
    assert (outcome.n_kills, outcome.n_answered) == (2, 300)
