"""The pages of trials and of the history of a prompt, and the command that does the same."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.call_enums import PromptPurpose
from annotation.endpoints.kernels.simulated_models import OBEYS_SCHEMA
from annotation.enums import Flag, Role
from annotation.feedback.kernels.paper_review import first_review, later_errors
from annotation.models import GenerationRun, PromptTrial, QuestionBank, User
from tests.annotation.feedback.made import questions_prompt
from tests.annotation.feedback.trials import (
    by_version,
    close,
    endpoint_is_there,
    made_trial,
    planned_trial,
    round_of_trial,
    two_versions,
)
from tests.annotation.generation.made import bank_with_reports
from tests.annotation.model_calls.simulated_calls import ENDPOINT
from tests.annotation.rounds.made import say
from tests.conftest import make_person
from tests.pages import markup

pytestmark = pytest.mark.django_db
SPACE = "\N{NO-BREAK SPACE}"


@pytest.fixture
def bank(tmp_path: Path) -> QuestionBank:
    return bank_with_reports(tmp_path, 8)


def told_trial(bank: QuestionBank, reviewer: User, coordinator: User) -> PromptTrial:
    """Closed: every question of the first is flagged, none of the second."""
    trial = made_trial(bank)
    review_round = round_of_trial(trial, reviewer, coordinator=coordinator)
    for flags, asked in zip(([Flag.SEVERAL_VALID], []), by_version(trial, review_round), strict=True):
        for one in asked:
            say(one, flags=flags)
    close(review_round)
    return trial


def form_of(bank: QuestionBank, **changes: Any) -> dict[str, Any]:
    first, second = two_versions()
    given = {
        "first": first.public_id,
        "second": second.public_id,
        "issue_rate": "90",
        "difference": "80",
        "power": "80",
        "correlation": "0",
        "bank": bank.slug,
        "per_exam": "3",
        "endpoint": ENDPOINT,
        "model": OBEYS_SCHEMA,
        "seed": "7",
    }
    return {"at": reverse("prompt-trial-new", args=[second.public_id]), **given, **changes}


# --- planned on a page ---
def test_a_trial_is_planned_started_and_drawn_on_its_pages(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    sent = form_of(bank)
    with endpoint_is_there():
        page = client.get(sent["at"])
        assert (page.context["form"]["first"].value(), page.context["form"]["second"].value()) == (
            sent["first"],
            sent["second"],
        )
        asked = markup(client.post(sent["at"], {**sent, "how_many": "1"}))
        assert "8 pairs are needed, each a question of both versions on the same exam: 3 exams." in asked
        assert not PromptTrial.objects.exists()
        done = client.post(sent["at"], sent)
        trial = PromptTrial.objects.get()
        assert done["Location"] == reverse("prompt-trial", args=[trial.public_id])
        assert (trial.created_by, trial.issue_rate, trial.n_planned) == (cora, 0.9, 8)
        early = client.post(reverse("prompt-trial-draw", args=[trial.public_id]), follow=True)
        assert "not there yet" in markup(early)
        started = client.post(reverse("prompt-trial-start", args=[trial.public_id]), follow=True)
    assert "Both versions are being asked." in markup(started)
    assert "Not closed" in markup(started)


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"difference": "95"}, "difference", "a rate from 0 to 100"),
        ({"n_exams": "2"}, "n_exams", "thus 3 exams"),
        ({"n_exams": "9"}, "__all__", "8 exams whose report may be sent"),
        ({"issue_rate": "nan"}, "issue_rate", "number"),
        ({"endpoint": "elsewhere"}, "endpoint", "elsewhere"),
        ({"first": ""}, "first", "required"),
    ],
)
def test_a_bad_plan_is_told_at_its_field(
    client: Client, cora: User, bank: QuestionBank, changes: dict[str, str], field: str, said: str
) -> None:
    client.force_login(cora)
    sent = form_of(bank, **changes)
    with endpoint_is_there():
        answer = client.post(sent["at"], sent)
    assert answer.status_code == 422
    assert said in " ".join(answer.context["form"].errors[field])
    assert not GenerationRun.objects.exists()


def test_without_an_endpoint_the_page_says_so(client: Client, cora: User) -> None:
    client.force_login(cora)
    page = client.get(reverse("prompt-trial-new", args=[two_versions()[1].public_id]))
    assert "REXVQA_MODEL_ENDPOINTS" in page.content.decode()


def test_a_made_trial_is_drawn_and_leads_to_the_new_round(client: Client, cora: User, bank: QuestionBank) -> None:
    trial = made_trial(bank)
    client.force_login(cora)
    page = client.post(reverse("prompt-trial-draw", args=[trial.public_id]), follow=True).content.decode()
    trial.refresh_from_db()
    assert trial.sample is not None
    assert f"{reverse('round-new')}?sample={trial.sample.slug}" in page
    again = client.post(reverse("prompt-trial-draw", args=[trial.public_id]), follow=True).content.decode()
    assert "drawn already" in again


# --- told ---
def test_a_closed_trial_tells_the_difference_there_and_in_the_history(
    client: Client, cora: User, rita: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    trial = told_trial(bank, rita, cora)
    client.force_login(cora)
    with django_assert_max_num_queries(20):
        page = markup(client.get(reverse("prompt-trial", args=[trial.public_id])))
    assert "\N{MINUS SIGN}100.00 (" in page
    assert "Not closed" not in page
    version = trial.second_run.questions_prompt
    with django_assert_max_num_queries(20):
        story = markup(client.get(reverse("prompt-history", args=[version.public_id])))
    assert "\N{MINUS SIGN}100.00 (" in story
    assert "13 of 120 had more than one valid option" in story
    assert "came with the program" in story


def test_an_open_trial_stands_in_the_history_without_a_number(
    client: Client, cora: User, rita: User, bank: QuestionBank
) -> None:
    trial = made_trial(bank)
    review_round = round_of_trial(trial, rita, coordinator=cora)
    for one in by_version(trial, review_round)[0]:
        say(one, flags=[Flag.SEVERAL_VALID])
    client.force_login(cora)
    story = markup(client.get(reverse("prompt-history", args=[trial.second_run.questions_prompt.public_id])))
    assert "under review" in story
    assert "1 round is left out" in story
    assert story.count("none reviewed") == 2


def test_the_paper_stands_as_what_it_is(client: Client, cora: User) -> None:
    """13 of 120: Wilson 6.4 to 17.7 %, as in the issue of the project; no difference is computed."""
    (_outcome, first), *_rest = first_review()
    assert [first.value, first.low, first.high] == pytest.approx([0.1083, 0.0644, 0.1766], abs=1e-4)
    assert (later_errors().count, later_errors().n) == (2, 300)
    client.force_login(cora)
    page = markup(client.get(reverse("prompt-history", args=[questions_prompt().public_id])))
    assert f"13 of 120, 10.83{SPACE}%" in page
    assert "not an effect of the prompt" in page


# --- who may ---
@pytest.mark.parametrize("role", [Role.ADMINISTRATOR, Role.REVIEWER, Role.MODEL_SUBMITTER])
def test_trials_are_for_coordinators(client: Client, bank: QuestionBank, role: Role) -> None:
    trial = planned_trial(bank)
    version = trial.second_run.questions_prompt
    client.force_login(make_person("Somebody", role))
    for name, key in (
        ("prompt-history", version.public_id),
        ("prompt-trial-new", version.public_id),
        ("prompt-trial", trial.public_id),
    ):
        assert client.get(reverse(name, args=[key])).status_code == 403
    for name in ("prompt-trial-start", "prompt-trial-draw"):
        assert client.post(reverse(name, args=[trial.public_id])).status_code == 403


def test_what_is_not_there_is_not_found(client: Client, cora: User) -> None:
    answering = questions_prompt(1, name="other", purpose=PromptPurpose.ANSWER)
    client.force_login(cora)
    for name in ("prompt-history", "prompt-trial-new"):
        assert client.get(reverse(name, args=[answering.public_id])).status_code == 404
    assert client.get(reverse("prompt-trial", args=["x"])).status_code == 404
    assert client.post(reverse("prompt-trial-start", args=["x"])).status_code == 404


# --- the command ---
def run_command(*words: str) -> Any:
    told = StringIO()
    with endpoint_is_there():
        call_command("prompt_trial", *words, "--json", stdout=told)
    return json.loads(told.getvalue())


PLAN = (
    *("plan", "--first", "questions from findings v1", "--second", "questions from findings", "--issue-rate", "0.9"),
    *("--difference", "0.8", "--per-exam", "3", "--seed", "7", "--endpoint", ENDPOINT, "--model", OBEYS_SCHEMA),
)


def test_the_command_plans_starts_and_tells_the_state(bank: QuestionBank) -> None:
    two_versions()
    plan = (*PLAN, "--bank", bank.slug)
    assert run_command(*plan, "--dry-run")["pairs"] == 8
    assert not PromptTrial.objects.exists()
    told = run_command(*plan)
    assert (told["pairs"], told["exams"], told["first"]["prompts"][1]) == (8, 3, "questions from findings v1")
    assert told["second"]["prompts"][1] == "questions from findings v2"
    assert run_command("start", told["trial"])["state"] == "asking"
    state = run_command("state", told["trial"])
    assert (state["state"], state["pairs_planned"], state["round"]) == ("asking", 8, None)
    assert len(state["says"]) == 2


def test_the_command_draws_and_tells_the_result(bank: QuestionBank, rita: User, cora: User) -> None:
    trial = told_trial(bank, rita, cora)
    told = run_command("result", trial.public_id)
    assert told["second_minus_first"]["value"] == -1
    assert told["first"]["count"] == told["pairs_reviewed"]
    assert told["flags"]["several_valid"]["second"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("result", "{trial}"), "Not closed"),
        (("draw", "{trial}"), "not there yet"),
        (("state", "nothing"), "no trial “nothing”"),
        ((*PLAN, "--bank", "{bank}", "--exams", "1"), "thus 3 exams"),
        ((*PLAN, "--bank", "{bank}", "--first-findings", "nothing"), "no prompt “nothing”"),
        (("plan",), "required"),
        (("start",), "required"),
        (("forget", "{trial}"), "invalid choice"),
    ],
)
def test_the_command_refuses_with_status_2(bank: QuestionBank, words: tuple[str, ...], said: str) -> None:
    trial = planned_trial(bank)
    named = [word.format(trial=trial.public_id, bank=bank.slug) for word in words]
    with pytest.raises(CommandError, match=said) as refused:
        run_command(*named)
    assert said == "required" or said == "invalid choice" or refused.value.returncode == 2
    assert PromptTrial.objects.count() == 1
