"""Leaderboards on two machines with one bucket and a home each: boards, inputs of teams, files that they send."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.enums import JobState
from annotation.jobs import queueing
from annotation.models import Job, User
from annotation.site import home_files
from readerstudy.leaderboard.editions import bring_boards, folder_here, sweep_boards
from readerstudy.leaderboard.public_board import publish_here
from readerstudy.leaderboard.submissions import FILES, receive_submission
from readerstudy.leaderboard.versions import ask_to_pack, packed_inputs, take_inputs
from readerstudy.models import Benchmark, BoardNote, Submission, Team
from rexvqa_site import boards
from rexvqa_site.boards import Boards
from tests.jobs import work
from tests.object_storage import ObjectStorage, TwoHomes, object_storage
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.gaming import asked, behind
from tests.readerstudy.leaderboard.made import AT, answer_file, make_benchmark, make_published

pytestmark = [pytest.mark.services, pytest.mark.django_db]
ON = datetime(2026, 6, 3, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def s3() -> Iterator[ObjectStorage]:
    with object_storage() as found:
        yield found


@pytest.fixture
def homes(s3: ObjectStorage, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TwoHomes:
    monkeypatch.setattr(queueing, "nudge", lambda job: None)
    return TwoHomes(tmp_path / "machines", settings, s3)


def test_a_board_is_given_out_by_every_machine(
    homes: TwoHomes, s3: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boards, "SECONDS_BETWEEN_LOOKS", -1)
    benchmark = make_published()
    homes.at("b")
    publish_here(benchmark, actor=None, at=ON)
    assert (folder_here(benchmark) / "index.html").is_file()
    home = homes.at("a")
    site = Boards(behind, home / "boards", bring_boards)
    page = f"/board/{benchmark.slug}/"
    assert asked(site, page)[0] == 200
    assert sweep_boards(ON) == 0
    homes.at("b")
    BoardNote.objects.create(benchmark=benchmark, text="The second question is disputed.", made_at=ON)
    publish_here(benchmark, actor=None, at=ON + timedelta(minutes=1))
    homes.at("a")
    status, _headers, body = asked(site, page)
    assert (status, b"disputed" in body) == (200, True)
    for name in "ab":
        assert len(list((homes.at(name) / "boards").iterdir())) == 2  # the name, and the one folder that it stands for
    s3.refuses = ("AccessDenied", 403)
    homes.at("a")
    assert asked(site, page)[0] == 200, "of what is here"
    s3.refuses = None


def test_inputs_that_one_machine_packed_are_taken_from_the_other(homes: TwoHomes, cora: User) -> None:
    board = make_benchmark(make_questions(4))
    homes.at("b")
    ask_to_pack(board, actor=cora, at=AT)
    work()
    assert [job.error for job in Job.objects.exclude(state=JobState.SUCCEEDED)] == []
    assert homes.left() == []
    homes.at("a")
    assert packed_inputs(board) is not None
    found = home_files.here(take_inputs(board, actor=cora, at=AT))
    assert found.read_bytes()[:2] == b"PK"


def test_a_submission_is_checked_by_the_other_machine_and_one_that_was_lost_is_sent_again(
    board: Benchmark, team: Team, homes: TwoHomes
) -> None:
    content = answer_file(board, "ABCD" * 3)

    def send() -> Submission:
        return receive_submission(team, [content], "a.jsonl", actor=team.members.get().user, at=AT)

    first = send()
    assert (homes.left(), len(homes.in_bucket())) == ([], 1)
    assert send() == first
    assert len(homes.in_bucket()) == 1
    FILES.discard(first)
    assert send() == first
    assert homes.in_bucket() == [f"home/submission_files/{first.public_id}/predictions"]
    homes.at("b")
    work()
    first.refresh_from_db()
    assert first.answers == "ABCD" * 3
    assert (homes.left(), homes.in_bucket()) == ([], [])
