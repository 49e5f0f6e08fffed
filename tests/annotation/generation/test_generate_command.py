"""manage.py generate_questions."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from annotation.call_enums import BatchState, EndpointPlace
from annotation.generation.kernels.answer_forms import QUESTIONS
from annotation.model_calls.versions import version_of
from annotation.models import CallBatch, GenerationRun, PromptVersion, QuestionBank
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.generation.made import bank_with_reports
from tests.annotation.generation.test_planning_generation import NAMED, reports_file
from tests.annotation.model_calls.simulated_calls import ENDPOINT, NOON, asked_server, make_permission
from tests.commands import ends_with_2, printed

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def server() -> Iterator[StandIn]:
    with asked_server(place=EndpointPlace.MACHINE) as found:
        yield found


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    made = bank_with_reports(tmp_path)
    make_permission(made, reports=True, expires_at=datetime(2100, 1, 1, tzinfo=UTC))
    return made


def generate(asked: QuestionBank, *more: str, **changes: Any) -> str:
    given = {"per_exam": 2, "seed": 1, "endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "bank": asked.slug} | changes
    return printed("generate_questions", *more, **given)


def test_it_plans_and_starts(bank: QuestionBank) -> None:
    told = json.loads(generate(bank, "--exams=3", "--json"))
    run = GenerationRun.objects.get(public_id=told["run"])
    assert (told["reports"], told["calls"], told["source"]) == (3, 6, "bank")
    assert run.bullets_batch.state == BatchState.RUNNING
    words = generate(bank, "--exams=3")
    assert "3 reports; at most 2 questions from each, by stand-in-json at stand-in." in words
    assert GenerationRun.objects.exclude(pk=run.pk).get().public_id in words


def test_a_dry_run_stores_nothing_and_sends_nothing(bank: QuestionBank, server: StandIn) -> None:
    told = json.loads(generate(bank, "--exams=3", "--json", "--dry-run"))
    assert told["run"] is None
    assert sum(one.objects.count() for one in (GenerationRun, CallBatch, PromptVersion)) == 0
    assert "dry run" in generate(bank, "--exams=3", "--dry-run")
    assert not server.ledger


def test_a_version_of_a_prompt_is_named(bank: QuestionBank) -> None:
    version_of(QUESTIONS, at=NOON)
    told = json.loads(generate(bank, "--exams=3", "--json", f"--questions-prompt={QUESTIONS.name}@1"))
    assert told["prompts"][1] == f"{QUESTIONS.name} v1"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bank": "nowhere"}, "no bank named"),
        ({"findings_prompt": "nothing"}, "no prompt “nothing”"),
        ({"max_cost": "cheap"}, "--max-cost: a number"),
        ({"max_cost": "5"}, "Enter its price"),
    ],
)
def test_bad_input_ends_with_status_2(bank: QuestionBank, changes: dict[str, Any], words: str) -> None:
    with ends_with_2(words):
        generate(bank, "--exams=3", **changes)
    assert not GenerationRun.objects.exists()


def test_a_report_with_an_identifier_and_no_file_at_all_are_refused(bank: QuestionBank, tmp_path: Path) -> None:
    path = reports_file(tmp_path, 21, Findings=NAMED)
    with pytest.raises(CommandError, match="row 1: the report holds what looks like an identifier") as found:
        generate(bank, f"--reports={path}")
    assert str(found.value).endswith("Nothing was stored, nothing was sent.")
    assert "a name" in str(found.value)
    with ends_with_2("No such file"):
        generate(bank, f"--reports={tmp_path / 'none.json'}")


def test_a_folder_and_an_archive_of_texts_named_by_their_exams(bank: QuestionBank, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "study-1.txt").write_text("FINDINGS: A nodule.\nIMPRESSION: Normal.")
    (folder / "study-2.txt").write_text(NAMED)
    told = json.loads(generate(bank, f"--reports={folder}", "--json", "--dry-run"))
    assert (told["reports"], told["source"]) == (1, "file")
    assert told["refused"] == [{"exam": "study-2.txt", "rules": ["identifier_name"]}]
    with zipfile.ZipFile(tmp_path / "texts.zip", "w") as archive:
        for text in folder.iterdir():
            archive.write(text, f"texts/{text.name}")
    told = generate(bank, f"--reports={tmp_path / 'texts.zip'}", "--mask")
    assert "2 reports; at most 2 questions from each" in told
    assert "Reports sent masked: 1." in told
    assert GenerationRun.objects.get().file_name == "texts.zip"
    (folder / "a.pdf").write_bytes(b"%PDF")
    with ends_with_2(r"'a\.pdf' is no report"):
        generate(bank, f"--reports={folder}")


def test_chosen_exams_and_every_exam(bank: QuestionBank) -> None:
    told = json.loads(generate(bank, "--exam=study-1", "--exam=study-2", "--json", "--dry-run"))
    assert (told["reports"], told["source"]) == (2, "chosen")
    assert json.loads(generate(bank, "--every-exam", "--json", "--dry-run"))["reports"] == 4
    with pytest.raises(CommandError, match="no exam with this id: nobody"):
        generate(bank, "--exam=nobody")
