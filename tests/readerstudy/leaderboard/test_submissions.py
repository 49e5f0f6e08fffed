"""A file is received, checked without any key, named for an edition, and withdrawn."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.enums import JobState
from annotation.jobs.running import run as run_job
from annotation.models import AnswerKey, AuditEvent, Job, User
from readerstudy.enums import BenchmarkState, SubmissionState, TeamState
from readerstudy.leaderboard import submissions, teams
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.submissions import (
    CHECK,
    FILES,
    MOST_LISTED,
    editions_to_name,
    name_for_edition,
    receive_submission,
    steps_of,
    withdraw_submission,
)
from readerstudy.leaderboard.teams import add_statement, refuse_statement
from readerstudy.models import Benchmark, BenchmarkVersion, Edition, EditionEntry, Prediction, Submission, Team
from tests.readerstudy.leaderboard.made import AT, answer_file, make_submission, make_team, names_of, statement_answers
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
N = 12
LATE = datetime(2026, 6, 2, 0, 0, tzinfo=UTC)  # just after the end of the first date


def member(team: Team) -> User:
    return team.members.get().user


def receive(team: Team, content: bytes, name: str = "answers.jsonl", *, duplicates: str = "") -> Submission:
    return receive_submission(team, [content], name, duplicates=duplicates, actor=member(team), at=AT)


def send(team: Team, content: bytes, name: str = "answers.jsonl", *, duplicates: str = "") -> Submission:
    """Received, and checked as a worker does it."""
    made = receive(team, content, name, duplicates=duplicates)
    for job in Job.objects.filter(kind=CHECK, state=JobState.QUEUED):
        run_job(job.public_id, clock=lambda: AT + timedelta(minutes=1))
    made.refresh_from_db()
    return made


def said(name: str, answer: str) -> bytes:
    return json.dumps({"id": name, "pred_answer": answer}).encode() + b"\n"


# --- received and checked ---
def test_a_file_is_checked_and_then_gone(board: Benchmark, team: Team) -> None:
    made = receive(team, answer_file(board, "ABCD" * 3), "a/b.jsonl")
    assert (made.state, made.file_name, made.number) == (SubmissionState.RECEIVED, "b.jsonl", 1)
    assert (FILES.folder_of(made) / "predictions").exists()
    made = send(team, answer_file(board, "ABCD" * 3))
    assert (made.state, made.answers, made.rule) == (SubmissionState.CHECKED, "ABCD" * 3, "extract-2")
    assert made.report["n_answered"] == made.report["n_read"] == made.report["n_questions"] == N
    assert not FILES.folder_of(made).exists()
    assert not Prediction.objects.exists(), "answers stand in no other table"
    assert [label for _at, label in steps_of(made)] == ["received", "check passed"]
    acts = AuditEvent.objects.filter(act__startswith="submission.").order_by("pk").values_list("act", flat=True)
    assert list(acts) == ["submission.received", "submission.checked"]


def test_missing_and_failed_answers_pass_and_are_counted(board: Benchmark, team: Team) -> None:
    names = names_of(board)
    rows = ((0, "B"), (2, "I cannot say"), (3, "Either A or B"), (0, "B"))
    made = send(team, b"".join(said(names[place], answer) for place, answer in rows))
    assert made.is_sound
    assert made.answers == "B-??" + "-" * (N - 4)
    counts = {name: made.report[f"n_{name}"] for name in ("answered", "failed", "two_answers", "missing", "duplicate")}
    assert counts == {"answered": 1, "failed": 2, "two_answers": 1, "missing": N - 3, "duplicate": 1}
    assert made.report["failed"][0] == [2, names[2], "I cannot say"]
    assert made.report["missing"][0] == names[1]


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("xl/worksheets/sheet1.xml", b"<row/>" * 60_000_000)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "file is empty"),
        (b'{"id": "1", "pred_answer": "A"', "line 1"),
        (b"\x00\x01\x02", ""),
        (b"\x00\xff" * 40, ""),
        (b'{"a": 1}\n{"b": 2}\n', "No record has its answer"),
        (said("q-1", "A") + said("q-2", "B"), "another benchmark"),
        (said("q", "A") * 1_000, "The file is too large. Split it."),
        (bomb, ""),
    ],
)
def test_what_cannot_be_read_is_a_sentence(
    team: Team, monkeypatch: pytest.MonkeyPatch, content: bytes | Callable[[], bytes], sentence: str
) -> None:
    if sentence.startswith("The file is too large"):
        monkeypatch.setattr("readerstudy.predictions.kernels.streamed_predictions.MOST_BYTES", 100)
    made = send(team, content, "a.jsonl") if isinstance(content, bytes) else send(team, content(), "answers.xlsx")
    assert (made.state, made.is_sound, made.answers) == (SubmissionState.FAILED, False, "")
    [[row, _name, text]] = made.report["problems"]
    assert row == 0
    assert sentence in text
    assert not FILES.folder_of(made).exists()


def test_an_unknown_id_refuses_the_file_and_is_named_with_its_row(board: Benchmark, team: Team) -> None:
    made = send(team, answer_file(board, "A" * N) + b"".join(said(f"x{n}", "A") for n in range(MOST_LISTED + 50)))
    assert not made.is_sound
    [[row, name, text]] = made.report["problems"]
    assert (row, name) == (N + 1, "x0")
    assert f"the first of {MOST_LISTED + 50} such ids" in text
    assert (made.report["n_unknown"], len(made.report["unknown"])) == (MOST_LISTED + 50, MOST_LISTED)


def test_two_different_answers_to_one_question_are_refused_unless_one_counts(board: Benchmark, team: Team) -> None:
    content = answer_file(board, "A" * N) + said(names_of(board)[0], "B")
    assert [row for row, _name, _text in send(team, content).report["problems"]] == [N + 1]
    assert send(team, content, duplicates="last").answers == "B" + "A" * (N - 1)
    assert send(team, content, duplicates="first").answers == "A" * N
    assert Submission.objects.count() == 3


def test_the_same_file_is_the_same_submission(board: Benchmark, team: Team) -> None:
    first = send(team, answer_file(board, "A" * N))
    again = send(team, answer_file(board, "A" * N), "other.jsonl")
    assert (again.pk, again.checked_at) == (first.pk, first.checked_at)
    assert Job.objects.filter(kind=CHECK).count() == 1
    assert list(FILES.folder_of(first).parent.iterdir()) == []
    assert send(make_team(board, "Team Two"), answer_file(board, "A" * N)).pk != first.pk


@pytest.mark.parametrize("lost", ["check", "file"])
def test_what_was_lost_comes_with_the_same_file(board: Benchmark, team: Team, lost: str) -> None:
    made = receive(team, answer_file(board, "A" * N))
    if lost == "check":
        Job.objects.update(state=JobState.FAILED)
    else:
        FILES.discard(made)
    again = send(team, answer_file(board, "A" * N))
    assert (again.pk, again.answers) == (made.pk, "A" * N)


def test_what_is_withdrawn_before_its_check_is_not_checked(
    board: Benchmark, team: Team, django_capture_on_commit_callbacks: Any
) -> None:
    made = receive(team, answer_file(board, "A" * N))
    with django_capture_on_commit_callbacks(execute=True):
        withdraw_submission(made, "Wrong file", actor=member(team), at=AT)
    assert not FILES.folder_of(made).exists()
    made = send(team, answer_file(board, "A" * N))
    assert (made.checked_at, made.state) == (None, SubmissionState.WITHDRAWN)
    assert Job.objects.get().state == JobState.SUCCEEDED


def test_only_so_many_files_wait_and_there_is_no_limit_of_a_day(
    board: Benchmark, team: Team, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SUBMITTER_FILES = 1
    monkeypatch.setattr(submissions, "MOST_WAITING", 2)
    assert [send(team, answer_file(board, "A" * n + "B" * (N - n))).number for n in range(4)] == [1, 2, 3, 4]
    waiting = [receive(team, b"%d" % n) for n in range(2)]
    with refuses(LeaderboardRefused, "many_waiting"):
        receive(team, b"2")
    assert len(list(FILES.folder_of(waiting[0]).parent.iterdir())) == 2


@pytest.mark.parametrize(
    ("rows", "state", "code"),
    [
        (Benchmark, BenchmarkState.CLOSED, "not_open"),
        (Benchmark, BenchmarkState.DRAFT, "not_open"),
        (Team, TeamState.ASKED, "not_approved"),
    ],
)
def test_who_may_not_send_leaves_nothing(board: Benchmark, team: Team, rows: Any, state: str, code: str) -> None:
    rows.objects.update(state=state)
    with refuses(LeaderboardRefused, code):
        receive(team, answer_file(board, "A" * N))
    assert not Submission.objects.exists()
    assert list(FILES.folder_of(Submission()).parent.iterdir()) == []


def test_no_key_is_asked_for(board: Benchmark, team: Team, edition: Edition) -> None:
    """That two sites with other keys answer alike is seen in test_two_worlds_of_boards."""
    add_statement(team, statement_answers(), actor=None, at=AT)
    with CaptureQueriesContext(connection) as asked:
        made = send(team, answer_file(board, "ABCD" * 3))
        name_for_edition(made, edition, actor=None, at=AT)
        withdraw_submission(made, "Wrong file", actor=member(team), at=AT)
    assert len(asked) > 10
    assert not [one["sql"] for one in asked if AnswerKey._meta.db_table in one["sql"]]


# --- named ---
@pytest.fixture
def edition(board: Benchmark) -> Edition:
    return board.editions.get(number=1)


def test_a_submission_is_named_and_another_one_replaces_it(board: Benchmark, team: Team, edition: Edition) -> None:
    first, second = make_submission(team, "A" * N), make_submission(team, "B" * N)
    entry = name_for_edition(first, edition, actor=member(team), at=AT)
    assert first.state == SubmissionState.NAMED
    assert name_for_edition(first, edition, actor=member(team), at=AT + timedelta(days=1)).named_at == AT
    last = LATE - timedelta(seconds=1)
    again = name_for_edition(second, edition, actor=member(team), at=last)
    assert (again.pk, again.submission, again.named_at) == (entry.pk, second, last)
    assert EditionEntry.objects.count() == 1
    events = AuditEvent.objects.filter(act="submission.named").order_by("pk")
    assert [one.facts["instead_of"] for one in events] == [None, 1]
    later = board.editions.get(number=2)
    assert name_for_edition(second, later, actor=member(team), at=last).edition == later
    assert [label for _at, label in steps_of(second)][2:] == ["named for edition 1", "named for edition 2"]
    assert [one.number for one in editions_to_name(board, LATE)] == [2]


def _newer_version(made: Submission) -> None:
    old = made.version
    BenchmarkVersion.objects.create(
        benchmark=old.benchmark, number=2, protocol="{}", protocol_sha256="0" * 64, keys_salt=old.keys_salt, made_at=AT
    )


def _set(rows: Any, **values: object) -> Callable[[Submission], None]:
    return lambda _made: rows.objects.update(**values)


NOT_NAMED: dict[str, tuple[Callable[[Submission], object], str, str | None]] = {
    "withdrawn": (_set(Submission, withdrawn_at=AT), "withdrawn", None),
    "not checked": (_set(Submission, checked_at=None), "not_checked", None),
    "failed": (_set(Submission, is_sound=False, answers=""), "not_sound", None),
    "earlier version": (_newer_version, "old_version", "answers version 1; it is version 2 now"),
    "proposed": (_set(Edition, proposed_at=AT), "past", "until 2026-06-01"),
    "published": (_set(Edition, published_at=AT), "past", None),
    "closed": (_set(Benchmark, state=BenchmarkState.CLOSED), "not_open", None),
}


@pytest.mark.parametrize("name", NOT_NAMED)
def test_what_cannot_be_scored_is_not_named(team: Team, edition: Edition, name: str) -> None:
    change, code, sentence = NOT_NAMED[name]
    made = make_submission(team, "A" * N)
    change(made)
    with refuses(LeaderboardRefused, code, match=sentence):
        name_for_edition(made, edition, actor=None, at=AT)


def test_after_the_date_in_utc_nothing_is_named(team: Team, edition: Edition) -> None:
    with refuses(LeaderboardRefused, "past", match="until 2026-06-01"):
        name_for_edition(make_submission(team, "A" * N), edition, actor=None, at=LATE)


def test_a_team_with_a_member_who_is_barred_names_nothing(
    team: Team, edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is not told why: the sentence for coordinators names the bank."""
    monkeypatch.setattr(teams, "barred_because", lambda person, board: "reviewed questions of “private”")
    with refuses(LeaderboardRefused, "barred", match="could have seen answers to its questions.$"):
        name_for_edition(make_submission(team, "A" * N), edition, actor=None, at=AT)


def test_naming_needs_a_statement_that_is_not_refused(
    board: Benchmark, team: Team, edition: Edition, cora: User
) -> None:
    made = send(team, answer_file(board, "A" * N))
    with refuses(LeaderboardRefused, "no_statement"):
        name_for_edition(made, edition, actor=None, at=AT)
    first = add_statement(team, statement_answers(), actor=None, at=AT)
    refuse_statement(first, "Advertising", actor=cora, at=AT)
    with refuses(LeaderboardRefused, "refused_statement", match="Advertising"):
        name_for_edition(made, edition, actor=None, at=AT)
    second = add_statement(team, statement_answers(model="Other"), actor=None, at=AT)
    assert name_for_edition(made, edition, actor=None, at=AT).submission.statement == second
    third = add_statement(team, statement_answers(model="Third"), actor=None, at=AT)
    again = name_for_edition(made, edition, actor=None, at=AT)
    assert again.submission.statement == second, "a newer one is of another model unless somebody says so"
    name_for_edition(made, edition, statement=third, actor=None, at=AT)
    made.refresh_from_db()
    assert made.statement == third


# --- withdrawn ---
def test_before_publication_it_leaves_its_editions(team: Team, edition: Edition) -> None:
    made = make_submission(team, "A" * N, edition=edition)
    for reason in ("  ", "x" * 1_001):
        with refuses(LeaderboardRefused, "bad_text"):
            withdraw_submission(made, reason, actor=member(team), at=AT)
    withdraw_submission(made, " A\u202e wrong\u200b \n file ", actor=member(team), at=AT)
    made.refresh_from_db()
    assert (made.state, made.withdrawn_because) == (SubmissionState.WITHDRAWN, "A wrong file")
    assert not EditionEntry.objects.exists()
    with refuses(LeaderboardRefused, "withdrawn"):
        withdraw_submission(made, "Again", actor=member(team), at=AT)


def test_after_publication_its_entry_and_numbers_stay(board: Benchmark, team: Team, edition: Edition) -> None:
    made = make_submission(team, "A" * N, edition=edition)
    Edition.objects.filter(pk=edition.pk).update(published_at=AT)
    EditionEntry.objects.create(edition=board.editions.get(number=2), team=team, submission=made, named_at=AT)
    withdraw_submission(made, "Trained on the questions", actor=member(team), at=AT)
    assert [one.edition.number for one in EditionEntry.objects.all()] == [1]
    made.refresh_from_db()
    assert made.answers == "A" * N
    facts = AuditEvent.objects.get(act="submission.withdrawn").facts
    assert facts == {"reason": "Trained on the questions", "left": [2]}
