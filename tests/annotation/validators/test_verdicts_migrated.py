"""Sites that exist: the way back forgets verdicts, which the table of before cannot hold, and keeps the rest."""

from __future__ import annotations

from pathlib import Path

from tests.processes import manage, migrated_site

MADE = """
from annotation.models import Revision
from annotation.quality.checking import check_revisions
from tests.annotation.validators.validated import NOON, judged, judged_bank
bank = judged_bank(3, stem="Which option is not right?")
check_revisions(bank, Revision.objects.in_bank(bank).current(), actor=None, at=NOON)
judged(bank, "fail", "pass", "fail")
judged(bank, "pass", model="another")
"""
TOLD = """
from annotation.models import Finding
print(sorted(Finding.objects.values_list("rule", flat=True)))
"""


def test_there_and_back(tmp_path: Path) -> None:
    with migrated_site(tmp_path / "home", "") as env:
        done = manage("shell", "-v0", "-c", MADE, env=env)
        assert done.returncode == 0, done.stderr
        told = manage("shell", "-v0", "-c", TOLD, env=env).stdout
        assert told.count("c1") == 6
        for step in (["0028"], []):  # and to the newest one again
            moved = manage("migrate", "annotation", *step, "-v0", env=env)
            assert moved.returncode == 0, moved.stderr
        after = manage("shell", "-v0", "-c", TOLD, env=env).stdout
        assert (after.count("c1"), after.count("negative_stem")) == (0, 3)
