"""A model answers a study: probed, permitted, priced, estimated, paused, its worker killed; then in the results."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotation.call_enums import BatchState
from annotation.model_calls.versions import OUR_READING, prompt_named
from annotation.models import CallBatch, ModelCall, User
from readerstudy.models import ReaderStudy
from tests.annotation.endpoints.simulated_models import OBEYS_SCHEMA
from tests.annotation.endpoints.stand_in import StandIn
from tests.browser.entering import Browse
from tests.browser.journeys.conftest import Worker
from tests.browser.journeys.steps import ENDPOINT, KEY, close_study, permit, read_elsewhere, see, state_terms
from tests.readerstudy.studies import make_study

N_CASES = 60


@pytest.fixture
def study(transactional_db: None) -> ReaderStudy:
    """Sixty cases with images that two people have read; still open."""
    study = make_study("Journey", n_cases=N_CASES, pixels=True, seed=5)
    cases = list(study.cases.select_related("revision__question").order_by("number"))
    rows = [
        f"{reader},{one.revision.question.number},{'AB'[(one.number + shift) % 3 > 0]},answered,{one.number},60,20000"
        for shift, reader in enumerate(("R1", "R2"))
        for one in cases
    ]
    return read_elsewhere(study, rows)


def test_a_model_answers_a_study_through_a_killed_worker(
    browse: Browse, server: StandIn, worker: Worker, study: ReaderStudy, ada: User, cora: User
) -> None:
    administrator, coordinator = browse(ada), browse(cora)
    name_price(administrator, OBEYS_SCHEMA)
    probe(administrator, OBEYS_SCHEMA)
    state_terms(coordinator, study.bank)
    permit(administrator, study.bank, "questions", "images")
    plan_run(coordinator, "Stand-in", f"study:{study.slug}")
    read_estimate(coordinator)
    start_pause_and_resume(coordinator)
    killed_in_the_middle(coordinator, worker, server)
    look_at_a_raw_answer(coordinator)
    show_in_results(coordinator, study)
    assert all(entry.has_key for entry in server.ledger)


def name_price(page: Page, model: str) -> None:
    page.goto(f"/endpoints/{ENDPOINT}/")
    expect(page.locator("dl.facts")).to_contain_text("there")
    page.get_by_text("Set a price").click()
    form = page.locator("form").filter(has=page.get_by_role("button", name="Keep the price"))
    for name, value in {
        "model": model,
        "currency": "EUR",
        "per_million_input": "1",
        "per_million_output": "4",
        "valid_from": (timezone.now() - timedelta(days=1)).date().isoformat(),
    }.items():
        form.locator(f"[name={name}]").fill(value)
    form.get_by_role("button", name="Keep the price").click()
    expect(page.get_by_role("row").filter(has_text=model).first).to_contain_text("EUR")


def probe(page: Page, model: str) -> None:
    form = page.locator("form").filter(has=page.get_by_role("button", name="Probe"))
    form.locator("[name=model]").fill(model)
    with page.expect_navigation():  # back to the page of the endpoint
        form.get_by_role("button", name="Probe").click()
    see(page, "All probes")


def plan_run(page: Page, name: str, target: str) -> None:
    page.goto("/models/at-work/new/")
    page.get_by_label("Models that the endpoint lists").select_option(OBEYS_SCHEMA)
    expect(page.locator("[name=endpoint_model]")).to_have_value(OBEYS_SCHEMA)
    page.fill("[name=name]", name)
    page.select_option("[name=target]", target)
    page.select_option("[name=prompt]", str(prompt_named(OUR_READING).pk))
    page.get_by_text("More settings").click()
    page.fill("[name=cap]", "5")
    page.get_by_role("button", name="Plan the run").click()
    expect(page.get_by_text("The run is planned. Nothing was sent yet.")).to_be_visible()


def read_estimate(page: Page) -> None:
    page.get_by_role("button", name="Ask the first 20 questions").click()
    expect(page.get_by_text("The first questions are being asked.")).to_be_visible()
    see(page, "From 20 questions that were asked")
    cost = page.locator(".run-estimate tr").filter(has_text="Cost")
    expect(cost).to_contain_text("EUR")
    expect(page.get_by_text("The cost is unknown")).to_have_count(0)


def start_pause_and_resume(page: Page) -> None:
    page.get_by_role("button", name="Start", exact=True).click()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("Paused. Answers to questions already sent are still stored.")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_text("The run goes on.")).to_be_visible()


def killed_in_the_middle(page: Page, worker: Worker, server: StandIn) -> None:
    batch = CallBatch.objects.get()
    for _again in range(200):
        if ModelCall.objects.filter(batch=batch, attempts__isnull=False).count() > N_CASES // 2:
            break
        page.wait_for_timeout(50)
    worker.kill()
    batch.refresh_from_db()
    assert batch.state == BatchState.RUNNING
    n_asked = ModelCall.objects.filter(batch=batch, attempts__isnull=False).count()
    assert N_CASES // 2 < n_asked < N_CASES
    worker.start()
    expect(page.get_by_text(f"{N_CASES} of {N_CASES} calls have an answer of the model.")).to_be_visible(timeout=30_000)
    see(page, "Published as predictions")
    expect(page.get_by_text(re.compile("asked twice, and paid twice"))).to_be_visible()


def look_at_a_raw_answer(page: Page) -> None:
    page.get_by_role("link", name="Raw answers").click()
    page.locator("main table a").first.click()
    expect(page.locator("main")).to_contain_text("simulated")
    assert KEY not in page.content()


def show_in_results(page: Page, study: ReaderStudy) -> None:
    close_study(page, study.slug)
    page.get_by_role("link", name="Results", exact=True).click()
    see(page, "No results have been viewed yet")
    page.get_by_role("button", name="Show the results").click()
    row = page.locator("section[aria-labelledby=accuracy-title] tbody tr").filter(has_text="Stand-in")
    see(page, "Up to date")
    expect(row).to_contain_text("%")
