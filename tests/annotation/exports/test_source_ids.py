"""Files that a bank gives on its pages: the ids of its questions, which stand in exports as well, and all of it."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from pytest_django import Settings

from annotation.enums import QuestionState, RoundState
from annotation.exports.reviews import columns_of_reviews
from annotation.models import Assignment, AuditEvent, BlindAnswer, Question, QuestionBank, ReviewRound, SeenKey, User
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.tables.writing import restored
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.review.cases import images_are_there
from tests.annotation.rounds.made import make_open, make_sample, say, theirs

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_pixels")]


IDS = {f"own/{n} ä;=1": make_record(n, exam=n) for n in (1, 2, 3)}


@pytest.fixture
def bank(tmp_path: Path, settings: Settings) -> QuestionBank:
    settings.TEMP_ROOT = tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    run_import(write_file(tmp_path, IDS), bank="Chest")
    return QuestionBank.objects.get()


@pytest.fixture
def reviewed(bank: QuestionBank, rita: User, cora: User, noon: datetime) -> ReviewRound:
    images_are_there(bank)
    plan = draw_sample(bank, name="S", by=StratifyBy.DIFFICULTY, per_thousand=1000, actor=cora, at=noon)
    made = make_open(plan, rita, actor=cora, reviewers_per_question=1)
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
        columns = columns_of_reviews(ReviewRound(), source_ids=False)
        assert list(table.fieldnames or ()) == [*(column.name for column in columns), "source_id"]
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


# --- the button on the page of a bank: who gets the files, who does not, and what is noted ---
ADDRESS = "/banks/chest/export/"
ASKED = {"form": "rexvqa", "revisions": "latest"}


def downloaded(client: Client, **asked: str) -> dict[str, bytes]:
    answer = client.get(ADDRESS, {**ASKED, **asked})
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_coordinator_downloads_the_bank_and_it_is_noted(
    client: Client, cora: User, bank: QuestionBank, settings: Settings
) -> None:
    client.force_login(cora)
    page = client.get("/banks/chest/").content.decode()
    assert f'action="{ADDRESS}"' in page
    assert "can no longer judge these questions blind" in page
    Question.objects.filter(number=2).update(state=QuestionState.ACCEPTED)
    files = downloaded(client, state="accepted")
    assert list(files) == [f"chest/{name}" for name in ("card.md", "changes.csv", "changes.md", "questions.json")]
    assert list(json.loads(files["chest/questions.json"])) == ["own/2 ä;=1"]
    event = AuditEvent.objects.get(act="bank.exported")
    assert (event.actor, event.facts["states"], event.facts["questions"]) == (cora, ["accepted"], 1)
    seen = SeenKey.objects.get(person=cora)
    assert (seen.source, seen.question.number) == ("bank_export", 2)
    assert files == downloaded(client, state="accepted")
    assert len(downloaded(client, form="csv")["chest/questions.csv"].splitlines()) == 4
    assert list(Path(settings.TEMP_ROOT).iterdir()) == []


def test_what_there_is_not_is_refused(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    for wrong in ({"form": "pdf"}, {"revisions": "first"}, {"state": "good"}, {"form": ""}):
        assert client.get(ADDRESS, {**ASKED, **wrong}).status_code == 422
    assert client.get("/banks/nonesuch/export/", ASKED).status_code == 404
    assert not AuditEvent.objects.filter(act="bank.exported").exists()


def test_a_coordinator_who_is_still_to_answer_blind_gets_none(client: Client, cora: User) -> None:
    plan = make_sample(2)
    make_open(plan, cora, actor=cora, reviewers_per_question=1)
    client.force_login(cora)
    answer = client.get(f"/banks/{plan.bank.slug}/export/", ASKED)
    assert answer.status_code == 403
    assert "You review questions of this bank yourself" in answer.content.decode()
    assert not SeenKey.objects.exists()
