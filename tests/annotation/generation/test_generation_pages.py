"""The pages of generation runs, and where a generated question says what it stands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries, Settings

from annotation.call_enums import BatchState
from annotation.enums import RoundState, RoundSteps
from annotation.generation.generation_progress import GenerationProgress
from annotation.models import GenerationRun, QuestionBank, Revision, SendingPermission, User
from annotation.questionbank.filters import BankSearch
from annotation.site.sentences import listed
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, NOON
from tests.annotation.review.cases import make_round, reviewing

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


def test_the_fragment_is_the_figures_alone(client: Client, cora: User, run: GenerationRun) -> None:
    client.force_login(cora)
    part = client.get(address(run), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "Questions made" in part
    assert "hx-get" not in part  # the run is over


def test_a_run_at_work_looks_again(client: Client, cora: User, run: GenerationRun) -> None:
    GenerationRun.objects.filter(pk=run.pk).update(finished_at=None)
    client.force_login(cora)
    page = client.get(address(run)).content.decode()
    assert 'hx-trigger="every 5s"' in page
    assert "a worker takes the next step" in page


def test_the_bank_leads_to_its_runs(client: Client, cora: User, run: GenerationRun) -> None:
    client.force_login(cora)
    listed = reverse("generation-runs", args=[run.bank.slug])
    assert listed in client.get(reverse("bank", args=[run.bank.slug])).content.decode()
    assert address(run) in client.get(listed).content.decode()


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
    planned = client.post(listed, ASKED)
    assert "This is what would be sent" in planned.content.decode()
    assert (planned.context["facts"]["calls"], planned.context["facts"]["questions_at_most"]) == (4, 6)
    assert not GenerationRun.objects.exists()
    started = client.post(listed, {**ASKED, "start": "yes"})
    run = GenerationRun.objects.select_related("bullets_batch", "created_by").get()
    assert started.headers["Location"] == address(run)
    assert (run.created_by, run.per_exam, run.bullets_batch.state) == (cora, 3, BatchState.RUNNING)
    assert run.bullets_batch.n_calls == 2


@pytest.mark.parametrize(
    ("sent", "sentence"), [({"exams": "0"}, "greater than or equal to 1"), ({"cap": "5"}, "No price is known")]
)
def test_what_cannot_be_planned_is_said(
    client: Client, cora: User, reports: QuestionBank, sent: dict[str, str], sentence: str
) -> None:
    client.force_login(cora)
    page = client.post(reverse("generation-runs", args=[reports.slug]), {**ASKED, **sent, "start": "yes"})
    assert page.status_code == 422
    assert sentence in page.content.decode()
    assert not GenerationRun.objects.exists()


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
    assert (
        reverse("generation-runs", args=[bank.slug])
        not in client.get(reverse("bank", args=[bank.slug])).content.decode()
    )


def test_a_question_leads_from_the_sentence_of_the_report_to_the_key(
    client: Client, cora: User, run: GenerationRun
) -> None:
    client.force_login(cora)
    page = client.get(reverse("question", args=[run.bank.slug, question_of(run).question.number])).content.decode()
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


def test_texts_of_a_model_are_escaped(client: Client, cora: User, run: GenerationRun) -> None:
    Revision.objects.filter(pk=question_of(run).pk).update(options=["<b>x</b>", "b", "c", "d"])
    client.force_login(cora)
    page = client.get(reverse("question", args=[run.bank.slug, question_of(run).question.number])).content.decode()
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_a_run_leads_to_its_questions_and_to_a_sample_of_them(client: Client, cora: User, run: GenerationRun) -> None:
    client.force_login(cora)
    assert client.get(address(run)).content.decode().count(f"written={run.public_id}") == 2
    search = BankSearch(run.bank, {"written": run.public_id}, cora)
    assert search.revisions().count() == run.n_made < Revision.objects.in_bank(run.bank).current().count()
    assert not search.also("written", "another").revisions().exists()


def test_a_long_refusal_of_a_row_is_told_whole() -> None:
    assert listed(["a" * 81]) == "a" * 79 + "…"
    assert listed(["a" * 81], signs=300) == "a" * 81
