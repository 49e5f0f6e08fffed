"""Two people use one name in the same instant, on PostgreSQL: the second waits, and is told that it is taken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

MEET = """
from annotation.enums import Role
from annotation.review.kernels.sampling import StratifyBy
from annotation.questionbank.bank_life import make_bank
from annotation.review.rounds import create_round
from annotation.review.samples import draw_sample
from readerstudy.design.creating import create_study
from tests.annotation.review.cases import NOON
from tests.conftest import make_person
from tests.meeting import meet, said_of
from tests.readerstudy.design.made import make_questions, plan_for
cora, bank = make_person("Cora", Role.COORDINATOR), make_questions(8)
by = {"actor": cora, "at": NOON}
def draw(name):
    return draw_sample(bank, by=StratifyBy.NONE, per_thousand=500, seed=1, name=name, **by)
sample = draw("Drawn before")
acts = {
    "bank": lambda: make_bank("One", **by),
    "sample": lambda: draw("One"),
    "round": lambda: create_round(sample, name="One", reviewers=[], **by),
    "study": lambda: create_study(plan_for(bank, 4, name="One"), **by),
}
for what, act in acts.items():
    print(what, meet(act, lambda: said_of(act))[1])
"""


def test_the_second_of_two_is_told_that_the_name_is_taken(tmp_path: Path) -> None:
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", MEET, env=env)
    assert done.stdout.splitlines() == [f"{what} name_taken" for what in ("bank", "sample", "round", "study")], (
        done.stderr
    )
