"""The pages of generation runs, and where a generated question says what it stands on."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.enums import Role, RoundState, RoundSteps
from annotation.generation.generation_progress import GenerationProgress
from annotation.models import Assignment, GenerationRun, QuestionBank, Revision, User
from tests.annotation.generation.made import bank_with_reports, written_run
from tests.annotation.review.cases import make_round
from tests.conftest import make_person

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


def test_the_counts_come_out_as_json(run: GenerationRun) -> None:
    told = GenerationProgress(run).as_json()
    assert told["finished"] is True
    assert (told["reports"], told["questions"]) == (3, run.n_made)
    assert sum(told["not_made"].values()) == len(run.not_made)


def test_the_bank_leads_to_its_runs(client: Client, cora: User, run: GenerationRun) -> None:
    client.force_login(cora)
    listed = reverse("generation-runs", args=[run.bank.slug])
    assert listed in client.get(reverse("bank", args=[run.bank.slug])).content.decode()
    assert address(run) in client.get(listed).content.decode()


def test_a_bank_without_runs_says_what_to_do(client: Client, cora: User) -> None:
    bank = make_round().plan.bank
    client.force_login(cora)
    assert "generate_questions" in client.get(reverse("generation-runs", args=[bank.slug])).content.decode()
    assert (
        reverse("generation-runs", args=[bank.slug])
        not in client.get(reverse("bank", args=[bank.slug])).content.decode()
    )


@pytest.mark.parametrize("name", ["ada", "rita", "dina"])
def test_who_does_not_coordinate_sees_none(
    client: Client, run: GenerationRun, name: str, request: pytest.FixtureRequest
) -> None:
    client.force_login(request.getfixturevalue(name))
    assert client.get(address(run)).status_code == 403
    assert client.get(reverse("generation-runs", args=[run.bank.slug])).status_code == 403


def test_a_run_of_another_bank_is_not_found(client: Client, cora: User, run: GenerationRun) -> None:
    other = QuestionBank.objects.create(name="Other", slug="other", created_at=run.created_at)
    client.force_login(cora)
    assert client.get(reverse("generation-run", args=[other.slug, run.public_id])).status_code == 404


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
    olga = make_person("Olga", Role.COORDINATOR, Role.REVIEWER)
    revision = question_of(run)
    asked = make_round(state=RoundState.OPEN)
    Assignment.objects.create(round=asked, reviewer=olga, revision=revision, position=9)
    if is_answered:
        asked.steps = RoundSteps.OPEN
        asked.save()
    client.force_login(olga)
    page = client.get(reverse("question", args=[run.bank.slug, revision.question.number])).content.decode()
    assert "Written by a model" not in page
    asked.state = RoundState.CLOSED
    asked.save()
    page = client.get(reverse("question", args=[run.bank.slug, revision.question.number])).content.decode()
    assert "Written by a model" in page


def test_texts_of_a_model_are_escaped(client: Client, cora: User, run: GenerationRun) -> None:
    Revision.objects.filter(pk=question_of(run).pk).update(options=["<b>x</b>", "b", "c", "d"])
    client.force_login(cora)
    page = client.get(reverse("question", args=[run.bank.slug, question_of(run).question.number])).content.decode()
    assert "<b>x</b>" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page
