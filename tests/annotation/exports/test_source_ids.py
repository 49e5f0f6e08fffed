"""The ids of the imported file: on the question page, as a table, as a column of exports; never for others."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client

from annotation.enums import RoundState
from annotation.exports.reviews import columns_of_reviews
from annotation.exports.tables import restored
from annotation.models import Assignment, AuditEvent, BlindAnswer, Question, QuestionBank, ReviewRound, User
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import images_are_there
from tests.annotation.rounds.made import say, theirs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_pixels")]
IDS = {f"own/{n} ä;=1": make_record(n, exam=n) for n in (1, 2, 3)}


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    run_import(write_file(tmp_path, IDS), bank="Chest")
    return QuestionBank.objects.get()


@pytest.fixture
def reviewed(bank: QuestionBank, rita: User, cora: User, noon: datetime) -> ReviewRound:
    images_are_there(bank)
    plan = draw_sample(bank, name="S", by=StratifyBy.DIFFICULTY, per_thousand=1000, actor=cora, at=noon)
    made = create_round(plan, name="Round", reviewers=[rita], reviewers_per_question=1, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    for assignment in theirs(rita):
        say(assignment)
    return made


def body(response: object) -> list[dict[str, str]]:
    text = b"".join(response.streaming_content).decode("utf-8-sig")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_coordinator_sees_the_own_id_of_a_question(client: Client, bank: QuestionBank, cora: User, ada: User) -> None:
    client.force_login(cora)
    assert "own/2 ä;=1" in client.get("/banks/chest/2/").content.decode()
    client.force_login(ada)
    assert "own/2" not in client.get("/banks/chest/2/").content.decode()


def test_the_table_of_ids_names_every_question_and_is_noted(client: Client, bank: QuestionBank, cora: User) -> None:
    client.force_login(cora)
    rows = body(client.get("/banks/chest/ids.csv"))
    assert [(row["question"], restored(row["source_id"])) for row in rows] == [
        (str(n), f"own/{n} ä;=1") for n in (1, 2, 3)
    ]
    assert restored(rows[0]["question_id"]) == Question.objects.get(number=1).public_id
    event = AuditEvent.objects.get(act="bank.source_ids_taken")
    assert (event.actor, event.facts["rows"]) == (cora, 3)


def test_reviews_of_a_closed_round_can_carry_them(client: Client, reviewed: ReviewRound, cora: User) -> None:
    client.force_login(cora)
    address = "/rounds/round/export/csv/"
    assert client.get(f"{address}?source_ids=1").status_code == 403
    ReviewRound.objects.update(state=RoundState.CLOSED)
    rows = body(client.get(f"{address}?source_ids=1"))
    assert [restored(row["source_id"]) for row in rows] == [f"own/{row['question']} ä;=1" for row in rows]
    assert len(rows) == 3
    assert "source_id" not in body(client.get(address))[0]
    assert "source_id" in client.get("/rounds/round/codebook/").content.decode()


def test_the_command_takes_them_from_a_closed_round(reviewed: ReviewRound, tmp_path: Path) -> None:
    path = tmp_path / "reviews.csv"
    arguments = ("export_reviews", "--round", "round", "--format", "csv", "--output", str(path), "--source-ids")
    with pytest.raises(CommandError, match="not closed yet"):
        call_command(*arguments)
    assert not path.exists()
    ReviewRound.objects.update(state=RoundState.CLOSED)
    call_command(*arguments, verbosity=0)
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        assert list(table.fieldnames or ()) == [
            *(column.name for column in columns_of_reviews(ReviewRound(), source_ids=False)),
            "source_id",
        ]
        assert {restored(row["source_id"]) for row in table} == set(IDS)


def test_a_coordinator_who_is_still_to_answer_blind_sees_none(
    client: Client, reviewed: ReviewRound, cora: User, rita: User
) -> None:
    assignment = theirs(rita)[0]
    Assignment.objects.filter(pk=assignment.pk).update(reviewer=cora)
    BlindAnswer.objects.filter(assignment=assignment).delete()
    client.force_login(cora)
    number = assignment.revision.question.number
    assert client.get("/banks/chest/ids.csv").status_code == 403
    for other in (1, 2, 3):
        shown = f"own/{other} ä;=1" in client.get(f"/banks/chest/{other}/").content.decode()
        assert shown == (other != number)
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert client.get("/banks/chest/ids.csv").status_code == 200
