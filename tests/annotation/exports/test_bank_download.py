"""The button on the page of a bank: who gets the files, who does not, and what is noted."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import datetime
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from annotation.enums import QuestionState
from annotation.models import AuditEvent, BlindAnswer, Question, QuestionBank, SeenKey, User
from annotation.review.rounds import create_round, open_round
from tests.annotation.questionbank.files import make_record, run_import, write_file
from tests.annotation.rounds.made import make_sample

pytestmark = pytest.mark.django_db
ADDRESS = "/banks/chest/export/"
ASKED = {"form": "rexvqa", "revisions": "latest"}


@pytest.fixture(autouse=True)
def bank(tmp_path: Path, settings: Settings) -> QuestionBank:
    settings.TEMP_ROOT = tmp_path / "tmp"
    settings.TEMP_ROOT.mkdir()
    run_import(write_file(tmp_path, {f"own-{n}": make_record(n, exam=n) for n in (1, 2, 3)}), bank="Chest")
    return QuestionBank.objects.get()


def downloaded(client: Client, **asked: str) -> dict[str, bytes]:
    answer = client.get(ADDRESS, {**ASKED, **asked})
    assert answer.status_code == 200
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_coordinator_downloads_the_bank_and_it_is_noted(
    client: Client, cora: User, tmp_path: Path, settings: Settings
) -> None:
    client.force_login(cora)
    page = client.get("/banks/chest/").content.decode()
    assert f'action="{ADDRESS}"' in page
    assert "can no longer judge these questions blind" in page
    Question.objects.filter(number=2).update(state=QuestionState.ACCEPTED)
    files = downloaded(client, state="accepted")
    assert list(files) == [f"chest/{name}" for name in ("card.md", "changes.csv", "changes.md", "questions.json")]
    assert list(json.loads(files["chest/questions.json"])) == ["own-2"]
    event = AuditEvent.objects.get(act="bank.exported")
    assert (event.actor, event.facts["states"], event.facts["questions"]) == (cora, ["accepted"], 1)
    seen = SeenKey.objects.get(person=cora)
    assert (seen.source, seen.question.number) == ("bank_export", 2)
    assert files == downloaded(client, state="accepted")
    assert len(downloaded(client, form="csv")["chest/questions.csv"].splitlines()) == 4
    assert list(Path(settings.TEMP_ROOT).iterdir()) == []


def test_what_there_is_not_is_refused(client: Client, cora: User) -> None:
    client.force_login(cora)
    for wrong in ({"form": "pdf"}, {"revisions": "first"}, {"state": "good"}, {"form": ""}):
        assert client.get(ADDRESS, {**ASKED, **wrong}).status_code == 422
    assert client.get("/banks/nonesuch/export/", ASKED).status_code == 404
    assert not AuditEvent.objects.filter(act="bank.exported").exists()


@pytest.mark.usefixtures("without_pixels")
def test_a_coordinator_who_is_still_to_answer_blind_gets_none(client: Client, cora: User, noon: datetime) -> None:
    plan = make_sample(2)
    made = create_round(plan, name="Round", reviewers=[cora], reviewers_per_question=1, actor=cora, at=noon)
    open_round(made, actor=cora, at=noon)
    client.force_login(cora)
    answer = client.get(f"/banks/{plan.bank.slug}/export/", ASKED)
    assert answer.status_code == 403
    assert "You review questions of this bank yourself" in answer.content.decode()
    assert not BlindAnswer.objects.exists()
    assert not SeenKey.objects.exists()
