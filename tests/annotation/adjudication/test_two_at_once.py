"""Two people in the same instant, on PostgreSQL, where two can write at a time: one act waits for the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

MEET = """
from msgspec.structs import replace
from annotation.outcomes.adjudicating import name_adjudicator, take_next
from annotation.enums import Role
from annotation.models import Question, Settlement
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.kernels.entries import BankRefused
from tests.annotation.adjudication.made import make_adjudicated
from tests.conftest import NOON, make_person
from tests.meeting import meet
people = [make_person(name, role) for name, role in (
    ("Cora", Role.COORDINATOR), ("Rita", Role.REVIEWER), ("Remo", Role.REVIEWER))]
judy, jane = make_person("Judy"), make_person("Jane")
review_round = make_adjudicated(*people, judy)
name_adjudicator(review_round, jane, actor=people[0], at=NOON)
question = Question.objects.get(number=4)
wording = wording_of(current_revision(question))
def take(person):
    return take_next(review_round, person, at=NOON).revision.question.number
def edit(person):
    new = replace(wording, stem="Which finding is missing? Says " + person.name)
    try:
        return revise(question, new, "It was unclear.", based_on=1, actor=person, at=NOON).number
    except BankRefused as refused:
        return refused.code
for act in (take, edit):
    print(*meet(lambda: act(judy), lambda: act(jane)))
"""


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    """Two adjudicators never have one question; the second editor is told that the wording has changed."""
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", MEET, env=env)
    assert done.stdout.splitlines() == ["2 3", "2 changed"], done.stderr
