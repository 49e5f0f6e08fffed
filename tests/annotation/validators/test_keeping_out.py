"""The gate of a bank: what its questions have to pass, over the bank, in samples, exports and on pages."""

from __future__ import annotations

import re
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.test import Client
from django.urls import reverse

from annotation.enums import Role, RoundState
from annotation.exports.bank_export import BankChoice, BankForm, export_bank
from annotation.models import (
    Assignment,
    AuditEvent,
    Finding,
    Gate,
    Question,
    QuestionBank,
    Revision,
    SamplingPlan,
    User,
    ValidatorRun,
)
from annotation.questionbank.checking import QualityRefused, dismiss
from annotation.questionbank.kernels.question_checks import GATED, PARTS, PartState
from annotation.questionbank.validity import (
    count_parts,
    gate_is,
    gate_of,
    part_is,
    parts_of_question,
    set_gate,
    state_by_gate,
)
from annotation.review.samples import SampleRefused, draw_sample, preview_sample
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.tables.writing import ExportRefused
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import images_are_there, make_round
from tests.annotation.validators.validated import answered_blind, judged, judged_bank, rated
from tests.conftest import make_person
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
WHOLE_TABLE = re.compile(r"SCAN U0$", re.MULTILINE)
RATING_ROUNDS = RoundState.CLOSED, RoundState.OPEN


@pytest.fixture
def bank() -> QuestionBank:
    """c1 fails 1 and 2, c3 fails 2 and 3; 4 is undecided."""
    made = judged_bank(5)
    images_are_there(made)
    judged(made, "fail", "fail", "pass", "undecided", "pass")
    judged(made, "pass", "fail", "fail", "undecided", "pass", validator="c3")
    return made


def drawn(bank: QuestionBank) -> list[int]:
    found = preview_sample(bank, by=StratifyBy.NONE, per_thousand=1000, seed=1)
    return sorted(one.number for one in found.drawn)


def keep(bank: QuestionBank, *parts: str, actor: User | None = None) -> QuestionBank:
    set_gate(bank, parts, actor=actor, at=NOON)
    return QuestionBank.objects.get(pk=bank.pk)


def test_nothing_is_kept_out_until_a_person_says_so(bank: QuestionBank, cora: User) -> None:
    every = [1, 2, 3, 4, 5]
    assert drawn(bank) == every
    plan = draw_sample(keep(bank, "c3"), by=StratifyBy.NONE, per_thousand=1000, actor=None, at=NOON)
    assert plan.frame["kept_out"] == {"parts": ["c3"], "gate": "Gate, version 1", "n": 2}
    assert drawn(keep(bank, "c1", "c3")) == [4, 5]
    assert drawn(keep(bank)) == every
    assert drawn(keep(bank, "c1")) == [3, 4, 5]
    dismiss(Finding.objects.get(rule="c1", revision__question__number=1), reason="no", actor=cora, at=NOON)
    assert drawn(bank) == [1, 3, 4, 5], "a dismissed fail keeps nothing out"
    judged(bank, "pass", model="another")
    assert drawn(bank) == every, "a newer verdict decides"
    judged(bank, "fail", model="a third")
    with refuses(SampleRefused, "kept_out"):
        drawn(bank)


def test_each_change_is_a_version_with_a_name_and_who_made_it(bank: QuestionBank, cora: User) -> None:
    keep(bank, "c3", "c1", actor=cora)
    assert not set_gate(bank, ["c1", "c3"], actor=cora, at=NOON)
    event = AuditEvent.objects.get(act="bank.gate_set")
    assert (event.actor, event.facts) == (cora, {"gate": "Gate", "version": 1, "parts": ["c1", "c3"], "before": []})
    assert str(gate_of(bank)) == "Gate, version 1"
    assert set_gate(bank, ["c1"], name="Release", actor=None, at=NOON)
    assert set_gate(bank, ["c3"], actor=None, at=NOON)
    assert str(gate_of(bank)) == "Release, version 3"
    assert gate_of(keep(bank)) is None


def test_a_gate_that_names_no_part_or_is_of_an_archived_bank_is_refused(bank: QuestionBank) -> None:
    for part in ("form", "c9"):  # what nothing can fail
        with refuses(QualityRefused, "no_part"):
            keep(bank, part)
    assert not AuditEvent.objects.filter(act="bank.gate_set").exists()
    for _time in range(2):
        with refuses(QualityRefused, "no_part"):
            set_gate(bank, [], name="Release", actor=None, at=NOON)
        keep(bank, "c1")
    QuestionBank.objects.update(archived_at=NOON)
    with refuses(QualityRefused, "archived"):
        keep(QuestionBank.objects.get(), "c3")
    assert Gate.objects.get().parts == ["c1"]


def test_every_part_is_named_once() -> None:
    before = ["form", "c1", "c2", "c3", "images", "difficulty", "not_easy"]
    before += ["model_not_easy", "reviewers_not_easy"]
    assert list(PARTS) == [*before, "diversity", "identifiers", "bias", "expert"]
    assert list(GATED) == list(PARTS)[1:]


def test_too_easy_a_question_fails_where_the_gate_asks_for_more(bank: QuestionBank) -> None:
    Revision.objects.filter(question__number=1).update(difficulty="easy")
    Revision.objects.filter(question__number=2).update(difficulty="")
    Revision.objects.filter(question__number__gt=2).update(difficulty="hard")
    [counted] = [one for one in count_parts(bank, Question.objects.none()) if one.part.code == "not_easy"]
    told = (counted.told["pass"], counted.told["fail"], counted.n_not_examined)
    assert told == (3, 1, 1), "what would go is counted before"
    assert drawn(keep(bank, "difficulty")) == [1, 2, 3, 4, 5], "a stated difficulty, whichever, passes"
    assert drawn(keep(bank, "not_easy")) == [2, 3, 4, 5]


def test_what_a_model_or_reviewers_find_easy_fails_where_the_gate_asks_for_more(bank: QuestionBank, rita: User) -> None:
    """Of two reviewers the harder counts, as in the table of difficulties."""
    rated(bank, "easy", "medium", "hard", "hard", "hard")
    assert drawn(keep(bank, "model_not_easy")) == [2, 3, 4, 5]
    current = Revision.objects.in_bank(bank).current().order_by("question__number")
    closed, still_open = (make_round(n_questions=0, name=str(state), state=state, bank=bank) for state in RATING_ROUNDS)
    answered_blind(closed, rita, current[:4], "easy", "easy", "hard", "easy")
    answered_blind(closed, make_person("Remo", Role.REVIEWER), current[:2], "easy", "medium")
    answered_blind(still_open, rita, current[4:], "easy")
    assert drawn(keep(bank, "reviewers_not_easy")) == [2, 3, 5]
    [counted] = [one for one in count_parts(bank, Question.objects.none()) if one.part.code == "reviewers_not_easy"]
    assert (counted.told["fail"], counted.told["pass"], counted.n_not_examined) == (2, 2, 1)


def test_conditions_say_of_each_question_what_its_page_says(bank: QuestionBank, cora: User, rita: User) -> None:
    dismiss(Finding.objects.get(rule="c1", revision__question__number=1), reason="no", actor=cora, at=NOON)
    for number, state in enumerate(("accepted", "rejected", "disputed", "accepted", "imported"), 1):
        Question.objects.filter(bank=bank, number=number).update(state=state)
    first, second, *_rest = current = list(Revision.objects.in_bank(bank).current().order_by("question__number"))
    Revision.objects.exclude(pk=second.pk).update(difficulty="")
    Revision.objects.filter(pk=current[2].pk).update(difficulty="hard")
    place = {"bank": bank, "rule_version": 1, "place": "question", "detail": "x", "found_at": NOON}
    Finding.objects.create(**place, revision=first, rule="near_duplicate", other=second)
    rated(bank, "easy", "hard", "no level", "easy", "medium")
    closed = make_round(n_questions=0, state=RoundState.CLOSED, bank=bank)
    answered_blind(closed, rita, current[:3], "easy", "medium", "easy")
    answered_blind(closed, make_person("Remo", Role.REVIEWER), current[1:3], "easy", "easy")
    for compared in (None, NOON + timedelta(days=1)):
        QuestionBank.objects.update(compared_at=compared)
        shown = {one.pk: parts_of_question(one) for one in refreshed(current)}
        own = {pk: {part.part.code: part.state for part in parts} for pk, parts in shown.items()}
        for code in GATED:
            for state in PartState:
                found = set(Revision.objects.filter(part_is(bank, code, state)).values_list("pk", flat=True))
                assert found == {pk for pk, parts in own.items() if parts[code] == state}, (code, state, compared)
        for gate in (
            ["c1"],
            ["c1", "c3"],
            ["expert"],
            ["c1", "difficulty"],
            ["c3", "not_easy"],
            ["model_not_easy", "reviewers_not_easy"],
            list(GATED),
        ):
            for state in PartState:
                found = set(Revision.objects.filter(gate_is(bank, gate, state)).values_list("pk", flat=True))
                wanted = {pk for pk, parts in own.items() if whole([parts[code] for code in gate]) == state}
                assert found == wanted, (gate, state, compared)
                assert wanted == {pk for pk, parts in shown.items() if state_by_gate(Gate(parts=gate), parts) == state}


@pytest.mark.skipif(
    connection.vendor != "sqlite", reason="PostgreSQL plans by what it holds, and scans so small a table"
)
def test_each_condition_finds_the_findings_of_a_wording_by_an_index(bank: QuestionBank) -> None:
    """Else a count over 572,419 questions looks at all findings for each of them, which takes hours."""
    current = Revision.objects.in_bank(bank).current().order_by()
    without = len(WHOLE_TABLE.findall(current.explain()))
    for code in GATED:
        for state in PartState:
            try:
                plan = current.filter(part_is(bank, code, state)).explain()
            except EmptyResultSet:
                continue
            assert len(WHOLE_TABLE.findall(plan)) <= without, f"{code}, {state}: use _judged or _against.\n{plan}"


def refreshed(revisions: list[Revision]) -> list[Revision]:
    return list(Revision.objects.filter(pk__in=[one.pk for one in revisions]).select_related("question"))


def whole(states: list[PartState]) -> PartState:
    """V(Q) in the words of its definition."""
    for state in (PartState.FAIL, PartState.UNDECIDED):
        if state in states:
            return state
    return PartState.PASS if set(states) == {PartState.PASS} else PartState.NOT_EXAMINED


# --- c1 was what "images" is ---
def test_what_was_asked_and_required_as_c1_goes_on_as_images(bank: QuestionBank, cora: User) -> None:
    keep(bank, "c3", actor=cora)
    set_gate(bank, ["c1", "c3", "expert"], name="Release", actor=cora, at=NOON)
    plan = draw_sample(bank, by=StratifyBy.NONE, per_thousand=1000, wanted={"validity": "c1-pass"}, actor=None, at=NOON)
    import_module("annotation.migrations.0009_images_apart_from_c1").take_apart(apps, None)
    assert set(Finding.objects.values_list("rule", flat=True)) == {"c3", "images"}
    assert set(ValidatorRun.objects.values_list("validator", flat=True)) == {"c3", "images"}
    gates = list(Gate.objects.order_by("number").values_list("number", "name", "parts"))
    assert gates[1:] == [(2, "Release", ["c1", "c3", "expert"]), (3, "Release", ["c3", "images", "expert"])]
    assert not set_gate(bank, ["images", "c3", "expert"], actor=cora, at=NOON), "the order is that of the parts"
    plan.refresh_from_db()
    assert (plan.frame["filters"], plan.frame["kept_out"]["parts"]) == (
        {"validity": "images-pass"},
        ["images", "c3", "expert"],
    )


# --- on pages ---
def store(client: Client, bank: QuestionBank, *parts: str) -> Any:
    return client.post(reverse("bank-keeping-out", args=[bank.slug]), {"parts": parts}, follow=True)


def test_the_page_stores_the_rule_and_counts(coordinator: Client, bank: QuestionBank) -> None:
    page = store(coordinator, bank, "c1", "c3")
    assert page.context["n_failing"] == 3
    assert [row["is_required"] for row in page.context["rows"]] == [False, True, False, True, *[False] * 9]
    assert b"3 of 5 questions fail the gate" in page.content
    assert "Select a valid choice" in store(coordinator, bank, "form").content.decode()
    assert str(gate_of(bank)) == "Gate, version 1"


def test_a_question_says_its_state_by_the_gate(coordinator: Client, bank: QuestionBank) -> None:
    address = reverse("question", args=[bank.slug, 1])
    assert "The bank has no gate" in coordinator.get(address).content.decode()
    keep(bank, "c1", "c3")
    for state in PartState:
        for one in Revision.objects.filter(gate_is(bank, ["c1", "c3"], state)).select_related("question"):
            page = coordinator.get(reverse("question", args=[bank.slug, one.question.number]))
            assert page.context["whole"] == state
            assert "by the gate" in page.content.decode()


def test_the_first_screen_counts_and_each_count_leads_to_its_questions(coordinator: Client, bank: QuestionBank) -> None:
    address = reverse("bank", args=[bank.slug])
    assert "No gate is set" in coordinator.get(address).content.decode()
    keep(bank, "c1", "c3")
    page = coordinator.get(address)
    counts = {state.value: n for state, n in page.context["valid"].counts.items()}
    assert counts == {"pass": 1, "fail": 3, "undecided": 1, "not_examined": 0}
    for state, n in counts.items():
        found = coordinator.get(address, {"validity": state})
        assert [found.context["page"].n_found, f"?validity={state}" in page.content.decode()] == [n, True]
    for part, state, n in page.context["valid"].blocking:
        assert coordinator.get(address, {"validity": f"{part.code}-{state}"}).context["page"].n_found == n


def test_of_a_large_bank_the_counts_come_beside_the_page(
    coordinator: Client, bank: QuestionBank, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(bank, "c1", "c3")
    monkeypatch.setattr("annotation.views.bank_validators.MOST_COUNTED", 2)
    page = coordinator.get(reverse("bank", args=[bank.slug])).content.decode()
    address = reverse("bank-valid", args=[bank.slug])
    assert f'hx-get="{address}"' in page
    assert "by the gate" not in page
    assert "?validity=fail" in coordinator.get(address).content.decode()


def test_only_what_passes_is_exported(bank: QuestionBank, tmp_path: Path) -> None:
    choice = BankChoice(BankForm.JSONL, only_valid=True)
    with refuses(ExportRefused, "no_gate"):
        export_bank(bank, choice, tmp_path / "none", actor=None, at=NOON)
    keep(bank, "c1", "c3")
    done = export_bank(bank, choice, tmp_path / "out", actor=None, at=NOON)
    assert (done.n_questions, done.n_stayed_back) == (1, 4)
    assert "only what passes the gate Gate, version 1: c1, c3" in (tmp_path / "out" / "card.md").read_text()


def test_who_reviews_a_question_learns_nothing_of_it(coordinator: Client, cora: User, bank: QuestionBank) -> None:
    keep(bank, "c1")
    again = make_round(n_questions=0, bank=bank)
    revision = Revision.objects.get(bank=bank, question__number=1)
    Assignment.objects.create(round=again, reviewer=cora, revision=revision, position=1)
    address = reverse("bank", args=[bank.slug])
    assert coordinator.get(address, {"validity": "fail"}).context["page"].n_found == 1
    assert sum(coordinator.get(address).context["valid"].counts.values()) == 4


def test_preview_and_sample_say_it(coordinator: Client, bank: QuestionBank) -> None:
    keep(bank, "c3")
    asked: dict[str, str | int] = {"bank": bank.slug, "by": "none", "per_thousand": 1000, "seed": 1}
    text = coordinator.get(reverse("sample-new"), asked).content.decode()
    assert "2 questions that fail a part of validity are kept" in " ".join(text.split())
    plan = draw_sample(QuestionBank.objects.get(), by=StratifyBy.NONE, per_thousand=1000, actor=None, at=NOON)
    text = coordinator.get(reverse("sample", args=[plan.slug])).content.decode()
    assert "2 questions that fail one of “c3: sound, key right” were kept out" in text
    assert SamplingPlan.objects.count() == 1
