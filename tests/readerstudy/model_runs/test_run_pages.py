"""The pages of a run: planned by a form, estimated, started, watched, paused, stopped; and its raw answers."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from annotation.call_enums import BatchState, CallOutcome, EndpointPlace, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.jobs import queueing
from annotation.jobs.running import run as run_job
from annotation.models import CallBatch, EndpointProbe, Job, ModelCall, QuestionBank, SeenKey, User
from readerstudy.forms.models import NEEDED
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.next_steps import next_of_run
from readerstudy.model_runs.publishing import publish, publish_later
from readerstudy.models import ModelRun, PredictionRun, StudyRole
from readerstudy.predictions.listing import Target
from tests.annotation.endpoints.simulated_models import MODELS
from tests.annotation.endpoints.stand_in import StandIn
from tests.annotation.review.cases import NOON, images_are_there, make_bank, make_revisions
from tests.pages import markup
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import (
    ENDPOINT,
    MODEL,
    answer,
    end,
    make_prompt,
    name_endpoints,
    permit,
    planned,
    set_price,
)
from tests.readerstudy.studies import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]
MOST_QUERIES = 12


@pytest.fixture(autouse=True)
def _endpoints(settings: Settings) -> None:
    name_endpoints(settings)


@pytest.fixture
def bank() -> QuestionBank:
    made = make_questions(25, pixels=False)
    images_are_there(made)
    permit(made)
    return made


def words(coordinator: Client, name: str, *args: object, status: int = 200, **query: str) -> str:
    response = coordinator.get(reverse(name, args=args), query)
    assert response.status_code == status
    return " ".join(strip_tags(response.content.decode()).split())


def press(coordinator: Client, run: ModelRun, act: str, **sent: str) -> str:
    """What the page says afterwards."""
    response = coordinator.post(reverse(f"model-run-{act}", args=[run.batch.public_id]), sent, follow=True)
    run.batch.refresh_from_db()
    return " ".join(strip_tags(response.content.decode()).split())


def form(bank: QuestionBank, **fields: object) -> dict[str, object]:
    prompt = make_prompt()
    given = {
        "endpoint": ENDPOINT,
        "endpoint_model": MODEL,
        "name": "MedModel",
        "version": "2",
        "target": f"bank:{bank.slug}",
        "prompt": prompt.pk,
        "images": "",
        "picture_policy": "quarter-1",
        "n_orders": 1,
        "n_repeats": 1,
        "temperature": "0",
        "seed": 1,
    }
    return given | fields


# --- planning -------------------------------------------------------------------------------------
def test_what_a_run_needs_stands_before_the_form(coordinator: Client, settings: Settings) -> None:
    settings.MODEL_ENDPOINTS = ()
    page = words(coordinator, "model-run-new")
    for said in ("Endpoint: missing", "Permission to send: missing", "Price: missing", "REXVQA_MODEL_ENDPOINTS"):
        assert said in page
    name_endpoints(settings)
    assert "Write one first" in words(coordinator, "model-run-new")
    make_prompt(images=SentImages.FIRST)
    assert "There is no bank and no study" in words(coordinator, "model-run-new")
    bank = make_questions(3, pixels=False)
    page = words(coordinator, "model-run-new")
    assert f"✓ Endpoint {ENDPOINT}" in page
    assert "Permission to send: missing" in page
    permit(bank)
    set_price(model="priced-model")
    page = words(coordinator, "model-run-new")
    assert f"✓ Permission to send {bank.name} → {ENDPOINT}" in page
    assert "✓ Price priced-model" in page
    assert f"(images: {SentImages.FIRST.label})" in page


def test_the_models_of_the_endpoint_are_a_list_beside_the_field(
    coordinator: Client, bank: QuestionBank, settings: Settings
) -> None:
    form(bank)
    page = markup(coordinator.get(reverse("model-run-new")))
    assert f'hx-get="{reverse("model-run-new")}" hx-include="#id_endpoint"' in page
    needed, more = page.split("<summary>More settings</summary>")
    assert len(re.findall(r'name="[a-z_]+"', needed.split("<fieldset")[1])) == len(NEEDED)
    assert "<details open" not in more
    part = {"HX-Request": "true"}
    refused = markup(coordinator.get(reverse("model-run-new"), {"endpoint": ENDPOINT}, headers=part))
    assert "gives no list of its models (connection failed). Write the name above." in " ".join(refused.split())
    with StandIn(seed=1) as server:
        settings.MODEL_ENDPOINTS = (Endpoint(ENDPOINT, server.url, place=EndpointPlace.MACHINE),)
        listed = markup(coordinator.get(reverse("model-run-new"), {"endpoint": ENDPOINT}, headers=part))
    assert [f"<option>{name}</option>" in listed for name in MODELS] == [True] * len(MODELS)
    assert "<html" not in listed


def test_a_wrong_setting_of_the_folded_ones_is_in_sight(coordinator: Client, bank: QuestionBank) -> None:
    sent = form(bank)
    for wrong, is_open in (({"n_repeats": 0}, True), ({"name": ""}, False)):
        page = markup(coordinator.post(reverse("model-run-new"), sent | wrong))
        assert ("<details open>" in page) is is_open


def test_a_run_is_planned_by_the_form(coordinator: Client, bank: QuestionBank) -> None:
    sent = form(bank, n_orders=4, images="first", max_tokens=300)
    response = coordinator.post(reverse("model-run-new"), sent)
    batch = CallBatch.objects.get()
    assert response["Location"] == reverse("model-run", args=[batch.public_id])
    assert (batch.n_calls, batch.images, batch.state) == (100, "first", "planned")
    assert batch.chat_settings == {"temperature": 0.0, "max_tokens": 300}
    assert str(batch.model_run.entry) == "MedModel 2"


@pytest.mark.parametrize(
    ("wrong", "field", "sentence"),
    [
        ({"endpoint_model": ""}, "endpoint_model", "calls the model"),
        ({"n_orders": 2}, "n_orders", "Select a valid choice"),
        ({"cap": "5"}, "cap", "no cap can be kept"),
    ],
)
def test_an_error_stands_at_its_field(
    coordinator: Client, bank: QuestionBank, wrong: dict[str, object], field: str, sentence: str
) -> None:
    response = coordinator.post(reverse("model-run-new"), form(bank, **wrong))
    assert response.status_code == 422
    assert sentence in str(response.context["form"].errors[field])
    assert not CallBatch.objects.exists()


def test_what_the_act_refuses_stands_on_the_form(coordinator: Client) -> None:
    response = coordinator.post(reverse("model-run-new"), form(make_questions(3, pixels=False)))
    assert response.status_code == 422
    assert "Nobody has permitted" in response.content.decode()


# --- watching -------------------------------------------------------------------------------------
def test_a_planned_run_offers_its_first_questions(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    said = words(coordinator, "model-run", run.batch.public_id)
    assert "Planned; nothing was sent" in said
    assert "Ask the first 20 questions" in said
    assert "The first 20 questions are being asked" in press(coordinator, run, "try")
    assert run.batch.state == BatchState.TRYING


def test_the_estimate_stands_before_the_start(coordinator: Client, bank: QuestionBank) -> None:
    set_price()
    run = planned(Target(bank), n_repeats=10)
    answer(run, n=20)
    said = words(coordinator, "model-run", run.batch.public_id)
    assert "Calls 250" in said
    assert "0.26 EUR" in said
    assert "From 20 questions that were asked" in said


def test_a_plan_says_what_is_rarely_meant(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    calm = words(coordinator, "model-run", run.batch.public_id)
    assert "may end before an answer" not in calm
    assert "several images" not in calm
    exam = bank.exams.order_by("pk")[0]
    image = exam.images.order_by("pk")[0]
    image.pk, image.public_id, image.position = None, "second-image-001", 9
    image.save(force_insert=True)
    CallBatch.objects.update(images=SentImages.FIRST, chat_settings={"max_tokens": 8})
    said = words(coordinator, "model-run", run.batch.public_id)
    assert "8 tokens may end before an answer names its letter" in said
    assert "several images, of which the prompt sends the first alone" in said


def test_a_plan_says_that_its_model_is_not_in_the_list_of_the_endpoint(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    facts = {"endpoint": run.batch.endpoint, "model": run.batch.model, "probed_at": NOON}
    finding = {"code": "listed", "state": "no", "sentence": "It lists 2 models: a, b.", "numbers": {}}
    EndpointProbe.objects.create(**facts, findings=[finding])
    assert "It lists 2 models: a, b." in words(coordinator, "model-run", run.batch.public_id)
    EndpointProbe.objects.create(**facts, findings=[{**finding, "state": "yes"}])
    assert "It lists 2 models" not in words(coordinator, "model-run", run.batch.public_id)


def test_a_start_of_unknown_cost_needs_a_tick(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    assert "Start it although nobody knows" in words(coordinator, "model-run", run.batch.public_id)
    assert "The cost is unknown" in press(coordinator, run, "start")
    assert run.batch.state == BatchState.PLANNED
    assert "The run is started" in press(coordinator, run, "start", accepts_unknown_cost="yes")
    assert run.batch.state == BatchState.RUNNING


def test_paused_resumed_and_stopped(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    CallBatch.objects.update(state=BatchState.PAUSED, paused_because="The endpoint refused the key.")
    assert "The endpoint refused the key." in words(coordinator, "model-run", run.batch.public_id)
    end(run, BatchState.RUNNING)
    assert "Somebody paused this run" in press(coordinator, run, "pause")
    assert "The run goes on" in press(coordinator, run, "resume")
    assert "Stop this run for good?" in press(coordinator, run, "stop")
    assert run.batch.state == BatchState.RUNNING
    assert "Stopped for good after 0 of 25 calls" in press(coordinator, run, "stop", confirmed="yes")
    assert "reload the page" in press(coordinator, run, "resume")


def test_the_cap_is_changed(coordinator: Client, bank: QuestionBank) -> None:
    set_price()
    run = planned(Target(bank))
    assert "The cap is changed" in press(coordinator, run, "cap", cap="2.5")
    assert "must be more than 0" in press(coordinator, run, "cap", cap="0")
    assert "Enter a number" in press(coordinator, run, "cap", cap="much")
    assert str(run.batch.cap) == "2.5000"


def test_outcomes_are_counted_each_for_itself(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    others = (CallOutcome.REFUSED, CallOutcome.CUT, CallOutcome.FAILED, CallOutcome.TWO, CallOutcome.BROKEN)
    answer(run, outcomes=dict(enumerate(others, start=1)), n=12)
    ModelCall.objects.filter(number=4).update(n_sent=2)
    end(run, BatchState.RUNNING)
    said = words(coordinator, "model-run", run.batch.public_id)
    counts = "answered 7 28.0 refused 1 4.0 cut at the token limit 1 4.0 no option found 1 4.0 two answers 1 4.0 "
    counts += "broken answer 1 4.0 refused by the endpoint 0 0.0 not asked 13 52.0"
    assert counts in said
    assert "1 call was in progress when a worker was stopped: asked twice, and paid twice." in said


def test_a_complete_run_leads_to_its_predictions(
    coordinator: Client, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    run = planned(Target(bank))
    answer(run)
    end(run)
    publish_later(run.batch, NOON)
    assert "being published" in words(coordinator, "model-run", run.batch.public_id)
    publish(run, actor=None, at=NOON)
    published = PredictionRun.objects.get()
    page = coordinator.get(reverse("model-run", args=[run.batch.public_id])).content.decode()
    assert reverse("prediction-run", args=[published.public_id]) in page
    page = coordinator.get(reverse("prediction-run", args=[published.public_id])).content.decode()
    assert reverse("model-run", args=[run.batch.public_id]) in page


def test_the_page_of_a_model_says_of_each_run_here_how_it_asks_and_why_it_has_no_predictions(
    coordinator: Client, bank: QuestionBank
) -> None:
    plain, other = (
        planned(Target(bank), chat=ChatSettings(temperature=0)),
        planned(Target(bank), images=SentImages.BLANK),
    )
    answer(plain)
    end(plain)
    publish(plain, actor=None, at=NOON)
    answer(other)
    end(other)
    said = words(coordinator, "model", plain.entry.public_id)
    assert "temperature 0" in said
    assert f"{MODEL} those of the endpoint none: Complete. It asks with blank images, its prompt with no image" in said
    page = coordinator.get(reverse("prediction-run", args=[PredictionRun.objects.get().public_id])).content.decode()
    assert "our reading v1" in page


def test_what_cannot_be_published_says_why_and_where_to_try_again(
    coordinator: Client, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    run = planned(Target(bank))
    answer(run)
    end(run)
    publish_later(run.batch, NOON)
    bank.archived_at = NOON
    bank.save()
    job = Job.objects.get()
    run_job(job.public_id, clock=lambda: NOON)
    page = coordinator.get(reverse("model-run", args=[run.batch.public_id])).content.decode()
    assert "could not be published: “Bank” is archived" in page
    assert reverse("job", args=[job.public_id]) in page
    assert "hx-trigger" not in page


def test_the_time_that_is_left_is_told_while_a_run_goes_on(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    run.estimate = {"hours": {"value": 8.0, "low": 6.0, "high": 10.0}}
    run.save()
    answer(run, n=5)  # of 25
    end(run, BatchState.RUNNING)
    left = "Left by the estimate of the start: 6.4 h."
    assert left in words(coordinator, "model-run", run.batch.public_id)
    end(run, BatchState.PAUSED)
    assert left not in words(coordinator, "model-run", run.batch.public_id)


def test_a_variant_says_that_it_stands_for_nothing(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank), images="blank")
    answer(run)
    end(run)
    assert "never represents the model in figures" in words(coordinator, "model-run", run.batch.public_id)


def test_htmx_gets_the_part_that_changes(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    end(run, BatchState.RUNNING)
    page = coordinator.get(reverse("model-run", args=[run.batch.public_id]), headers={"HX-Request": "true"})
    assert "<html" not in page.content.decode()
    assert 'hx-trigger="every 2s"' in page.content.decode()
    end(run, BatchState.PAUSED)
    page = coordinator.get(reverse("model-run", args=[run.batch.public_id]), headers={"HX-Request": "true"})
    assert "hx-trigger" not in page.content.decode()


@pytest.mark.parametrize("state", list(BatchState))
def test_few_queries_whatever_the_size(
    coordinator: Client, state: BatchState, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    bank = make_bank()
    make_revisions(bank, {number: {} for number in range(1, 201)})
    run = planned(Target(bank), n_orders=4)
    answer(run, n=200)
    end(run, state)
    assert coordinator.get(reverse("model-run", args=[run.batch.public_id])).status_code == 200
    with django_assert_max_num_queries(MOST_QUERIES):
        assert coordinator.get(reverse("model-run", args=[run.batch.public_id])).status_code == 200
    with django_assert_max_num_queries(MOST_QUERIES):
        coordinator.get(reverse("model-run-calls", args=[run.batch.public_id]))
    with django_assert_max_num_queries(MOST_QUERIES):
        coordinator.get(reverse("model-runs"))


def test_the_list_of_runs(coordinator: Client, bank: QuestionBank) -> None:
    assert "No model was run on this site yet" in words(coordinator, "model-runs")
    planned(Target(bank), n_orders=4)
    assert "Model 1 Bank bank planned our reading v1 no image 4 1 100" in words(coordinator, "model-runs")
    assert "Runs on this site" in words(coordinator, "models")


# --- raw answers ----------------------------------------------------------------------------------
def test_raw_answers_are_listed_without_what_they_say(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    answer(run, lambda call: "PLANTED-WORDS B", outcomes={3: CallOutcome.CUT})
    said = words(coordinator, "model-run-calls", run.batch.public_id)
    assert "PLANTED-WORDS" not in said
    assert not SeenKey.objects.exists()
    calls = coordinator.get(reverse("model-run-calls", args=[run.batch.public_id]), {"outcome": "cut"}).context["page"]
    assert [call.number for call in calls.object_list] == [3]
    assert "No call with this outcome" in words(coordinator, "model-run-calls", run.batch.public_id, outcome="refused")


def test_an_opened_call_shows_everything_and_is_noted(coordinator: Client, bank: QuestionBank, cora: User) -> None:
    run = planned(Target(bank))
    answer(run, lambda call: "Option <b>B</b>")
    page = coordinator.get(reverse("model-run-call", args=[run.batch.public_id, 1])).content.decode()
    call = run.batch.calls.select_related("revision__question").get(number=1)
    assert call.revision is not None
    assert call.revision.stem in page
    assert "Option &lt;b&gt;B&lt;/b&gt;" in page
    assert "&quot;choices&quot;" in page
    assert SeenKey.objects.get().question == call.revision.question
    assert words(coordinator, "model-run-call", run.batch.public_id, 99, status=404)


def test_a_call_that_was_not_asked_says_so(coordinator: Client, bank: QuestionBank) -> None:
    run = planned(Target(bank))
    assert "This call was not asked yet" in words(coordinator, "model-run-call", run.batch.public_id, 1)


# --- who ------------------------------------------------------------------------------------------


def test_a_coordinator_of_a_study_runs_models_on_that_study_alone(
    client: Client, bank: QuestionBank, stan: User
) -> None:
    study = make_study()
    StudyRole.objects.create(user=stan, study=study, granted_at=NOON)
    of_study, of_bank = planned(Target.of_study(study)), planned(Target(bank))
    client.force_login(stan)
    words(client, "model-run", of_study.batch.public_id)
    words(client, "model-run", of_bank.batch.public_id, status=404)
    assert [run.pk for run in client.get(reverse("model-runs")).context["page"].object_list] == [of_study.pk]


@pytest.mark.parametrize(
    ("state", "n", "label", "is_due"),
    [
        (BatchState.PLANNED, 0, "Ask the first questions", True),
        (BatchState.PLANNED, 2, "Start", True),
        (BatchState.TRYING, 0, "Progress", False),
        (BatchState.RUNNING, 1, "Progress", False),
        (BatchState.PAUSED, 1, "Resume", True),
        (BatchState.COMPLETE, 3, "Publish its answers", True),
        (BatchState.STOPPED, 1, "", False),
    ],
)
def test_home_names_the_next_step_of_a_run_as_its_page_does(
    coordinator: Client, bank: QuestionBank, state: BatchState, n: int, label: str, is_due: bool
) -> None:
    run = planned(Target(bank=bank))
    answer(run, n=n)
    end(run, state)
    step = next_of_run(RunProgress(run))
    assert (step.label if step else "", bool(step and step.is_due)) == (label, is_due)
    if step:
        assert step.sentence in markup(coordinator.get(step.url))
    assert (f'href="/models/at-work/{run.batch.public_id}/"' in coordinator.get("/").content.decode()) == bool(step)
