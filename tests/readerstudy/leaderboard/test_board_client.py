"""The client of docs/ for teams, against a served site."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from board_client import Board
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from annotation.jobs import queueing
from annotation.jobs.running import run
from readerstudy.models import EditionEntry, Team
from tests.browser.server import served_in_one_piece, wait_until_left
from tests.readerstudy.leaderboard.made import (
    answer_file,
    make_benchmark,
    make_team,
    program_of_team,
    statement_answers,
)

N = 12


@pytest.fixture(scope="session")
def _in_one_piece() -> Iterator[None]:
    with served_in_one_piece():
        yield


@pytest.fixture(autouse=True)
def _leaves(_in_one_piece: None, live_server: LiveServer, transactional_db: None) -> Iterator[None]:
    """No request of a test is under way when its tables are emptied."""
    yield
    wait_until_left(live_server)


@pytest.fixture
def team(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A job is done before the request that asked for it ends."""
    monkeypatch.setattr(queueing, "nudge", lambda job: run(job.public_id, clock=timezone.now))
    made = make_team(make_benchmark(n=N))
    made.benchmark.editions.update(due_on="2999-01-01")
    return made


@pytest.fixture
def board(live_server: LiveServer, team: Team, monkeypatch: pytest.MonkeyPatch) -> Iterator[Board]:
    made = Board(live_server.url, team.benchmark.slug, program_of_team(team).token)
    yield made
    made.session.close()


def test_from_a_file_to_a_name_for_an_edition(board: Board, team: Team, tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_bytes(answer_file(team.benchmark, "ABC-" * 3))
    said = board.post("statements/", {"answers": statement_answers()})
    sent = board.send(file)
    assert (sent["is_sound"], sent["report"]["n_missing"], said["number"]) == (True, 3, 1)
    assert board.send(file)["id"] == sent["id"]
    named = board.post(f"submissions/{sent['id']}/name/", {"edition": 1})
    assert (named["state"], EditionEntry.objects.get().submission.public_id) == ("named", sent["id"])
    with pytest.raises(RuntimeError, match=r"422.*Answer this line"):
        board.post("statements/", {"answers": {}})


def test_it_waits_for_the_check_and_not_for_ever(
    board: Board, team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda _job: None)  # nobody works
    waited: list[float] = []
    monkeypatch.setattr(board, "pause", waited.append)
    file = tmp_path / "answers.jsonl"
    file.write_bytes(b"nothing")
    with pytest.raises(TimeoutError, match="after 1 minutes"):
        board.send(file, minutes=1)
    assert waited == [1] * 60


def test_questions_are_written_as_they_come(board: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    class Answer(io.BytesIO):
        def iter_content(self, _size: int) -> Iterator[bytes]:
            return iter([b"PK", b"..."])

    def ask(method: str, path: str, **_sent: Any) -> Answer:
        asked.append((method, path))
        return Answer()

    monkeypatch.setattr(board, "ask", ask)
    board.take_questions(tmp_path / "questions.zip")
    assert (tmp_path / "questions.zip").read_bytes() == b"PK..."
    assert asked == [("GET", "inputs/")]
