"""The same file twice in one instant, and two names for one edition, on PostgreSQL, where two can write at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

SITE = """
from datetime import UTC, datetime
from readerstudy.leaderboard.submissions import FILES, name_for_edition, receive_submission
from readerstudy.models import EditionEntry, Submission
from tests.meeting import meet, said_of
from tests.readerstudy.leaderboard.made import answer_file, make_benchmark, make_submission, make_team
"""

TWICE = (
    SITE
    + """
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
board = make_benchmark(n=4)
team, edition = make_team(board), board.editions.get(number=1)
named = [make_submission(team, letters) for letters in ("AAAA", "BBBB")]
content = answer_file(board, "ABCD")
def send(place):
    return receive_submission(team, [content], "a.jsonl", actor=None, at=AT).number
def name(place):
    return name_for_edition(named[place], edition, actor=None, at=AT).submission.number
for act in (send, name):
    print(*meet(lambda: act(0), lambda: act(1)))
print(Submission.objects.count(), len(list(FILES.folder_of(named[0]).parent.iterdir())))
print([entry.submission.number for entry in EditionEntry.objects.all()])
"""
)

# Both act at once in five ways; each way prints what the two were told.
RACES = (
    SITE
    + """
from readerstudy.enums import BenchmarkState
from readerstudy.leaderboard import benchmarks
from readerstudy.leaderboard.editions import confirm_edition, propose_edition
from readerstudy.leaderboard.benchmarks import freeze_benchmark
from readerstudy.leaderboard.edition_scoring import score_edition
from readerstudy.leaderboard.submissions import withdraw_submission
from readerstudy.leaderboard.teams import add_member
from readerstudy.models import Benchmark, BenchmarkVersion, EditionResult, TeamMember
from annotation.enums import Role
from annotation.models import Job, Revision
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions
BEFORE, AFTER = datetime(2026, 5, 1, 12, tzinfo=UTC), datetime(2026, 6, 2, 12, tzinfo=UTC)
cora, omar, olga = (make_person(name, Role.COORDINATOR) for name in ("cora", "omar", "olga"))
sam = make_person("sam", Role.MODEL_SUBMITTER)
board = make_benchmark(n=60)
teams, edition = [make_team(board, name) for name in ("One", "Two")], board.editions.get(number=1)
kept = [make_submission(team, "A" * 60, edition=edition) for team in teams]
other = make_submission(teams[0], "B" * 60)
draft = Benchmark.objects.create(name="Draft", slug="draft", contact="a", created_at=BEFORE,
                                 bank=make_questions(30, name="Draft", pixels=False))
draft.editions.create(number=1, due_on=edition.due_on)
benchmarks.check_nothing_blocks = lambda benchmark, at: None
benchmarks.questions_of = lambda benchmark: Revision.objects.in_bank(benchmark.bank).current()
def joins(place):
    return lambda: add_member(teams[place], sam.email, actor=cora, at=BEFORE)
def freezes():
    return freeze_benchmark(Benchmark.objects.get(slug="draft"), actor=cora, at=BEFORE)
def confirms(person):
    return lambda: confirm_edition(edition, actor=person, at=AFTER)
ways = {
    "joins two": (joins(0), joins(1)),
    "freezes twice": (freezes, freezes),
    "proposed, named": (lambda: propose_edition(edition, actor=cora, at=AFTER),
                        lambda: name_for_edition(other, edition, actor=None, at=BEFORE)),
    "confirmed twice": (confirms(omar), confirms(olga)),
    "withdrawn, scored": (lambda: withdraw_submission(kept[1], "x", actor=cora, at=AFTER),
                          lambda: score_edition(edition, board.versions.get(), actor=cora, at=AFTER)),
}
for way, (act, another) in ways.items():
    edition.refresh_from_db()
    print(way, *meet(lambda: said_of(act), lambda: said_of(another)), sep=": ")
print(TeamMember.objects.filter(user=sam).count(), BenchmarkVersion.objects.filter(benchmark__slug="draft").count(),
      Job.objects.filter(kind="score_edition").count(), EditionResult.objects.count())
edition.refresh_from_db()
score_edition(edition, board.versions.get(), actor=cora, at=AFTER)
print(EditionResult.objects.get().result.count('"answers_sha256"'))
"""
)


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    """One submission with one file on the disk; and the name that came last counts."""
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", TWICE, env=env)
    assert done.stdout.splitlines() == ["3 3", "1 2", "3 1", "[2]"], done.stderr


def test_two_acts_that_exclude_each_other(tmp_path: Path) -> None:
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", RACES, env=env)
    assert done.stdout.splitlines() == [
        "joins two: done: no_such_person",
        "freezes twice: done: frozen",
        "proposed, named: done: past",
        "confirmed twice: done: done",
        "withdrawn, scored: done: withdrawn",
        "1 1 1 0",
        "1",
    ], done.stderr
