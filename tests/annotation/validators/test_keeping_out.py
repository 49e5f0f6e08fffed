"""Which failing parts keep questions out of new samples: nothing until a person says so, and then with counts."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Finding, QuestionBank, SamplingPlan, User
from annotation.quality.checking import QualityRefused, dismiss
from annotation.quality.kernels.question_checks import CAN_FAIL, PARTS
from annotation.quality.validity import keep_out
from annotation.review.kernels.sampling import StratifyBy
from annotation.review.samples import SampleRefused, draw_sample, preview_sample
from tests.annotation.model_calls.simulated_calls import NOON
from tests.annotation.review.cases import images_are_there
from tests.annotation.validators.validated import judged, judged_bank

pytestmark = pytest.mark.django_db


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
    keep_out(bank, parts, actor=actor, at=NOON)
    return QuestionBank.objects.get(pk=bank.pk)


def test_nothing_is_kept_out_until_a_person_says_so(bank: QuestionBank) -> None:
    assert drawn(bank) == [1, 2, 3, 4, 5]
    assert drawn(keep(bank, "c1")) == [3, 4, 5]
    assert drawn(keep(bank, "c1", "c3")) == [4, 5]
    assert drawn(keep(bank)) == [1, 2, 3, 4, 5]


def test_who_changed_it_is_kept(bank: QuestionBank, cora: User) -> None:
    keep(bank, "c3", "c1", actor=cora)
    assert not keep_out(QuestionBank.objects.get(), ["c1", "c3"], actor=cora, at=NOON)
    event = AuditEvent.objects.get(act="bank.kept_out_changed")
    assert (event.actor, event.facts) == (cora, {"parts": ["c1", "c3"], "before": []})


def test_a_dismissed_fail_keeps_nothing_out(bank: QuestionBank, cora: User) -> None:
    dismiss(Finding.objects.get(rule="c1", revision__question__number=1), reason="no", actor=cora, at=NOON)
    assert drawn(keep(bank, "c1")) == [1, 3, 4, 5]


def test_a_newer_verdict_decides(bank: QuestionBank) -> None:
    judged(bank, "pass", model="another")
    assert drawn(keep(bank, "c1")) == [1, 2, 3, 4, 5]


def test_a_stored_sample_says_what_was_kept_out(bank: QuestionBank) -> None:
    plan = draw_sample(keep(bank, "c3"), by=StratifyBy.NONE, per_thousand=1000, actor=None, at=NOON)
    assert plan.frame["kept_out"] == {"parts": ["c3"], "n": 2}


def test_a_bank_of_failing_questions_gives_no_sample(bank: QuestionBank) -> None:
    judged(bank, "fail", model="another")
    with pytest.raises(SampleRefused) as found:
        drawn(keep(bank, "c1"))
    assert found.value.code == "kept_out"


@pytest.mark.parametrize("part", ["difficulty", "c9"])
def test_what_nothing_can_fail_keeps_nothing_out(bank: QuestionBank, part: str) -> None:
    with pytest.raises(QualityRefused) as found:
        keep(bank, part)
    assert found.value.code == "no_part"
    assert not AuditEvent.objects.filter(act="bank.kept_out_changed").exists()


def test_an_archived_bank_stays_as_it_is(bank: QuestionBank) -> None:
    QuestionBank.objects.update(archived_at=NOON)
    with pytest.raises(QualityRefused) as found:
        keep(bank, "c1")
    assert found.value.code == "archived"


def test_every_part_is_named_once() -> None:
    assert list(PARTS) == ["c1", "c2", "c3", "difficulty", "diversity", "identifiers", "bias"]
    assert CAN_FAIL == ("c1", "c2", "c3", "diversity", "identifiers", "bias")


# --- on pages ---
def store(client: Client, bank: QuestionBank, *parts: str) -> Any:
    return client.post(reverse("bank-keeping-out", args=[bank.slug]), {"parts": parts}, follow=True)


def test_the_page_stores_the_rule_and_counts(client: Client, cora: User, bank: QuestionBank) -> None:
    client.force_login(cora)
    page = store(client, bank, "c1", "c3")
    assert page.context["n_kept_out"] == 3
    assert [row["keeps_out"] for row in page.context["rows"]] == [True, False, True, *[False] * 4]
    assert b"3 of 5 questions out" in page.content
    assert "Select a valid choice" in store(client, bank, "difficulty").content.decode()
    assert QuestionBank.objects.get().kept_out_by == ["c1", "c3"]


def test_preview_and_sample_say_it(client: Client, cora: User, bank: QuestionBank) -> None:
    keep(bank, "c3")
    client.force_login(cora)
    asked: dict[str, str | int] = {"bank": bank.slug, "by": "none", "per_thousand": 1000, "seed": 1}
    text = client.get(reverse("sample-new"), asked).content.decode()
    assert "2 questions that fail a part of validity are kept" in " ".join(text.split())
    plan = draw_sample(QuestionBank.objects.get(), by=StratifyBy.NONE, per_thousand=1000, actor=None, at=NOON)
    text = client.get(reverse("sample", args=[plan.slug])).content.decode()
    assert "2 questions that fail c3: sound, key right were kept out" in text
    assert SamplingPlan.objects.count() == 1
