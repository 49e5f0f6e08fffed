"""Two people use one name in the same instant, on PostgreSQL: the second waits, and is told that it is taken."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import psycopg2
import pytest

from rexvqa_site.settings import database_from
from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

MEET = """
from annotation.enums import Role
from annotation.statistics.kernels.sampling import StratifyBy
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


def test_a_host_that_vanishes_keeps_its_locks_for_less_than_half_a_minute() -> None:
    """Both sides look for signs of life, and give up what they sent and nobody received."""
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with closing(psycopg2.connect(server, **database_from(server)["OPTIONS"])) as session, session.cursor() as cursor:
        cursor.execute("SELECT substr(name, 5), setting FROM pg_settings WHERE name LIKE 'tcp\\_%'")
        of_server, of_client = dict(cursor.fetchall()), session.get_dsn_parameters()
        of_client["user_timeout"] = of_client["tcp_user_timeout"]
    for side in (of_server, of_client):
        idle, interval, count = (int(side[f"keepalives_{word}"]) for word in ("idle", "interval", "count"))
        assert 0 < idle + interval * count < 30
        assert 0 < int(side["user_timeout"]) < 30_000
