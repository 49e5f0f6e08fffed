"""The pages of samples."""

from __future__ import annotations

from datetime import datetime

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from annotation.audit.deleting import archive
from annotation.enums import RoundState
from annotation.models import QuestionBank, ReviewRound, SamplingPlan, User
from annotation.review.rounds import create_round
from annotation.review.samples import draw_sample, usual_per_thousand
from tests.annotation.review.cases import make_bank, make_revisions, make_round
from tests.pages import markup

pytestmark = pytest.mark.postgres

LONG = "Which finding on the frontal radiograph best explains the symptoms of this patient? " * 40


@pytest.fixture
def bank(db: None) -> QuestionBank:
    bank = make_bank("Bank")
    words = ["easy", "medium", "hard"]
    make_revisions(bank, {n: {"difficulty": words[n % 3], "stem": f"{LONG} {n}"} for n in range(1, 61)})
    return bank


@pytest.fixture
def plan(bank: QuestionBank, noon: datetime) -> SamplingPlan:
    return draw_sample(bank, name="Sample", per_thousand=200, actor=None, at=noon)


ASK = {"bank": "bank", "by": "difficulty", "per_thousand": "200", "seed": "5"}


def test_the_preview_shows_strata_and_questions_and_stores_nothing(coordinator: Client, bank: QuestionBank) -> None:
    page = coordinator.get("/samples/new/", ASK)
    assert page.status_code == 200
    strata = [(one.stratum, one.n_frame, one.n_drawn) for one in page.context["found"].strata]
    assert strata == [("easy", 20, 4), ("medium", 20, 4), ("hard", 20, 4)]
    assert len(page.context["rows"]) == 12
    part = coordinator.get("/samples/new/", ASK, headers={"HX-Request": "true"})
    assert part.content.strip().startswith(b'<section id="sample-preview"')
    assert "HX-Request" in part["Vary"]
    assert 'hx-trigger="load"' not in markup(part)
    assert not SamplingPlan.objects.exists()


def test_the_page_of_a_bank_leads_to_a_fresh_form_with_a_first_draw(coordinator: Client, bank: QuestionBank) -> None:
    make_bank("Another")
    page = coordinator.get("/samples/new/", {"bank": "bank"})
    form = page.context["form"]
    assert (form.is_bound, form.initial["bank"], form["per_thousand"].value()) == (False, "bank", 834)
    assert b"errorlist" not in page.content
    assert 'hx-trigger="load"' in markup(page)


def test_what_was_seen_is_stored_and_bad_input_explained(coordinator: Client, bank: QuestionBank, cora: User) -> None:
    found = coordinator.get("/samples/new/", ASK).context["found"]
    sent = {**ASK, "name": "Mine", "frame_sha256": found.frame_sha256}
    for word, wrong in (
        ("frame_sha256", "0" * 64),
        ("name", "x" * 201),
        ("per_thousand", "0"),
        ("seed", "many"),
        ("by", "mood"),
        ("bank", "no"),
    ):
        answer = coordinator.post("/samples/new/", {**sent, word: wrong})
        assert (answer.status_code, bool(answer.context["form"].errors)) == (422, True), word
    assert not SamplingPlan.objects.exists()
    assert coordinator.post("/samples/new/", sent).headers["Location"] == "/samples/mine/"
    plan = SamplingPlan.objects.get()
    assert (plan.name, plan.seed, plan.created_by) == ("Mine", 5, cora)
    assert list(plan.questions.values_list("revision_id", flat=True)) == found.revision_ids
    assert coordinator.get("/samples/mine/").status_code == 200
    on_the_way = coordinator.post("/samples/new/", {**sent, "name": "More", "round": "yes"})
    assert on_the_way.headers["Location"] == "/rounds/new/?sample=more"


@pytest.mark.parametrize(("n", "proposed"), [(1, 1000), (50, 1000), (60, 834), (500, 100), (100_000, 100)])
def test_a_small_bank_is_not_sampled_down_to_nothing(n: int, proposed: int) -> None:
    assert usual_per_thousand(n) == proposed


def test_a_sample_that_is_not_there(coordinator: Client, plan: SamplingPlan) -> None:
    assert coordinator.get("/samples/other/").status_code == 404
    assert coordinator.post("/samples/other/archive/").status_code == 404


def test_archived_samples_stand_apart(coordinator: Client, plan: SamplingPlan, cora: User, noon: datetime) -> None:
    coordinator.post("/samples/sample/archive/")
    assert list(coordinator.get("/samples/").context["page"]) == []
    assert list(coordinator.get("/samples/?archived").context["page"]) == [plan]
    coordinator.post("/samples/sample/bring-back/")
    assert list(coordinator.get("/samples/").context["page"]) == [plan]
    archive(plan, actor=cora, at=noon)


def test_deleting_is_refused_while_a_round_refers(
    administrator: Client, plan: SamplingPlan, ada: User, noon: datetime
) -> None:
    made = create_round(plan, name="R", reviewers=[], actor=ada, at=noon)
    answer = administrator.post("/samples/sample/delete/", follow=True)
    assert "archive the sample instead" in answer.content.decode()
    made.delete()
    administrator.post("/samples/sample/delete/", {"confirmed": "yes"})
    assert not SamplingPlan.objects.exists()


def test_long_stems_do_not_cost_queries(
    coordinator: Client, plan: SamplingPlan, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    coordinator.get("/samples/")
    with django_assert_max_num_queries(6):  # session, person, roles; sample, questions, rounds, count
        coordinator.get("/samples/")
    with django_assert_max_num_queries(8):
        coordinator.get("/samples/sample/")
    with django_assert_max_num_queries(23):  # two for the gate, five for what is left out or waits, tags, splits
        coordinator.get("/samples/new/", ASK)


def test_without_banks_the_page_says_what_to_do(coordinator: Client) -> None:
    assert b"Import one first" in coordinator.get("/samples/").content
    assert b"Import one first" in coordinator.get("/samples/new/").content


def test_a_name_that_is_taken_is_said_at_its_field(coordinator: Client, plan: SamplingPlan) -> None:
    found = coordinator.get("/samples/new/", ASK).context["found"]
    page = coordinator.post("/samples/new/", {**ASK, "name": "Sample", "frame_sha256": found.frame_sha256})
    assert page.status_code == 422
    form = page.context["form"]
    assert "exists already" in form.errors["name"][0]
    assert (list(form.errors), form.non_field_errors()) == (["name"], [])
    assert 'aria-invalid="true"' in page.content.decode()
    assert "Frame sha256" not in page.content.decode()


def test_going_back_gets_the_whole_page(coordinator: Client, bank: QuestionBank) -> None:
    """What a browser asks for from its history replaces all that is shown."""
    back = {"HX-Request": "true", "HX-History-Restore-Request": "true"}
    for address in ("/images/", "/samples/new/", "/banks/bank/"):
        for headers, is_whole_page in (({"HX-Request": "true"}, False), (back, True)):
            page = coordinator.get(address, headers=headers).content
            assert (b"<!doctype html>" in page) is is_whole_page, address
    assert '"historyRestoreAsHxRequest": false' in coordinator.get("/images/").content.decode()


def test_what_a_sample_was_drawn_from_tells_nothing_of_what_a_person_judges(
    client: Client, cora: User, ada: User
) -> None:
    review_round = make_round(cora, name="Judged")
    plan = review_round.plan
    plan.frame = {"filters": {"task": "negation", "finding": "any"}}
    plan.save(update_fields=["frame"])
    address, hidden = f"/samples/{plan.slug}/", "filters that you may not see now"

    def page(person: User) -> str:
        client.force_login(person)
        return client.get(address).content.decode()

    assert "Task: Negation" in page(cora)
    assert "Finding: any finding" not in page(cora)
    assert hidden in page(cora)
    ReviewRound.objects.update(state=RoundState.CLOSED)
    assert "Finding: any finding" in page(cora)
    assert hidden not in page(cora)
    assert "Finding: any finding" not in page(ada)  # a filter of coordinators: it may tell the key
    assert hidden in page(ada)
