"""The pages of generation runs, and where a generated question says what it stands on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from annotation.call_enums import BatchState, EndpointPlace
from annotation.enums import RoundState, RoundSteps
from annotation.generation.generation_progress import GenerationProgress
from annotation.generation.kernels.answer_forms import QUESTIONS
from annotation.model_calls.versions import version_of
from annotation.models import CallBatch, GenerationRun, PromptVersion, QuestionBank, Revision, SendingPermission, User
from annotation.questionbank.filters import BankSearch
from annotation.site.sentences import listed
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.generation.test_planning_generation import NAMED, reports_file
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, NOON, asked_server, make_permission
from tests.annotation.review.cases import make_round, reviewing
from tests.commands import ends_with_2, printed

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(tmp_path: Path) -> GenerationRun:
    return written_run(bank_with_reports(tmp_path, 3), per_exam=6, server_seed=7)


def address(run: GenerationRun) -> str:
    return reverse("generation-run", args=[run.bank.slug, run.public_id])


def question_of(run: GenerationRun) -> Revision:
    return Revision.objects.select_related("question").filter(bank_import=run.bank_import).order_by("pk")[0]


def test_a_run_tells_what_was_made_and_why_not(
    client: Client, cora: User, run: GenerationRun, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    with django_assert_max_num_queries(12):
        page = client.get(address(run)).content.decode()
    progress = GenerationProgress(run)
    assert progress.n_not_made == 18 - run.n_made > 0
    for one in progress.not_made:
        assert one.rule in page
    assert "wait for review" in page
    assert "nodule" not in page  # no word of a report


def test_the_fragment_is_the_figures_alone_and_looks_again_while_the_run_is_at_work(
    client: Client, cora: User, run: GenerationRun
) -> None:
    client.force_login(cora)
    part = client.get(address(run), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Questions made" in part
    assert "hx-get" not in part  # the run is over
    GenerationRun.objects.filter(pk=run.pk).update(finished_at=None)
    page = client.get(address(run)).content.decode()
    assert 'hx-trigger="every 5s"' in page
    assert "a worker takes the next step" in page


ASKED = {"exams": "2", "per_exam": "3", "seed": "7", "endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "temperature": "0"}


@pytest.fixture
def reports(tmp_path: Path, settings: Settings) -> QuestionBank:
    """With a permission that does not end: pages look at the clock."""
    settings.MODEL_ENDPOINTS = (HERE,)
    bank = bank_with_reports(tmp_path, 3)
    SendingPermission.objects.update(expires_at=NOON.replace(year=2999))
    return bank


def test_a_run_is_planned_and_then_started(client: Client, cora: User, reports: QuestionBank) -> None:
    client.force_login(cora)
    listed = reverse("generation-runs", args=[reports.slug])
    assert listed in client.get(reverse("bank", args=[reports.slug])).content.decode()
    for sent, sentence in (({"exams": "0"}, "greater than or equal to 1"), ({"cap": "5"}, "No price is known")):
        page = client.post(listed, {**ASKED, **sent, "start": "yes"})
        assert (page.status_code, sentence in page.content.decode()) == (422, True)
    planned = client.post(listed, ASKED)
    assert "This is what would be sent" in planned.content.decode()
    assert (planned.context["facts"]["calls"], planned.context["facts"]["questions_at_most"]) == (4, 6)
    assert not GenerationRun.objects.exists()
    started = client.post(listed, {**ASKED, "start": "yes"})
    run = GenerationRun.objects.select_related("bullets_batch", "created_by").get()
    assert started.headers["Location"] == address(run)
    assert (run.created_by, run.per_exam, run.bullets_batch.state) == (cora, 3, BatchState.RUNNING)
    assert run.bullets_batch.n_calls == 2


def test_a_run_is_paused_resumed_and_stopped(client: Client, cora: User, reports: QuestionBank) -> None:
    client.force_login(cora)
    client.post(reverse("generation-runs", args=[reports.slug]), {**ASKED, "start": "yes"})
    run = GenerationRun.objects.get()
    for act, state, words in (
        ("pause", BatchState.PAUSED, "Paused after 0 of 2"),
        ("resume", BatchState.RUNNING, "lists the findings"),
        ("stop", BatchState.STOPPED, "Stopped for good after 0 of 2"),
    ):
        client.post(reverse("generation-run-act", args=[reports.slug, run.public_id, act]))
        run.bullets_batch.refresh_from_db()
        assert run.bullets_batch.state == state
        assert words in client.get(address(run)).content.decode()
    refused = client.post(reverse("generation-run-act", args=[reports.slug, run.public_id, "resume"]), follow=True)
    assert "reload the page" in refused.content.decode()


def test_without_an_endpoint_the_page_says_who_names_one(client: Client, cora: User, settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = ()
    bank = make_round().plan.bank
    client.force_login(cora)
    assert "REXVQA_MODEL_ENDPOINTS" in client.get(reverse("generation-runs", args=[bank.slug])).content.decode()
    page = client.get(reverse("bank", args=[bank.slug])).content.decode()
    assert reverse("generation-runs", args=[bank.slug]) not in page


def test_a_question_leads_from_the_sentence_of_the_report_to_the_key(
    client: Client, cora: User, run: GenerationRun
) -> None:
    Revision.objects.filter(pk=question_of(run).pk).update(options=["<b>x</b>", "b", "c", "d"])
    client.force_login(cora)
    page = client.get(reverse("question", args=[run.bank.slug, question_of(run).question.number])).content.decode()
    assert ("<b>x</b>" in page, "&lt;b&gt;x&lt;/b&gt;" in page) == (False, True), "texts of a model are escaped"
    assert "Written by a model" in page
    assert "stated as absent" in page
    assert address(run) in page
    imported = client.get(reverse("question", args=[run.bank.slug, 1])).content.decode()
    assert "Written by a model" not in imported


@pytest.mark.parametrize("is_answered", [False, True])
def test_whoever_judges_the_question_does_not_see_it(client: Client, run: GenerationRun, is_answered: bool) -> None:
    """Neither before the blind answer nor after it, until the round is closed."""
    number = question_of(run).question.number
    olga, asked = reviewing(run.bank, number)
    if is_answered:
        asked.steps = RoundSteps.OPEN
        asked.save()
    client.force_login(olga)
    address = reverse("question", args=[run.bank.slug, number])
    assert "Written by a model" not in client.get(address).content.decode()
    asked.state = RoundState.CLOSED
    asked.save()
    assert "Written by a model" in client.get(address).content.decode()


def test_the_bank_leads_to_a_run_and_that_to_its_questions_and_to_a_sample_of_them(
    client: Client, cora: User, run: GenerationRun
) -> None:
    client.force_login(cora)
    assert address(run) in client.get(reverse("generation-runs", args=[run.bank.slug])).content.decode()
    assert client.get(address(run)).content.decode().count(f"written={run.public_id}") == 2
    search = BankSearch(run.bank, {"written": run.public_id}, cora)
    assert search.revisions().count() == run.n_made < Revision.objects.in_bank(run.bank).current().count()
    assert not search.also("written", "another").revisions().exists()


def test_a_long_refusal_of_a_row_is_told_whole() -> None:
    assert listed(["a" * 81]) == "a" * 79 + "…"
    assert listed(["a" * 81], signs=300) == "a" * 81


# --- manage.py generate_questions ---
@pytest.fixture
def server() -> Iterator[StandIn]:
    with asked_server(place=EndpointPlace.MACHINE) as found:
        yield found


@pytest.fixture
def bank(tmp_path: Path, server: StandIn) -> QuestionBank:
    made = bank_with_reports(tmp_path)
    make_permission(made, reports=True, expires_at=datetime(2100, 1, 1, tzinfo=UTC))
    return made


def generate(asked: QuestionBank, *more: str, **changes: Any) -> str:
    given = {"per_exam": 2, "seed": 1, "endpoint": ENDPOINT, "model": OBEYS_SCHEMA, "bank": asked.slug} | changes
    return printed("generate_questions", *more, **given)


def test_a_dry_run_stores_and_sends_nothing_and_then_it_plans_and_starts(bank: QuestionBank, server: StandIn) -> None:
    told = json.loads(generate(bank, "--exams=3", "--json", "--dry-run"))
    assert told["run"] is None
    assert sum(one.objects.count() for one in (GenerationRun, CallBatch, PromptVersion)) == 0
    assert "dry run" in generate(bank, "--exams=3", "--dry-run")
    assert not server.ledger
    told = json.loads(generate(bank, "--exams=3", "--json"))
    run = GenerationRun.objects.get(public_id=told["run"])
    assert (told["reports"], told["calls"], told["source"]) == (3, 6, "bank")
    assert run.bullets_batch.state == BatchState.RUNNING
    words = generate(bank, "--exams=3")
    assert "3 reports; at most 2 questions from each, by stand-in-json at stand-in." in words
    assert GenerationRun.objects.exclude(pk=run.pk).get().public_id in words


def test_a_version_of_a_prompt_is_named(bank: QuestionBank) -> None:
    version_of(QUESTIONS, at=NOON)
    told = json.loads(generate(bank, "--exams=3", "--json", f"--questions-prompt={QUESTIONS.name}@1"))
    assert told["prompts"][1] == f"{QUESTIONS.name} v1"


def test_bad_input_ends_with_status_2(bank: QuestionBank) -> None:
    wrong = [
        ({"bank": "nowhere"}, "no bank named"),
        ({"findings_prompt": "nothing"}, "no prompt “nothing”"),
        ({"max_cost": "cheap"}, "--max-cost: a number"),
        ({"max_cost": "5"}, "Enter its price"),
    ]
    for changes, words in wrong:
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
