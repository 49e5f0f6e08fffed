"""The short form of ``make torture``: processes of a site on SQLite are killed while readers answer over a bad line."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.processes import migrated_home
from tests.torture.run import torture


def test_no_acknowledged_answer_is_lost_when_processes_are_killed(tmp_path: Path) -> None:
    shutil.copytree(migrated_home(), tmp_path / "home")
    outcome = torture(tmp_path / "home", n_kills=4, n_readers=4, n_cases=15, seed=3, foreign=0.2)
    assert outcome.is_clean, str(outcome)
    assert outcome.n_foreign > 20, "the line answered too little itself to try anything"
    assert (outcome.n_kills, outcome.verdict.acknowledged) == (4, outcome.verdict.stored)
    assert outcome.verdict.stored > 60  # each answer, and best guesses beside some
