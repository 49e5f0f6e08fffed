"""An answer and the end of its study in the same instant, on PostgreSQL, where two can write at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.processes import manage, migrated_site, postgres_url

pytestmark = pytest.mark.services

# The answer stops at one place until the closing has ended, or as far as it comes while the answer holds the log.
MEET = """
import threading
from django.db import connection
from annotation.enums import Role
from readerstudy.conducting.lifecycle import close_study
from readerstudy.models import ReaderStudy, RefusedAnswer, Response
from readerstudy.reading import committing
from tests.conftest import make_person
from tests.readerstudy.reading.desk import Desk
from tests.readerstudy.studies import enrol, later, make_study
study = make_study("Trial", n_cases=4)
desk = Desk(enrol(study, make_person("Rita", Role.READER)))
desk.begin()
desk.open(desk.places[0], 1)
desk.paint(desk.places[0], 1)
arrived, may_go_on, said = threading.Event(), threading.Event(), []
real = getattr(committing, "PLACE")
def stop(*args, **named):
    arrived.set()
    assert may_go_on.wait(20)
    return real(*args, **named)
committing.PLACE = stop
def answer():
    try:
        desk.commit(desk.places[0], "B", seconds=5)
    except committing.ReadingRefused as refused:
        said.append(refused.code)
    connection.close()
def close():
    close_study(ReaderStudy.objects.get(), actor=None, at=later(5), confirmed_open=1)
    said.append("closed")
    connection.close()
one, other = threading.Thread(target=answer), threading.Thread(target=close)
one.start()
assert arrived.wait(20)
other.start()
if "PLACE" == "judge":
    other.join(20)
may_go_on.set()
one.join(20), other.join(20)
print(said, Response.objects.count(), RefusedAnswer.objects.count(), ReaderStudy.objects.get().state)
"""


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("judge", "['closed', 'study_closed'] 0 1 closed"),  # the study was closed before the answer held the log
        ("record", "['closed'] 1 0 closed"),  # closing waits for the log, and finds the answer
    ],
)
def test_an_answer_is_counted_or_refused(tmp_path: Path, place: str, told: str) -> None:
    server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
    with migrated_site(tmp_path / "home", server) as env:
        done = manage("shell", "-v0", "-c", MEET.replace("PLACE", place), env=env)
    assert done.stdout.strip() == told, done.stderr
