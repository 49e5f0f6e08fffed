"""The same file twice in one instant, and two names for one edition, on PostgreSQL, where two can write at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

# The first has done its act and not committed; the second goes on as far as it comes, until it waits for a lock.
MEET = """
import threading
from datetime import UTC, datetime
from django.db import connection, transaction
from readerstudy.leaderboard.submissions import FILES, name_for_edition, receive_submission
from readerstudy.models import EditionEntry, Submission
from tests.readerstudy.leaderboard.made import answer_file, make_benchmark, make_submission, make_team
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
board = make_benchmark(n=4)
team, edition = make_team(board), board.editions.get(number=1)
named = [make_submission(team, letters) for letters in ("AAAA", "BBBB")]
content = answer_file(board, "ABCD")
def send(place):
    return receive_submission(team, [content], "a.jsonl", actor=None, at=AT).number
def name(place):
    return name_for_edition(named[place], edition, actor=None, at=AT).submission.number
def first(act):
    with transaction.atomic():
        said["first"] = act(0)
        acted.set()
        assert may_commit.wait(20)
    connection.close()
def second(act):
    said["second"] = act(1)
    connection.close()
def waits():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                       " AND datname = current_database()")
        return cursor.fetchone()[0] > 0
for act in (send, name):
    acted, may_commit, said = threading.Event(), threading.Event(), {}
    one, other = threading.Thread(target=first, args=(act,)), threading.Thread(target=second, args=(act,))
    one.start()
    assert acted.wait(20)
    other.start()
    while other.is_alive() and not waits():
        pass
    may_commit.set()
    one.join(20), other.join(20)
    print(said["first"], said["second"])
print(Submission.objects.count(), len(list(FILES.folder_of(named[0]).parent.iterdir())))
print([entry.submission.number for entry in EditionEntry.objects.all()])
"""


def test_the_second_waits_for_the_first(tmp_path: Path) -> None:
    """One submission with one file on the disk; and the name that came last counts."""
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", MEET, env=env)
    assert done.stdout.splitlines() == ["3 3", "1 2", "3 1", "[2]"], done.stderr
