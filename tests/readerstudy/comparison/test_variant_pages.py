"""The page of variants: what it shows, what it costs, and who sees it when."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries

from annotation.call_enums import SentImages
from annotation.enums import JobState, RoundState
from annotation.models import Job, QuestionBank, User
from readerstudy.enums import StudyState
from readerstudy.models import ModelRun, ReaderStudy, StudyRole
from readerstudy.predictions.listing import Target
from tests.annotation.review.cases import NOON, make_bank, make_revisions, make_round
from tests.jobs import work
from tests.readerstudy.comparison.variant_runs import blind_run, complete, reading, review, right_on
from tests.readerstudy.model_runs.made import make_prompt, planned
from tests.readerstudy.studies import enrol, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoints")]
MOST_QUERIES = 18


def page_of(run: ModelRun) -> str:
    return reverse("model-run-variants", args=[run.batch.public_id])


def look(coordinator: Client, run: ModelRun) -> Any:
    """The page once what it asked for is computed."""
    begun = coordinator.get(page_of(run))
    assert begun.context["computing"], begun.content
    work()
    return coordinator.get(page_of(run))


def words(response: Any) -> str:
    return " ".join(strip_tags(response.content.decode()).split())


# --- the page -------------------------------------------------------------------------------------
@pytest.mark.usefixtures("reviewed")
def test_the_page(coordinator: Client, twelve: QuestionBank) -> None:
    plain = complete(Target(twelve), right_on(*range(1, 10)), n_repeats=2)
    blind = complete(Target(twelve), right_on(1, 2, 3, 10), images=SentImages.NONE, n_orders=4)
    waiting = planned(Target(twelve), prompt=reading(), images=SentImages.BLANK)
    response = look(coordinator, blind)
    said = words(response).replace("\N{NO-BREAK SPACE}", " ")
    assert "Incomplete, and left out of the tables: blank images (planned, 12 calls without an answer)" in said
    assert "no image of four orders 33.33 %13.81 to 60.94 %n = 12 75.00 %46.77 to 91.11 %n = 12 all images" in said
    assert "all images −41.67" in said
    assert "Only variant right" in said
    assert "The same option in all four 100.00" in said
    assert "The same answer in all 100.00" in said
    assert "Right without the image, although reviewers say that it is needed" in said
    assert [one.number for one, _wording in response.context["listed"]] == [1, 2, 3]
    for run in (plain, blind, waiting):
        assert reverse("model-run", args=[run.batch.public_id]) in response.content.decode()
    assert page_of(plain) in coordinator.get(reverse("model-run", args=[plain.batch.public_id])).content.decode()


def test_computed_once_for_the_whole_family_and_anew_with_another_run(
    coordinator: Client, twelve: QuestionBank
) -> None:
    plain = complete(Target(twelve), right_on(1))
    blind = blind_run(twelve, 1)
    look(coordinator, plain)
    assert coordinator.get(page_of(blind)).context["result"]
    assert Job.objects.count() == 1
    complete(Target(twelve), right_on(1), images=SentImages.BLANK)
    assert len(look(coordinator, plain).context["result"]["variants"]) == 2


def test_while_it_is_computed_and_where_that_failed(coordinator: Client, twelve: QuestionBank) -> None:
    """The page of the job tells how many questions there are and nothing of the answers."""
    run = complete(Target(twelve), right_on(1), n_repeats=2)
    part = coordinator.get(page_of(run), headers={"HX-Request": "true"}).content.decode()
    assert 'hx-trigger="every 1s"' in part
    assert "<html" not in part
    look(coordinator, run)
    facts = coordinator.get(reverse("job", args=[Job.objects.get().public_id])).context["facts"]
    assert facts == {"N": 12, "Clusters": 12, "Without key": 0, "Clustered": "no"}
    Job.objects.update(state=JobState.FAILED, error="The disk is full.", result=None)
    assert "The runs could not be compared: The disk is full." in words(coordinator.get(page_of(run)))


def test_variants_without_a_plain_run_say_which_run_is_missing(coordinator: Client, twelve: QuestionBank) -> None:
    blank = complete(Target(twelve), right_on(1), images=SentImages.BLANK)
    lacking = "No complete run asks with the images that the prompt names (all images), or with all images."
    assert lacking in words(coordinator.get(page_of(blank)))
    complete(Target(twelve), right_on(1))
    assert lacking not in words(look(coordinator, blank))


def test_without_anything_to_compare_the_page_says_what_to_run(coordinator: Client, twelve: QuestionBank) -> None:
    said = words(coordinator.get(page_of(complete(Target(twelve), right_on(1)))))
    assert "There is nothing to compare yet" in said
    assert not Job.objects.exists()


def test_questions_are_listed_in_pages(
    coordinator: Client, rita: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bank = make_bank()
    make_revisions(bank, {number: {} for number in range(1, 121)})
    made = make_round(rita, n_questions=0, bank=bank, state=RoundState.CLOSED)
    for number in range(1, 121):
        review(made, number, {rita: "yes"})
    run = complete(Target(bank), right_on(*range(1, 121)), prompt=make_prompt(), n_orders=4, n_repeats=2)
    look(coordinator, run)
    response = coordinator.get(page_of(run), {"page": 3})
    assert [one.number for one, _wording in response.context["listed"]] == list(range(101, 121))
    assert "page 3 of 3" in words(response)
    with django_assert_max_num_queries(MOST_QUERIES):
        coordinator.get(page_of(run))


# --- who ------------------------------------------------------------------------------------------
def test_in_a_study_the_page_waits_for_its_results(client: Client, stan: User) -> None:
    """A coordinator of the study alone; its run shows no link, and its variants are refused."""
    study = make_study()
    StudyRole.objects.create(user=stan, study=study, granted_at=NOON)
    run = complete(Target.of_study(study), right_on(1), prompt=make_prompt(), n_repeats=2)
    client.force_login(stan)
    for fields in ({}, {"state": StudyState.CLOSED}, {"state": StudyState.OPEN, "unblinded_at": NOON}):
        ReaderStudy.objects.update(**fields)
        response = client.get(page_of(run))
        assert response.status_code == 403
        assert "once the study is closed and somebody has looked at its results" in words(response)
        assert page_of(run) not in client.get(reverse("model-run", args=[run.batch.public_id])).content.decode()
    assert not Job.objects.exists()
    ReaderStudy.objects.update(state=StudyState.CLOSED)
    assert "Repeats" in words(look(client, run))
    assert page_of(run) in client.get(reverse("model-run", args=[run.batch.public_id])).content.decode()


def test_for_readers_it_does_not_exist(client: Client, cora: User) -> None:
    study = make_study(bank=make_bank())
    run = complete(Target(study.bank), right_on(1), prompt=make_prompt(), n_repeats=2)
    client.force_login(cora)
    assert client.get(page_of(run)).status_code == 200
    enrol(study, cora)
    assert client.get(page_of(run)).status_code == 404
