"""A trial of two versions of a prompt is planned: how many pairs it needs, and two runs on the same reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import PromptPurpose
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.feedback.kernels.trial_pairs import TrialAssumptions, pairs_needed
from annotation.feedback.kernels.trial_states import FeedbackRefused
from annotation.generation.generation_plans import (
    GenerationPlan,
    GenerationWanted,
    plan_generation,
    store_generation,
)
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.generation.kernels.generation_prompts import BULLETS
from annotation.models import PromptTrial, PromptVersion, QuestionBank, User
from annotation.sampling.kernels.drawing import SEED_MAX


@dataclass(frozen=True, kw_only=True)
class TrialWanted:
    """What a person asks for. Findings of the first None: by our prompt; of the second None: by that of the first.

    ``n_exams`` None: as many as the plan needs.
    """

    bank: QuestionBank
    endpoint: str
    model: str
    first: PromptVersion
    second: PromptVersion
    assumed: TrialAssumptions
    first_findings: PromptVersion | None = None
    second_findings: PromptVersion | None = None
    per_exam: int = 1
    seed: int = 1
    n_exams: int | None = None
    chat: ChatSettings = field(default_factory=ChatSettings)
    cap: Decimal | None = None  # of each version

    @property
    def prompts(self) -> tuple[tuple[PromptVersion, PromptVersion | None], tuple[PromptVersion, PromptVersion | None]]:
        """Of each version: for questions, and for findings."""
        return (self.first, self.first_findings), (self.second, self.second_findings or self.first_findings)


@dataclass(frozen=True)
class TrialPlan:
    """``trial`` is None for a dry run."""

    wanted: TrialWanted
    n_pairs: int
    n_exams: int
    plans: tuple[GenerationPlan, GenerationPlan]
    trial: PromptTrial | None = None

    def as_json(self) -> dict[str, Any]:
        assumed = self.wanted.assumed
        return {
            "trial": self.trial.public_id if self.trial else None,
            "assumed": {name: getattr(assumed, name) for name in assumed.__dataclass_fields__},
            "pairs": self.n_pairs,
            "exams": self.n_exams,
            "calls": 4 * self.n_exams,
            "first": self.plans[0].as_json(),
            "second": self.plans[1].as_json(),
        }


def plan_trial(wanted: TrialWanted, *, actor: User | None, at: datetime, dry_run: bool = False) -> TrialPlan:
    """Store two runs on the same reports, and what was planned. Nothing is sent.

    Raises FeedbackRefused, and as plan_generation does; then nothing is stored.
    """
    _check(wanted)
    n_pairs = pairs_needed(wanted.assumed, wanted.per_exam)
    n_exams = _n_exams(wanted, n_pairs)
    of_first, of_second = _generations(wanted, n_exams)
    first = plan_generation(of_first, actor=actor, at=at, dry_run=True)
    second = plan_generation(of_second, actor=actor, at=at, dry_run=True, found=first.found)
    plan = TrialPlan(wanted, n_pairs, n_exams, (first, second))
    return plan if dry_run else store_trial(plan, actor=actor, at=at)


@transaction.atomic
def store_trial(plan: TrialPlan, *, actor: User | None, at: datetime) -> TrialPlan:
    """Store what a dry run planned: both runs and the trial, or nothing."""
    wanted = plan.wanted
    first, second = (store_generation(one, actor=actor, at=at) for one in plan.plans)
    assert first.run is not None
    assert second.run is not None
    trial = PromptTrial.objects.create(
        first_run=first.run,
        second_run=second.run,
        issue_rate=wanted.assumed.issue_rate,
        difference=wanted.assumed.difference,
        power=wanted.assumed.power,
        correlation=wanted.assumed.correlation,
        n_planned=plan.n_pairs,
        created_by=actor,
        created_at=at,
    )
    facts = {
        "first": str(wanted.first),
        "second": str(wanted.second),
        "pairs": plan.n_pairs,
        "exams": plan.n_exams,
        "per_exam": wanted.per_exam,
        "seed": wanted.seed,
    }
    record("prompt_trial.planned", actor=actor, at=at, subject=trial, facts=facts)
    return replace(plan, plans=(first, second), trial=trial)


def _generations(wanted: TrialWanted, n_exams: int) -> Iterator[GenerationWanted]:
    for questions, findings in wanted.prompts:
        yield GenerationWanted(
            bank=wanted.bank,
            endpoint=wanted.endpoint,
            model=wanted.model,
            per_exam=wanted.per_exam,
            seed=wanted.seed,
            n_exams=n_exams,
            bullets_prompt=findings,
            questions_prompt=questions,
            chat=wanted.chat,
            cap=wanted.cap,
        )


_PROBLEMS = {
    "issue_rate": "The issue rate that is assumed lies between 0 and 100 %.",
    "difference": "The difference is not 0, and leaves the second version a rate from 0 to 100 %.",
    "power": "The power lies from 50 % to below 100 %.",
    "correlation": "The correlation lies from 0 to below 1.",
}


def _check(wanted: TrialWanted) -> None:
    for prompt in (wanted.first, wanted.second):
        if prompt.purpose != PromptPurpose.QUESTIONS:
            sentence = _("“%(name)s” does not write questions: a trial compares prompts that do.")
            raise FeedbackRefused("wrong_purpose", sentence % {"name": prompt}, status=422, field="first")
    sent = {(one.sha256, findings.sha256 if findings else BULLETS.sha256) for one, findings in wanted.prompts}
    if len(sent) == 1:
        sentence = _("Both versions send the same: there is nothing to compare. Choose two that differ.")
        raise FeedbackRefused("same_prompts", sentence, status=422, field="first")
    if not 1 <= wanted.per_exam <= MOST_QUESTIONS:
        sentence = _("Ask for 1 to %(most)d questions per exam.") % {"most": MOST_QUESTIONS}
        raise FeedbackRefused("bad_per_exam", sentence, status=422, field="per_exam")
    if not 0 <= wanted.seed <= SEED_MAX:
        sentence = _("The seed must be a whole number from 0 to %(max)s.") % {"max": SEED_MAX}
        raise FeedbackRefused("bad_seed", sentence, status=422, field="seed")
    if problem := wanted.assumed.problem():
        raise FeedbackRefused("bad_assumption", _(_PROBLEMS[problem]), status=422, field=problem)


def _n_exams(wanted: TrialWanted, n_pairs: int) -> int:
    """Raises FeedbackRefused (``too_few_exams``): with fewer the plan would not hold."""
    needed = ceil(n_pairs / wanted.per_exam)
    if wanted.n_exams is not None and wanted.n_exams < needed:
        sentence = _("The plan needs %(n)d pairs, thus %(needed)d exams: ask for as many, or assume otherwise.")
        facts = {"n": n_pairs, "needed": needed}
        raise FeedbackRefused("too_few_exams", sentence % facts, status=422, field="n_exams")
    return wanted.n_exams or needed
