"""A file is received, checked without any key, named for an edition, and withdrawn."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import Settings

from annotation.enums import JobState, Role
from annotation.jobs.running import run as run_job
from annotation.models import AnswerKey, AuditEvent, Job, User
from readerstudy.enums import BenchmarkState, SubmissionState, TeamState
from readerstudy.leaderboard import submissions, teams
from readerstudy.leaderboard.access import LeaderboardRefused
from readerstudy.leaderboard.statements import add_statement, refuse_statement
from readerstudy.leaderboard.submissions import (
    CHECK,
    FILES,
    MOST_LISTED,
    MOST_WAITING,
    check_file,
    editions_to_name,
    name_for_edition,
    receive_submission,
    steps_of,
    withdraw_submission,
)
from readerstudy.models import Benchmark, BenchmarkVersion, Edition, EditionEntry, Prediction, Submission, Team
from tests.conftest import make_person
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.leaderboard.made import (
    FIRST_EDITION,
    answer_file,
    make_benchmark,
    make_submission,
    make_team,
    names_of,
    statement_answers,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
AT = datetime(2026, 5, 1, 12, tzinfo=UTC)
N = 12


def member(team: Team) -> User:
    return team.members.get().user


def send(team: Team, content: bytes, *, duplicates: str = "", name: str = "answers.jsonl") -> Submission:
    """Received, and checked as a worker does it."""
    made = receive_submission(team, [content], name, duplicates=duplicates, actor=member(team), at=AT)
    for job in Job.objects.filter(kind=CHECK, state=JobState.QUEUED):
        run_job(job.public_id, clock=lambda: AT + timedelta(minutes=1))
    made.refresh_from_db()
    return made


def problems(made: Submission) -> list[tuple[int, str]]:
    return [(row, text) for row, _id, text in made.report["problems"]]


# --- received and checked ---
def test_a_file_is_checked_and_then_gone(board: Benchmark, team: Team) -> None:
    made = receive_submission(team, [answer_file(board, "ABCD" * 3)], "a/b.jsonl", actor=member(team), at=AT)
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
    rows = [{"id": names[0], "pred_answer": "B"}, {"id": names[2], "pred_answer": "I cannot say"}]
    rows += [{"id": names[3], "pred_answer": "Either A or B"}, {"id": names[0], "pred_answer": "B"}]
    made = send(team, "\n".join(map(json.dumps, rows)).encode())
    assert made.is_sound
    assert made.answers == "B-??" + "-" * (N - 4)
    counts = {name: made.report[f"n_{name}"] for name in ("answered", "failed", "two_answers", "missing", "duplicate")}
    assert counts == {"answered": 1, "failed": 2, "two_answers": 1, "missing": N - 3, "duplicate": 1}
    assert made.report["failed"][0] == [2, names[2], "I cannot say"]
    assert made.report["missing"][0] == names[1]


def test_a_table_a_list_and_an_object_are_read_too(board: Benchmark, team: Team) -> None:
    pairs = list(zip(names_of(board), "ABCD" * 3, strict=True))
    table = "id,prediction\n" + "".join(f"{name},{one}\n" for name, one in pairs)
    forms = [table, json.dumps(dict(pairs)), json.dumps([{"id": name, "model_answer": one} for name, one in pairs])]
    assert {send(team, text.encode()).answers for text in forms} == {"ABCD" * 3}
    assert Submission.objects.count() == 3


def bomb() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", "<Types/>")
        packed.writestr("xl/worksheets/sheet1.xml", b"<row/>" * 60_000_000)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "row", "sentence"),
    [
        (b"", 0, "file is empty"),
        (b'{"id": "1", "pred_answer": "A"', 0, "line 1"),
        (b"\x00\x01\x02", 0, ""),
        (b'{"a": 1}\n{"b": 2}\n', 0, "No record has its answer"),
        (b'{"id": "q-1", "pred_answer": "A"}\n{"id": "q-2", "pred_answer": "B"}\n', 0, "another benchmark"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(team: Team, content: bytes, row: int, sentence: str) -> None:
    made = send(team, content)
    assert (made.state, made.is_sound, made.answers) == (SubmissionState.FAILED, False, "")
    first, text = problems(made)[0]
    assert sentence in text
    assert first == row
    assert not FILES.folder_of(made).exists()


def test_a_bomb_is_a_sentence(team: Team) -> None:
    made = send(team, bomb(), name="answers.xlsx")
    assert not made.is_sound
    assert len(problems(made)) == 1


def test_a_file_above_the_limit_is_a_sentence(team: Team, monkeypatch: pytest.MonkeyPatch, board: Benchmark) -> None:
    monkeypatch.setattr("readerstudy.predictions.kernels.streamed_predictions.MOST_BYTES", 100)
    assert problems(send(team, answer_file(board, "A" * N))) == [(0, "The file is too large. Split it.")]


def test_an_unknown_id_refuses_the_file_and_is_named_with_its_row(board: Benchmark, team: Team) -> None:
    made = send(
        team, answer_file(board, "A" * N) + b'{"id": "x", "pred_answer": "A"}\n{"id": "y", "pred_answer": "A"}\n'
    )
    assert not made.is_sound
    assert made.report["unknown"] == ["x", "y"]
    [[row, name, text]] = made.report["problems"]
    assert (row, name) == (N + 1, "x")
    assert "the first of 2 such ids" in text


def test_two_different_answers_to_one_question_are_refused_unless_one_counts(board: Benchmark, team: Team) -> None:
    name = names_of(board)[0]
    content = answer_file(board, "A" * N) + f'{{"id": "{name}", "pred_answer": "B"}}\n'.encode()
    assert [row for row, _text in problems(send(team, content))] == [N + 1]
    assert send(team, content, duplicates="last").answers == "B" + "A" * (N - 1)
    assert send(team, content, duplicates="first").answers == "A" * N
    assert Submission.objects.count() == 3


def test_long_lists_are_cut_in_the_report(board: Benchmark, team: Team) -> None:
    lines = "".join(f'{{"id": "x{n}", "pred_answer": "A"}}\n' for n in range(MOST_LISTED + 50))
    made = send(team, answer_file(board, "A" * N) + lines.encode())
    assert (made.report["n_unknown"], len(made.report["unknown"])) == (MOST_LISTED + 50, MOST_LISTED)


def test_the_same_file_is_the_same_submission(board: Benchmark, team: Team) -> None:
    first = send(team, answer_file(board, "A" * N))
    again = send(team, answer_file(board, "A" * N), name="other.jsonl")
    assert (again.pk, again.checked_at) == (first.pk, first.checked_at)
    assert Job.objects.filter(kind=CHECK).count() == 1
    assert list(FILES.folder_of(first).parent.iterdir()) == []
    other = make_team(board, "Team Two")
    assert send(other, answer_file(board, "A" * N)).pk != first.pk


def test_a_check_that_was_lost_begins_again_with_the_same_file(board: Benchmark, team: Team) -> None:
    made = receive_submission(team, [answer_file(board, "A" * N)], "a", actor=member(team), at=AT)
    Job.objects.update(state=JobState.FAILED)
    again = send(team, answer_file(board, "A" * N))
    assert (again.pk, again.is_sound) == (made.pk, True)


def test_a_file_that_was_lost_comes_with_the_same_file(board: Benchmark, team: Team) -> None:
    made = receive_submission(team, [answer_file(board, "A" * N)], "a", actor=member(team), at=AT)
    FILES.discard(made)
    assert send(team, answer_file(board, "A" * N)).answers == "A" * N


def test_what_is_withdrawn_before_its_check_is_not_checked(
    board: Benchmark, team: Team, django_capture_on_commit_callbacks: Any
) -> None:
    made = receive_submission(team, [answer_file(board, "A" * N)], "a", actor=member(team), at=AT)
    with django_capture_on_commit_callbacks(execute=True):
        withdraw_submission(made, "Wrong file", actor=member(team), at=AT)
    assert not FILES.folder_of(made).exists()
    made = send(team, answer_file(board, "A" * N))
    assert (made.checked_at, made.state) == (None, SubmissionState.WITHDRAWN)
    assert Job.objects.get().state == JobState.SUCCEEDED


def test_only_so_many_files_wait(board: Benchmark, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submissions, "MOST_WAITING", 2)
    assert MOST_WAITING > 2
    for n in range(2):
        receive_submission(team, [b"%d" % n], "a", actor=member(team), at=AT)
    with refuses(LeaderboardRefused, "many_waiting"):
        receive_submission(team, [b"2"], "a", actor=member(team), at=AT)
    assert len(list((FILES.folder_of(Submission.objects.all()[0]).parent).iterdir())) == 2


def test_there_is_no_limit_of_a_day(board: Benchmark, team: Team, settings: Settings) -> None:
    settings.SUBMITTER_FILES = 1
    assert [send(team, answer_file(board, "A" * n + "B" * (N - n))).number for n in range(4)] == [1, 2, 3, 4]


@pytest.mark.parametrize("state", [BenchmarkState.CLOSED, BenchmarkState.DRAFT])
def test_nothing_is_sent_to_a_benchmark_that_is_not_open(board: Benchmark, team: Team, state: str) -> None:
    Benchmark.objects.update(state=state)
    with refuses(LeaderboardRefused, "not_open"):
        send(team, answer_file(board, "A" * N))
    assert not Submission.objects.exists()
    assert list(FILES.folder_of(Submission()).parent.iterdir()) == []


def test_a_team_that_is_not_approved_sends_nothing(board: Benchmark, team: Team) -> None:
    Team.objects.update(state=TeamState.ASKED)
    with refuses(LeaderboardRefused, "not_approved"):
        send(team, answer_file(board, "A" * N))


# --- nothing depends on keys ---
def test_two_worlds_whose_keys_differ_get_the_same_report(board: Benchmark) -> None:
    """The same wordings, in the first all keys B, in the second every other one; the files as bad as they come."""
    other = make_benchmark_like(board)
    files = [answer_file(board, letters) for letters in ("ABCD" * 3, "B" * N, "B" * 4 + "-" * 8)]
    files += [files[0] + b'{"id": "x", "pred_answer": "B"}\n', files[0] + files[1], b"nothing", b"[]"]
    for content in files:
        here, there = (check_file(content, version_of(one)) for one in (board, other))
        assert json.dumps(here.report) == json.dumps(there.report)
        assert here.answers == there.answers


def make_benchmark_like(board: Benchmark) -> Benchmark:
    """Another bank with the same options, where each question has the same name and another key."""
    bank = make_questions(N, name="Other", pixels=False, key="C")
    Benchmark.objects.update(slug="first")
    other = make_benchmark(bank)
    names = dict(enumerate(names_of(board)))
    for question in version_of(other).questions.all():
        question.name = names[question.place]
        question.save()
    keys = [
        set(AnswerKey.objects.filter(revision__question__bank=one.bank).values_list("key")) for one in (board, other)
    ]
    assert keys == [{("B",)}, {("C",)}]
    return other


def version_of(board: Benchmark) -> BenchmarkVersion:
    return board.versions.get()


def test_no_key_is_asked_for(board: Benchmark, team: Team) -> None:
    edition = board.editions.get(number=1)
    add_statement(team, statement_answers(), actor=None, at=AT)
    with CaptureQueriesContext(
        connection,
    ) as asked:
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
    last = datetime(2026, 6, 1, 23, 59, 59, tzinfo=UTC)
    again = name_for_edition(second, edition, actor=member(team), at=last)
    assert (again.pk, again.submission, again.named_at) == (entry.pk, second, last)
    assert EditionEntry.objects.count() == 1
    events = AuditEvent.objects.filter(act="submission.named").order_by("pk")
    assert [one.facts["instead_of"] for one in events] == [None, 1]
    later = board.editions.get(number=2)
    assert name_for_edition(second, later, actor=member(team), at=last).edition == later
    assert [label for _at, label in steps_of(second)][2:] == ["named for edition 1", "named for edition 2"]


def test_after_the_date_in_utc_nothing_is_named(team: Team, edition: Edition, board: Benchmark) -> None:
    late = datetime(2026, 6, 2, 0, 0, tzinfo=UTC)
    assert edition.due_on == FIRST_EDITION
    with refuses(LeaderboardRefused, "past", match="until 2026-06-01"):
        name_for_edition(make_submission(team, "A" * N), edition, actor=None, at=late)
    assert [one.number for one in editions_to_name(board, late)] == [2]


@pytest.mark.parametrize("column", ["proposed_at", "published_at"])
def test_an_edition_that_is_being_scored_takes_no_names(team: Team, edition: Edition, column: str) -> None:
    Edition.objects.filter(pk=edition.pk).update(**{column: AT})
    with refuses(LeaderboardRefused, "past"):
        name_for_edition(make_submission(team, "A" * N), edition, actor=None, at=AT)


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [("withdrawn_at", AT, "withdrawn"), ("checked_at", None, "not_checked")],
)
def test_only_what_can_be_scored_is_named(team: Team, edition: Edition, column: str, value: object, code: str) -> None:
    made = make_submission(team, "A" * N)
    Submission.objects.update(**{column: value})
    with refuses(LeaderboardRefused, code):
        name_for_edition(made, edition, actor=None, at=AT)


def test_a_failed_check_is_never_named(team: Team, edition: Edition) -> None:
    with refuses(LeaderboardRefused, "not_sound"):
        name_for_edition(send(team, b"nothing"), edition, actor=None, at=AT)


def test_answers_to_an_earlier_version_are_not_named(board: Benchmark, team: Team, edition: Edition) -> None:
    made = make_submission(team, "A" * N)
    old = board.versions.get()
    BenchmarkVersion.objects.create(
        benchmark=board, number=2, protocol="{}", protocol_sha256="0" * 64, keys_salt=old.keys_salt, made_at=AT
    )
    with refuses(LeaderboardRefused, "old_version", match="answers version 1; it is version 2 now"):
        name_for_edition(made, edition, actor=None, at=AT)


def test_naming_needs_a_statement_that_is_not_refused(board: Benchmark, team: Team, edition: Edition) -> None:
    made = send(team, answer_file(board, "A" * N))
    with refuses(LeaderboardRefused, "no_statement"):
        name_for_edition(made, edition, actor=None, at=AT)
    first = add_statement(team, statement_answers(), actor=None, at=AT)
    refuse_statement(first, "Advertising", actor=make_person("Cora", Role.COORDINATOR), at=AT)
    with refuses(LeaderboardRefused, "refused_statement", match="Advertising"):
        name_for_edition(made, edition, actor=None, at=AT)
    second = add_statement(team, statement_answers(model="Other"), actor=None, at=AT)
    assert name_for_edition(made, edition, actor=None, at=AT).submission.statement == second
    third = add_statement(team, statement_answers(model="Third"), actor=None, at=AT)
    name_for_edition(made, edition, actor=None, at=AT)
    made.refresh_from_db()
    assert made.statement == second, "a newer one is of another model unless somebody says so"
    name_for_edition(made, edition, statement=third, actor=None, at=AT)
    made.refresh_from_db()
    assert made.statement == third


def test_a_team_with_a_member_who_is_barred_names_nothing(
    team: Team, edition: Edition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is not told why: the sentence for coordinators names the bank."""
    monkeypatch.setattr(teams, "barred_because", lambda person, board: "reviewed questions of “private”")
    with refuses(LeaderboardRefused, "barred", match="could have seen answers to its questions.$"):
        name_for_edition(make_submission(team, "A" * N), edition, actor=None, at=AT)


def test_a_closed_benchmark_takes_no_names(board: Benchmark, team: Team, edition: Edition) -> None:
    made = make_submission(team, "A" * N)
    Benchmark.objects.update(state=BenchmarkState.CLOSED)
    with refuses(LeaderboardRefused, "not_open"):
        name_for_edition(made, edition, actor=None, at=AT)


# --- withdrawn ---
def test_before_publication_it_leaves_its_editions(team: Team, edition: Edition) -> None:
    made = make_submission(team, "A" * N, edition=edition)
    withdraw_submission(made, " A wrong  file ", actor=member(team), at=AT)
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


def test_a_withdrawal_needs_a_reason(team: Team) -> None:
    with refuses(LeaderboardRefused, "bad_text"):
        withdraw_submission(make_submission(team, "A" * N), "  ", actor=member(team), at=AT)
