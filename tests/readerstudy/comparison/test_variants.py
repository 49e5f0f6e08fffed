"""Runs of one model beside each other: which count, the command that prints it, and the page."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.enums import JobState, RoundState
from annotation.models import AnswerKey, Job, ModelCall, QuestionBank, ReviewRound, User
from readerstudy.enums import StudyState
from readerstudy.model_runs.asked_questions import RunningRefused
from readerstudy.models import ModelRun, ReaderStudy, StudyRole, Voiding
from readerstudy.predictions.listing import Target
from readerstudy.results.variants import family_of, image_need, other_settings, tables_now
from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revisions, make_round
from tests.jobs import work
from tests.readerstudy.comparison.variant_runs import blind_run, complete, reading, review, right_on
from tests.readerstudy.design.made import same_patient
from tests.readerstudy.model_runs.made import answer, end, make_prompt, planned
from tests.readerstudy.studies import enrol, make_study
from tests.refusals import refuses

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("endpoints")]


# --- what is set beside each other ----------------------------------------------------------------
def test_each_variant_is_paired_with_the_plain_run(twelve: QuestionBank) -> None:
    """Right with images: 1 to 9. Without: 1 to 3 and 10; a refused and a cut answer are wrong, whatever they say."""
    plain = complete(Target(twelve), right_on(*range(1, 10)))
    blind = complete(Target(twelve), right_on(1, 2, 3, 10, 11, 12), images=SentImages.NONE)
    for number, outcome in ((11, CallOutcome.REFUSED), (12, CallOutcome.CUT)):
        ModelCall.objects.filter(batch=blind.batch, revision__question__number=number).update(
            outcome=outcome, option=""
        )
    found = tables_now(family_of(plain))
    [variant] = found["variants"]
    assert (variant["run"], variant["plain"]) == (blind.batch.public_id, plain.batch.public_id)
    assert variant["table"] == {"both": 3, "first_only": 1, "second_only": 6, "neither": 2}
    assert (variant["difference"]["value"], variant["p"]) == (-5 / 12, 0.125)
    assert found == tables_now(family_of(blind))


def test_only_the_first_order_and_repeat_are_paired(twelve: QuestionBank) -> None:
    complete(Target(twelve), right_on(*range(1, 13)), n_orders=4, n_repeats=2)
    blind = complete(
        Target(twelve),
        lambda call: right_on(*range(1, 13) if call.rotation or call.repeat else ())(call),
        images=SentImages.BLANK,
        n_orders=4,
        n_repeats=2,
    )
    found = tables_now(family_of(blind))
    assert found["variants"][0]["table"] == {"both": 0, "first_only": 0, "second_only": 12, "neither": 0}
    of_blind = found["orders"][1]
    assert [one["accuracy"]["by_question"]["value"] for one in of_blind["orders"]] == [0, 1, 1, 1]
    assert of_blind["same"]["by_question"]["value"] == 0
    repeats = found["repeats"][1]
    assert [one["accuracy"]["by_question"]["value"] for one in repeats["repeats"]] == [0, 1]


def test_letters_are_those_that_the_model_saw(twelve: QuestionBank) -> None:
    """It says A whatever it is shown: right where the key B is shown first, which is order 2."""
    run = complete(Target(twelve), lambda call: "A", n_orders=4)
    [found] = tables_now(family_of(run))["orders"]
    assert [one["accuracy"]["by_question"]["value"] for one in found["orders"]] == [0, 1, 0, 0]
    assert [one["recall"]["by_question"]["value"] for one in found["letters"]] == [1, 0, 0, 0]


def test_runs_of_another_version_prompt_bank_or_study_stay_apart(twelve: QuestionBank) -> None:
    plain = complete(Target(twelve), right_on(1))
    complete(Target(twelve), right_on(2), version="2", images=SentImages.NONE)
    complete(Target(twelve), right_on(2), prompt=make_prompt("other", images=SentImages.ALL), images=SentImages.NONE)
    study = make_study(bank=make_bank("Other"))
    images_are_there(study.bank)
    complete(Target.of_study(study), right_on(2), images=SentImages.NONE)
    family = family_of(plain)
    assert (family.complete, family.waiting, family.has_tables) == ((plain,), (), False)


def test_the_plain_run_of_the_same_settings_stands_beside_it(twelve: QuestionBank) -> None:
    cold, warm = ChatSettings(temperature=0.0), ChatSettings(temperature=1.0, max_tokens=9)
    first = complete(Target(twelve), right_on(1), chat=cold)
    second = complete(Target(twelve), right_on(1), chat=warm)
    blind = complete(Target(twelve), right_on(1), chat=cold, images=SentImages.NONE)
    assert tables_now(family_of(blind))["variants"][0]["plain"] == first.batch.public_id
    assert other_settings(blind, second) == ("max_tokens", "temperature")
    ModelRun.objects.filter(pk=first.pk).delete()
    [variant] = tables_now(family_of(blind))["variants"]
    assert (variant["plain"], variant["other_settings"]) == (second.batch.public_id, ["max_tokens", "temperature"])


@pytest.mark.parametrize("state", list(BatchState))
def test_a_run_with_a_call_that_was_not_asked_is_in_no_table(twelve: QuestionBank, state: BatchState) -> None:
    complete(Target(twelve), right_on(1), n_repeats=2)
    blind = planned(Target(twelve), prompt=reading(), images=SentImages.NONE)
    answer(blind, n=11)
    end(blind, state)
    family = family_of(blind)
    assert [(one.run.pk, one.n_left) for one in family.waiting] == [(blind.pk, 1)]
    found = tables_now(family)
    assert (found["variants"], len(found["repeats"])) == ([], 1)


def test_a_stopped_run_is_not_complete_even_with_every_answer(twelve: QuestionBank) -> None:
    run = complete(Target(twelve), right_on(1))
    end(run, BatchState.STOPPED)
    assert family_of(run).complete == ()
    assert tables_now(family_of(run))["variants"] == []


def test_clusters_are_patients_and_questions_without_a_key_are_left_out(twelve: QuestionBank) -> None:
    same_patient(twelve, 1, 2)
    AnswerKey.objects.filter(revision__question__number=12).delete()
    run = complete(Target(twelve), right_on(1), n_repeats=2)
    found = tables_now(family_of(run))
    assert (found["n"], found["n_clusters"], found["clustered"], found["n_without_key"]) == (11, 10, True, 1)
    assert found["rules"]["cluster"] == "patient where known, else exam"
    assert found["repeats"][0]["same"]["by_cluster"]["n"] == 11


def test_in_a_study_cases_voided_beforehand_are_left_out_and_results_are_hidden_until_they_were_seen(
    cora: User,
) -> None:
    study = make_study(state=StudyState.CLOSED)
    run = complete(Target.of_study(study), right_on(1), prompt=make_prompt(), n_repeats=2)
    with refuses(RunningRefused, "hidden", match="once the study is closed"):
        family_of(run)
    ReaderStudy.objects.update(unblinded_at=NOON)
    run = ModelRun.objects.select_related("study", "batch").get()
    assert tables_now(family_of(run))["n"] == 3
    Voiding.objects.create(case=study.cases.get(number=3), reason="wrong", actor=cora, at=NOON, before_unblinding=True)
    assert tables_now(family_of(run))["n"] == 2


# --- beside reviewers -----------------------------------------------------------------------------
@pytest.mark.usefixtures("reviewed")
def test_right_without_the_image_by_what_reviewers_say(twelve: QuestionBank, cora: User) -> None:
    """Right without the image: 1, 3 of those that need it, 4 of the partly ones, 6, and 8 that nobody reviewed."""
    need = image_need(family_of(blind_run(twelve, 1, 3, 4, 6, 7, 8)), cora)
    assert need is not None
    found = [(row.label, row.right["value"], row.right["n"]) for row in need.rows]
    assert found == [("yes", 2 / 3, 3), ("partly", 1 / 2, 2), ("no", 1, 1), ("", 4 / 6, 6)]
    assert all(row.right["method"] == "wilson" and row.right["ci95"] for row in need.rows)
    assert [one.number for one in need.right_without] == [1, 3]
    assert (need.n_cannot_judge, need.reviews_per_question) == (1, [(1, 2), (2, 4)])


@pytest.mark.usefixtures("reviewed")
def test_there_is_nothing_without_a_complete_run_without_images(twelve: QuestionBank, cora: User) -> None:
    run = blind_run(twelve, 1)
    end(run, BatchState.RUNNING)
    assert image_need(family_of(run), cora) is None
    assert image_need(family_of(complete(Target(twelve), right_on(1))), cora) is None


def test_who_reviews_learns_nothing_of_their_round_nor_of_their_questions(
    twelve: QuestionBank, reviewed: ReviewRound, cora: User, rita: User
) -> None:
    run = blind_run(twelve, 1, 3)
    under_way = make_round(cora, rita, n_questions=0, name="Second", bank=twelve)
    review(under_way, 1, {cora: "no", rita: "no"})
    review(under_way, 8, {rita: "yes"})
    need = image_need(family_of(run), cora)
    assert need is not None
    assert (need.n_rounds_hidden, need.n_questions_hidden) == (1, 1)
    assert [one.number for one in need.questions] == [2, 3, 4, 5, 6]
    under_way.state = RoundState.CLOSED
    under_way.save()
    need = image_need(family_of(run), cora)
    assert need is not None
    assert (need.n_rounds_hidden, need.n_questions_hidden) == (0, 0)
    assert {one.number: one.need for one in need.questions}[1] == "no"


def test_questions_on_the_images_that_somebody_reviews_are_hidden_as_well(
    twelve: QuestionBank, reviewed: ReviewRound, cora: User
) -> None:
    run = blind_run(twelve, 1, 3)
    second = make_round(cora, n_questions=0, name="Second", bank=twelve)
    review(second, 9, {cora: "yes"})
    ninth = twelve.questions.get(number=9)
    twelve.questions.filter(number=3).update(exam=ninth.exam)
    need = image_need(family_of(run), cora)
    assert need is not None
    assert 3 not in {one.number for one in need.questions}


def test_the_command_line_hears_of_closed_rounds_alone(twelve: QuestionBank, rita: User, remo: User) -> None:
    made = make_round(rita, n_questions=0, bank=twelve)
    review(made, 1, {rita: "yes"})
    run = blind_run(twelve, 1)
    need = image_need(family_of(run), None)
    assert need is not None
    assert (need.questions, need.n_rounds_hidden) == ([], 1)


# --- the page --------------------------------------------------------------------------------------
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
