"""Reviews of a round page by page, as its file has them, hidden from who still judges blind; and files of reviews."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.enums import AssignmentState, Role, RoundState
from annotation.models import Assignment, AuditEvent, Review, ReviewRound, SeenKey, User
from annotation.models.people import TokenScope
from tests.annotation.api.asking import Program, problem_of, program_of
from tests.annotation.api.test_incoming import send
from tests.annotation.exports.review_files import as_csv, review_cells
from tests.annotation.review.cases import make_round
from tests.annotation.rounds.made import say

REVIEWS = "rounds/mine/reviews/"
NOTING = re.compile("SAVEPOINT|pg_advisory")


@pytest.fixture
def review_round(rita: User, remo: User) -> ReviewRound:
    """Open, with two reviewers of three questions each."""
    return make_round(rita, remo, n_questions=3, name="Mine")


@pytest.fixture
def script(cora: User, review_round: ReviewRound) -> Program:
    return program_of(cora, Role.COORDINATOR, TokenScope.ROUND, "mine")


def submitted(n: int) -> None:
    for assignment in Assignment.objects.order_by("pk")[:n]:
        say(assignment)


def walked(script: Program, address: str) -> list[dict[str, Any]]:
    rows, following = [], address
    while following:
        page = script.get(following).json()
        rows += page["results"]
        following = page["next"]
    return rows


# --- the list -------------------------------------------------------------------------------------
@pytest.mark.logs("round.reviews_read", "key.seen")
def test_pages_hold_the_rows_of_the_file(script: Program) -> None:
    submitted(5)
    say(Assignment.objects.order_by("pk")[0], version=2, verdict="reject")
    rows = walked(script, f"{REVIEWS}?limit=2")
    file = b"".join(script.get(f"{REVIEWS}jsonl/").streaming_content)
    whole = {row["assignment_id"]: row for row in map(json.loads, file.decode().splitlines())}
    assert [row["version"] for row in rows] == [1, 1, 1, 1, 2]
    assert len(rows) == len(whole) == 5
    for row in rows:
        times = {name for name in row if name.endswith("_at")}
        told = whole[row["assignment_id"]]
        assert [name for name in row if name in told] == list(told)
        assert {n: v for n, v in row.items() if n in told and n not in times} == {
            n: told[n] for n in told if n not in times
        }
        assert {row[name] for name in row.keys() - told.keys()} <= {None}, "of a grade that this form does not ask"
    assert "Rita" not in json.dumps(rows)
    assert {row["reviewer"] for row in rows} == {row["reviewer"] for row in whole.values()}
    assert sum(one.facts["rows"] for one in AuditEvent.objects.filter(act="round.reviews_read")) == 5


def test_whoever_reads_reviews_has_seen_their_keys(script: Program, cora: User) -> None:
    submitted(3)
    script.get(f"{REVIEWS}?limit=1")
    [first] = SeenKey.objects.filter(person=cora).values_list("question", flat=True)
    assert first == Review.objects.order_by("pk")[0].assignment.revision.question_id


def test_filters_and_fields(script: Program) -> None:
    submitted(6)
    say(Assignment.objects.order_by("pk")[0], version=2, verdict="reject")
    [row] = script.get(f"{REVIEWS}?verdict=reject&fields=verdict,question,version").json()["results"]
    assert (row["verdict"], row["version"]) == ("reject", 2)
    both = script.get(f"{REVIEWS}?question={row['question']}&fields=question").json()["results"]
    assert both == [{"question": row["question"]}] * 2
    problem_of(script.get(f"{REVIEWS}?verdict=maybe"), 422, "invalid")
    problem_of(script.get(f"{REVIEWS}?fields=reviewer_name"), 400, "unknown_field")


def test_who_reviews_blind_sees_none(script: Program, cora: User, review_round: ReviewRound) -> None:
    submitted(2)
    waiting = Assignment.objects.filter(state=AssignmentState.WAITING)[0]
    Assignment.objects.create(round=review_round, reviewer=cora, revision=waiting.revision, position=9)
    problem_of(script.get(REVIEWS), 403, "forbidden")
    problem_of(send(script, "rounds/mine/import/", {"file": csv_file(as_csv([review_cells(1)]))}), 403, "forbidden")
    assert not AuditEvent.objects.filter(act="round.reviews_read").exists()
    assert not SeenKey.objects.exists()
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert len(script.get(REVIEWS).json()["results"]) == 2


def test_few_queries_however_many_rows(script: Program) -> None:
    """Twelve, without the savepoint and the lock of the log with which reading is noted; three more store new keys."""

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            script.get(REVIEWS)
        return len([one for one in queries.captured_queries if not NOTING.search(one["sql"])])

    script.get("me/")
    submitted(6)
    assert asked() <= 15
    of_six = asked()
    assert of_six <= 12
    Review.objects.exclude(pk=Review.objects.order_by("pk")[0].pk).delete()
    assert asked() == of_six


# --- files of reviews -----------------------------------------------------------------------------
def csv_file(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("reviews.csv", text.encode())


@pytest.mark.logs("reviews.imported")
def test_reviews_made_elsewhere_come_in_whole_and_once_for_each_key(script: Program) -> None:
    text, address = as_csv([review_cells(n) for n in (1, 2, 3)]), "rounds/mine/import/"
    tried = send(script, address, {"file": csv_file(text), "dry_run": "true"})
    assert (tried.status_code, tried.json()["n_reviews"], tried.json()["stored"]) == (201, 3, False)
    assert not Review.objects.exists()
    made = send(script, address, {"file": csv_file(text)}, idempotency_key="k")
    assert (made.json()["n_reviews"], made.json()["n_reviewers"], made.json()["stored"]) == (3, 1, True)
    assert send(script, address, {"file": csv_file(text)}, idempotency_key="k").json() == made.json()
    assert Review.objects.count() == 3


def test_one_row_that_is_wrong_and_nothing_is_stored(script: Program) -> None:
    text = as_csv([review_cells(1), review_cells(2, verdict="maybe"), review_cells(3, "nobody@example.org")])
    told = problem_of(send(script, "rounds/mine/import/", {"file": csv_file(text)}), 422, "rows_refused")
    assert [one["field"] for one in told["errors"]] == ["3.verdict", "4.reviewer"]
    assert not Review.objects.exists()
    problem_of(send(script, "rounds/mine/import/", {"file": csv_file("")}), 422, "rows_refused")
    ReviewRound.objects.update(state=RoundState.CLOSED)
    problem_of(send(script, "rounds/mine/import/", {"file": csv_file(text)}), 409, "round_not_open")
