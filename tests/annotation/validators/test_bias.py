"""Each question is asked once whether it is biased, and gets a verdict with its reason."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.model_calls.request_bodies import contents_of
from annotation.models import AnswerKey, Finding, ModelCall, Question, Revision, User
from annotation.questionbank.validity import count_parts
from annotation.validators.validator_exams import exams_by_reviewers
from tests.annotation.validators.test_validator_pages import page
from tests.annotation.validators.validated import begun, judged, judged_bank, verdicts

pytestmark = pytest.mark.django_db


def test_every_question_is_asked_once_with_key_and_explanation_and_without_report_and_images() -> None:
    bank = judged_bank(4)
    AnswerKey.objects.update(explanation="Older men smoke.")
    run = begun(bank, "bias")
    calls = list(ModelCall.objects.filter(batch=run.batch).select_related("revision", "batch").order_by("number"))
    assert ([one.revision_id for one in calls], run.left_out) == (
        list(Revision.objects.in_bank(bank).current().order_by("question__number").values_list("pk", flat=True)),
        [],
    )
    content = contents_of(run.batch, calls)[0]
    assert "Explanation: Older men smoke." in content.text
    assert "The lungs are clear" not in content.text
    assert run.batch.images == "none"


def test_each_has_a_verdict_with_its_reason_that_counts_and_can_be_dismissed(client: Client, cora: User) -> None:
    bank = judged_bank(3)
    judged(bank, "fail", "pass", "undecided", validator="bias", reason="“elderly” steers to option B")
    assert verdicts(bank, "bias") == ["fail", "pass", "undecided"]
    part = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    assert (part.n_pass, part.n_fail, part.told["undecided"], part.n_not_examined) == (1, 1, 1, 0)
    client.force_login(cora)
    text = page(client, bank, "bias")
    assert "“elderly” steers to option B" in text
    assert "the form of reviews asks nothing about bias" in text
    found = Finding.objects.get(rule="bias", verdict="fail")
    client.post(
        reverse("finding-dismiss", args=[bank.slug, 1]), {"finding": found.public_id, "reason": "Age bears on it."}
    )
    part = next(one for one in count_parts(bank, Question.objects.none()) if one.part.code == "bias")
    assert (part.n_pass, part.n_fail) == (2, 0)
    assert exams_by_reviewers(bank, "bias", Question.objects.none()) == []
