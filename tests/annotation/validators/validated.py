"""A bank whose questions a simulated model judges: with a server, or without one and its threads."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import cycle
from typing import Any

from django.test import override_settings

from annotation.enums import AssignmentState
from annotation.models import (
    Assignment,
    BlindAnswer,
    Finding,
    QuestionBank,
    Report,
    ReviewRound,
    Revision,
    User,
    ValidatorRun,
)
from annotation.validators.taking_verdicts import take_verdicts
from annotation.validators.validator_plans import CheckWanted, begin_checks, plan_checks
from tests.annotation.endpoints.simulated_models import JUDGES
from tests.annotation.model_calls.simulated_calls import ENDPOINT, HERE, NOON, answer_with, make_permission
from tests.annotation.review.cases import make_bank, make_revisions

FINDINGS = "The lungs are clear and the heart is of usual size."


def judged_bank(n_questions: int = 4, **fields: Any) -> QuestionBank:
    """Questions with a key and a report, and a permission to send all of it."""
    bank = make_bank("Judged")
    make_revisions(bank, dict.fromkeys(range(1, n_questions + 1), fields))
    Report.objects.filter(exam__bank=bank).update(findings=FINDINGS, impression="")
    make_permission(bank, reports=True)
    return bank


def wanted_of(bank: QuestionBank, validator: str = "c1", **fields: Any) -> CheckWanted:
    return CheckWanted(bank=bank, validator=validator, **{"endpoint": ENDPOINT, "model": JUDGES, **fields})


def begun(bank: QuestionBank, validator: str = "c1", **fields: Any) -> ValidatorRun:
    with override_settings(MODEL_ENDPOINTS=(HERE,)):
        planned = plan_checks([wanted_of(bank, validator, **fields)], actor=None, at=NOON)
        [plan] = begin_checks(planned, actor=None, at=NOON)
    assert plan.run is not None
    return plan.run


def verdict_json(verdict: str, reason: str = "a reason") -> str:
    return json.dumps({"reason": reason, "verdict": verdict})


def judged(
    bank: QuestionBank, *verdicts: str, validator: str = "c1", reason: str = "a reason", **fields: Any
) -> ValidatorRun:
    """A whole run: the questions get these verdicts in turn."""
    run = begun(bank, validator, **fields)
    answer_with(run.batch, *(verdict_json(one, reason) for one in verdicts))
    return take_verdicts(ValidatorRun.objects.get(pk=run.pk), at=NOON)


def rated(bank: QuestionBank, *levels: str, **fields: Any) -> ValidatorRun:
    """A model rates the difficulty of the questions by these in turn."""
    run = begun(bank, "rating", **fields)
    answer_with(run.batch, *(json.dumps({"reason": "REASON-WORDS", "difficulty": level}) for level in levels))
    return take_verdicts(run, at=NOON)


def answered_blind(review_round: ReviewRound, reviewer: User, revisions: Iterable[Revision], *levels: str) -> None:
    """Stored as submitted, each wording with the next level of difficulty."""
    for revision, level in zip(revisions, cycle(levels), strict=False):
        assignment = Assignment.objects.create(
            round=review_round, reviewer=reviewer, revision=revision, position=1, state=AssignmentState.SUBMITTED
        )
        BlindAnswer.objects.create(
            assignment=assignment, best="B", defensible=["B"], difficulty=level, answered_at=NOON
        )


def verdicts(bank: QuestionBank, validator: str = "c1") -> list[str]:
    """Those that count, by question."""
    found = Finding.objects.filter(bank=bank, rule=validator, superseded_at=None)
    return list(found.order_by("revision__question__number").values_list("verdict", flat=True))
