"""The pages of validity: counts of a bank, failing questions with reasons, and what stays hidden from whom."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from pytest_django.fixtures import DjangoAssertNumQueries

from annotation.call_enums import BatchState
from annotation.enums import KeySource, RoundState, RoundSteps
from annotation.models import (
    AuditEvent,
    CallBatch,
    Finding,
    QuestionBank,
    SeenKey,
    SendingPermission,
    User,
    ValidatorRun,
)
from annotation.questionbank.kernels.question_checks import PARTS
from tests.annotation.endpoints.simulated_models import JUDGES
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE
from tests.annotation.review.cases import reviewing
from tests.annotation.validators.validated import begun, judged, judged_bank
from tests.commands import ends_with_2, printed

pytestmark = pytest.mark.django_db
REASON = "The report speaks of REASON-WORDS."


@pytest.fixture
def bank() -> QuestionBank:
    made = judged_bank(4)
    judged(made, "fail", "pass", "undecided", "fail", validator="c3")
    Finding.objects.filter(verdict="fail").update(detail=REASON)
    return made


def page(client: Client, bank: QuestionBank, code: str) -> str:
    address = (
        reverse("bank-validator", args=[bank.slug, code]) if code else reverse("bank-validators", args=[bank.slug])
    )
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_bank_page_counts_all_parts(
    client: Client, cora: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client.force_login(cora)
    with override_settings(MODEL_ENDPOINTS=(HERE,)), django_assert_max_num_queries(27):
        answer = client.get(reverse("bank-validators", args=[bank.slug]))
    found = {row["count"].part.code: row["count"] for row in answer.context["rows"]}
    assert list(found) == list(PARTS)
    c3 = found["c3"]
    assert (c3.told["pass"], c3.told["fail"], c3.told["undecided"], c3.n_not_examined) == (1, 2, 1, 0)
    assert found["c1"].n_not_examined == found["bias"].n_not_examined == 4
    assert found["difficulty"].told["pass"] == 4
    assert found["c1"].told == {"pass": None, "fail": None, "undecided": None, "not_examined": 4}
    row = "".join(
        answer.content.decode().split(reverse("bank-validator", args=[bank.slug, "c1"]))[1].split("</tr>")[0].split()
    )
    assert row.count('<tdclass="number">–</td>') == 3, "a validator that was not asked has found nothing, and not 0"
    assert (
        reverse("bank-validators", args=[bank.slug]) in client.get(reverse("bank", args=[bank.slug])).content.decode()
    )


def test_failing_questions_come_with_reasons_and_reading_them_is_noted(
    coordinator: Client, cora: User, bank: QuestionBank, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(37):  # one of them on PostgreSQL alone
        text = page(coordinator, bank, "c3")
    assert text.count("REASON-WORDS") == 2
    seen = SeenKey.objects.filter(person=cora)
    assert sorted(seen.values_list("question__number", "source")) == [(n, KeySource.RAW_ANSWERS) for n in (1, 4)]
    page(coordinator, bank, "c1")
    assert seen.count() == 2
    assert coordinator.get(reverse("bank-validator", args=[bank.slug, "c4"])).status_code == 404


def test_failing_questions_are_paged_and_texts_of_a_model_escaped(
    coordinator: Client, cora: User, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotation.views.bank_validators.PER_PAGE", 1)
    first = page(coordinator, bank, "c3")
    assert (first.count("REASON-WORDS"), "page 1" in first) == (1, True)
    assert SeenKey.objects.filter(person=cora).count() == 1
    Finding.objects.filter(verdict="fail").update(detail="<b>x</b>")
    question = coordinator.get(reverse("question", args=[bank.slug, 1])).content.decode()
    for text in (page(coordinator, bank, "c3"), question):
        assert ("<b>x</b>" in text, "&lt;b&gt;x&lt;/b&gt;" in text) == (False, True)


@pytest.mark.parametrize("is_answered", [False, True])
def test_verdicts_stay_hidden_from_a_reviewer_until_the_own_review_is_final(
    client: Client, bank: QuestionBank, is_answered: bool
) -> None:
    """Neither before the blind answer nor after it, on no page; other questions are shown."""
    olga, asked = reviewing(bank, 1)
    if is_answered:
        asked.steps = RoundSteps.OPEN
        asked.save()
    client.force_login(olga)
    own, other = (reverse("question", args=[bank.slug, number]) for number in (1, 4))
    assert "REASON-WORDS" not in client.get(own).content.decode()
    assert "REASON-WORDS" in client.get(other).content.decode()
    listed = page(client, bank, "c3")
    assert own not in listed
    assert other in listed
    assert "1 question that you review yourself" in listed
    counts = client.get(reverse("bank-validators", args=[bank.slug])).context["rows"][3]["count"]
    assert (counts.told["fail"], counts.n_questions) == (1, 3)
    found = client.get(reverse("bank", args=[bank.slug]), {"finding": "c3"}).content.decode()
    assert f'href="{own}' not in found
    asked.state = RoundState.CLOSED
    asked.save()
    assert "REASON-WORDS" in client.get(own).content.decode()
    assert own in page(client, bank, "c3")


def test_a_question_shows_all_parts_and_a_fail_can_be_dismissed(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    address = reverse("question", args=[bank.slug, 1])
    parts = {one.part.code: one for one in client.get(address).context["validity"]}
    assert [one.state for one in parts.values()] == [
        *("pass", "not_examined", "not_examined", "fail", "not_examined", "pass", "pass"),
        *("not_examined", "not_examined", "not_examined", "pass", "not_examined", "not_examined"),
    ]
    fail = Finding.objects.get(revision__question__number=1, verdict="fail")
    client.post(reverse("finding-dismiss", args=[bank.slug, 1]), {"finding": fail.public_id, "reason": "it is right"})
    c3 = {one.part.code: one for one in client.get(address).context["validity"]}["c3"]
    assert (c3.state, "it is right" in c3.why) == ("pass", True)
    assert client.get(reverse("bank-validators", args=[bank.slug])).context["rows"][3]["count"].told["pass"] == 2


# --- asking from the page ---
def send(client: Client, bank: QuestionBank, **changes: Any) -> Any:
    given = {"check": "all", "endpoint": ENDPOINT, "model": JUDGES, "temperature": "0"} | changes
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        return client.post(reverse("bank-validators", args=[bank.slug]), given)


def hold_for_good() -> None:
    SendingPermission.objects.update(expires_at="2100-01-01T00:00:00Z")


def test_a_coordinator_starts_all_three_or_none(coordinator: Client, cora: User) -> None:
    bank = judged_bank(2)
    hold_for_good()
    SendingPermission.objects.update(reports=False)
    answer = send(coordinator, bank)
    assert answer.status_code == 422
    assert "Nobody has permitted to send reports of" in answer.content.decode()
    assert not CallBatch.objects.exists()
    SendingPermission.objects.update(reports=True)
    assert send(coordinator, bank).status_code == 302
    assert sorted(ValidatorRun.objects.values_list("validator", flat=True)) == ["c1", "c2", "c3"]
    assert set(CallBatch.objects.values_list("state", "created_by")) == {(BatchState.RUNNING, cora.pk)}
    assert AuditEvent.objects.filter(act="validator.planned", actor=cora).count() == 3
    again = send(coordinator, bank)
    assert again.status_code == 422
    assert "being asked of" in again.content.decode()


def test_a_run_is_paused_resumed_and_stopped(coordinator: Client) -> None:
    bank = judged_bank(2)
    run = begun(bank)
    hold_for_good()
    for act, state in (("pause", "paused"), ("resume", "running"), ("stop", "stopped")):
        with override_settings(MODEL_ENDPOINTS=(HERE,)):
            coordinator.post(reverse("validator-run-act", args=[bank.slug, run.public_id, act]))
        run.batch.refresh_from_db()
        assert run.batch.state == state
    coordinator.post(reverse("validator-run-act", args=[bank.slug, run.public_id, "publish"]))
    coordinator.post(reverse("validator-run-act", args=[bank.slug, run.public_id, "resume"]))
    run.batch.refresh_from_db()
    assert run.batch.state == "stopped"


# --- the command ---
def check(*more: str, **given: Any) -> str:
    asked = {"bank": "judged", "endpoint": ENDPOINT, "model": JUDGES} | given
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        return printed("check_questions", *more, **asked)


def test_the_command_asks_and_says_so() -> None:
    judged_bank(3)
    hold_for_good()
    told = json.loads(check("--check=c1", "--dry-run", "--json"))
    assert (told["dry_run"], told["checks"][0]["calls"], told["checks"][0]["run"]) == (True, 3, None)
    assert not CallBatch.objects.exists()
    assert "3 calls on 3 questions to stand-in-judge at stand-in by “c1 domain-specific v1”" in check("--check=c1")
    assert ValidatorRun.objects.get().batch.state == BatchState.RUNNING
    assert [one["check"] for one in json.loads(check("--json", model="other"))["checks"]] == ["c1", "c2", "c3"]


def test_bad_input_ends_with_status_2() -> None:
    judged_bank(1)
    hold_for_good()
    cases: list[tuple[list[str], dict[str, Any], str]] = [
        (["--check=c1"], {"endpoint": None}, "give --endpoint, too"),
        (["--prompt=none"], {}, "no prompt “none”"),
        (["--check=c1", "--max-cost=5"], {}, "No price is known"),
        (["--duplicates"], {}, "leave out --endpoint"),
    ]
    for more, given, words in cases:
        with ends_with_2(words):
            check(*more, **given)
    assert not CallBatch.objects.exists()
