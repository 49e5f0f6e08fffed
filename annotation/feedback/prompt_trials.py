"""A trial of two versions of a prompt: planned, asked, and drawn into one sample that does not tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.calls.call_batches import start
from annotation.endpoints.kernels.model_requests import ChatSettings
from annotation.enums import BatchState, PromptPurpose, QuestionState, Role, RoundState
from annotation.feedback.kernels.trial_pairs import (
    DRAW_RULE,
    TrialAssumptions,
    TrialQuestion,
    draw_pairs,
    pairs_needed,
)
from annotation.feedback.kernels.trial_states import (
    FeedbackRefused,
    TrialAct,
    TrialFacts,
    TrialState,
    state_of,
    why_not,
)
from annotation.generation.generation_plans import GenerationPlan, GenerationWanted, plan_generation
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.generation.kernels.generation_prompts import BULLETS
from annotation.ingest.completeness import has_lost_images
from annotation.models import (
    CallBatch,
    GenerationReport,
    GenerationRun,
    Membership,
    PromptTrial,
    PromptVersion,
    QuestionBank,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    User,
)
from annotation.sampling.kernels.drawing import ALL, SEED_MAX, Drawn, StratifyBy, frame_of
from annotation.sampling.samples import Draw, Stratum, store_sample
from annotation.site.hooks import Conflict


# --- planned --------------------------------------------------------------------------------------
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
    with transaction.atomic():
        _check(wanted)
        n_pairs = pairs_needed(wanted.assumed, wanted.per_exam)
        n_exams = _n_exams(wanted, n_pairs)
        first, second = (
            plan_generation(one, actor=actor, at=at, dry_run=dry_run) for one in _generations(wanted, n_exams)
        )
        plan = TrialPlan(wanted, n_pairs, n_exams, (first, second))
        if first.run is None or second.run is None:
            return plan
        _check_same_reports(first.run, second.run)
        trial = PromptTrial.objects.create(
            first_run=first.run,
            second_run=second.run,
            issue_rate=wanted.assumed.issue_rate,
            difference=wanted.assumed.difference,
            power=wanted.assumed.power,
            correlation=wanted.assumed.correlation,
            n_planned=n_pairs,
            created_by=actor,
            created_at=at,
        )
        facts = {
            "first": str(wanted.first),
            "second": str(wanted.second),
            "pairs": n_pairs,
            "exams": n_exams,
            "per_exam": wanted.per_exam,
            "seed": wanted.seed,
        }
        record("prompt_trial.planned", actor=actor, at=at, subject=trial, facts=facts)
    return replace(plan, trial=trial)


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


def _check_same_reports(first: GenerationRun, second: GenerationRun) -> None:
    rows = [GenerationReport.objects.filter(run=run).order_by("number") for run in (first, second)]
    told = [list(one.values_list("answer_key", "sha256")) for one in rows]
    if told[0] != told[1]:
        sentence = _("The bank changed while the trial was planned, so that its reports differ. Plan it again.")
        raise FeedbackRefused("reports_differ", sentence)


# --- where it stands ------------------------------------------------------------------------------
def trials_with_runs() -> QuerySet[PromptTrial]:
    return PromptTrial.objects.select_related(
        "created_by",
        "sample__bank",
        *(
            f"{run}__{path}"
            for run in ("first_run", "second_run")
            for path in ("bank", "bank_import", "bullets_batch__prompt", "questions_prompt", "questions_batch")
        ),
    )


def runs_of(trial: PromptTrial) -> tuple[GenerationRun, GenerationRun]:
    return trial.first_run, trial.second_run


def _batches(trial: PromptTrial) -> list[CallBatch]:
    found = (batch for run in runs_of(trial) for batch in (run.bullets_batch, run.questions_batch))
    return [one for one in found if one is not None]


def drawn_sample(trial: PromptTrial) -> SamplingPlan | None:
    """None also for one in the bin: then it may be drawn again, by the same seed."""
    return trial.sample if trial.sample is not None and trial.sample.deleted_at is None else None


def round_of(trial: PromptTrial) -> ReviewRound | None:
    """The round that counts: of those made from the sample the one that was opened first; a draft before that."""
    sample = drawn_sample(trial)
    rounds = list(ReviewRound.objects.filter(plan=sample).order_by("pk")) if sample else []
    opened = sorted((one for one in rounds if one.opened_at is not None), key=lambda one: (one.opened_at, one.pk))
    return next(iter([*opened, *rounds]), None)


def trial_state(trial: PromptTrial, review_round: ReviewRound | None) -> TrialState:
    """``review_round``: as round_of has it."""
    return state_of(
        TrialFacts(
            is_started=any(one.state != BatchState.PLANNED for one in _batches(trial)),
            is_stopped=any(one.state == BatchState.STOPPED for one in _batches(trial)),
            is_made=all(run.finished_at is not None for run in runs_of(trial)),
            is_drawn=drawn_sample(trial) is not None,
            round_state=review_round.state if review_round else "",
        )
    )


def unfinished_rounds() -> QuerySet[ReviewRound]:
    """Rounds of trials that are not closed: what they found so far is told to nobody by version."""
    samples = PromptTrial.objects.exclude(sample=None).order_by().values("sample")
    return ReviewRound.objects.filter(plan__in=samples).exclude(state=RoundState.CLOSED).order_by()


# --- asked and drawn ------------------------------------------------------------------------------
def start_trial(trial: PromptTrial, *, actor: User | None, at: datetime) -> None:
    """Ask for the questions of both versions, or go on with what was paused.

    Raises FeedbackRefused, and as starting a batch of calls does; then neither is asked.
    """
    with transaction.atomic():
        trial = _locked(trial, TrialAct.START)
        waiting = [one for one in _batches(trial) if one.state in (BatchState.PLANNED, BatchState.PAUSED)]
        if not waiting:
            sentence = _("Both versions are being asked already, or were stopped: there is nothing to start.")
            raise FeedbackRefused("under_way", sentence)
        for batch in waiting:
            start(batch, actor=actor, at=at)
        record("prompt_trial.started", actor=actor, at=at, subject=trial, facts={"batches": len(waiting)})


def draw_trial(trial: PromptTrial, *, actor: User | None, at: datetime) -> SamplingPlan:
    """Store the planned number of pairs, or all there are, as one sample without a word of the version.

    Raises FeedbackRefused before both versions have made their questions, when it is drawn, and without any pair.
    """
    with transaction.atomic():
        trial = _locked(trial, TrialAct.DRAW)
        questions = trial_questions(trial)
        drawn = draw_pairs(questions, trial.n_planned, trial.first_run.seed)
        if not drawn:
            sentence = _("No exam has a question of both versions, so that there is nothing to compare.")
            raise FeedbackRefused("no_pairs", sentence)
        bank = trial.first_run.bank
        frame = frame_of(((one.number, "") for one in questions), StratifyBy.NONE)
        found = Draw(
            bank=bank,
            by=StratifyBy.NONE,
            per_thousand=max(1, 1000 * len(drawn) // frame.n),
            seed=trial.first_run.seed,
            n_frame=frame.n,
            frame_sha256=frame.sha256(),
            strata=[Stratum(ALL, frame.n, len(drawn))],
            drawn=[Drawn(one.number, ALL) for one in drawn],
            revision_ids=[one.revision for one in drawn],
            frame={"chosen": frame.n},
        )
        name = _("Generated questions %(id)s") % {"id": trial.public_id}
        sample = store_sample(found, name=name, actor=actor, at=at, rule=DRAW_RULE)
        PromptTrial.objects.filter(pk=trial.pk).update(sample=sample)
        facts = {"sample": sample.slug, "pairs": len(drawn) // 2, "planned": trial.n_planned}
        record("prompt_trial.drawn", actor=actor, at=at, subject=trial, facts=facts)
    return sample


def trial_questions(trial: PromptTrial) -> list[TrialQuestion]:
    """What both versions made and reviewers can be shown: the wording of the model, with its images, not withdrawn."""
    bank = trial.first_run.bank
    brought = {run.bank_import_id: place == 1 for place, run in enumerate(runs_of(trial)) if run.bank_import_id}
    rows = Revision.objects.current().filter(bank=bank, bank_import__in=brought).exclude(has_lost_images(bank))
    rows = rows.exclude(question__state=QuestionState.WITHDRAWN).order_by("question__number")
    values = rows.values_list("question__number", "pk", "question__exam", "bank_import")
    return [TrialQuestion(number, pk, exam, brought[by]) for number, pk, exam, by in values]


def sampled_pairs(trial: PromptTrial) -> list[TrialQuestion]:
    """What was drawn, in its order."""
    second = trial.second_run.bank_import_id
    rows = SampledQuestion.objects.filter(plan=trial.sample_id).order_by("position")
    values = rows.values_list(
        "revision__question__number", "revision", "revision__question__exam", "revision__bank_import"
    )
    return [TrialQuestion(number, pk, exam, by == second) for number, pk, exam, by in values]


def _locked(trial: PromptTrial, act: TrialAct) -> PromptTrial:
    """The trial as it stands now, locked until the transaction ends. Raises FeedbackRefused."""
    PromptTrial.objects.select_for_update().get(pk=trial.pk)
    trial = trials_with_runs().get(pk=trial.pk)
    check_act(act, trial_state(trial, round_of(trial)))
    return trial


def check_act(act: TrialAct, state: TrialState) -> None:
    """Raises FeedbackRefused where it may not be done now."""
    if refusal := why_not(act, state):
        raise FeedbackRefused(refusal.code, _(refusal.sentence))


# --- who cannot be blinded ------------------------------------------------------------------------
def looks_up_versions(people: Collection[int], questions: Collection[int]) -> Iterator[Conflict]:
    """Whoever coordinates the site, or administers it, could look up which version made a question of a trial.

    They review none of them until the round of the trial is closed. A question rule, see site/hooks.py.
    """
    open_trials = PromptTrial.objects.filter(sample__deleted_at=None).exclude(
        Q(sample=None) | Q(sample__rounds__state=RoundState.CLOSED)
    )
    drawn = SampledQuestion.objects.filter(plan__in=open_trials.order_by().values("sample"))
    blinded = set(drawn.values_list("revision__question", flat=True)) & set(questions)
    if not blinded:
        return
    roles = (Role.COORDINATOR, Role.ADMINISTRATOR)
    knowing = Membership.objects.filter(user__in=people, role__in=roles, round=None).order_by()
    for pk, name in knowing.values_list("user", "user__name").distinct():
        for question in blinded:
            yield Conflict(pk, question, _("%(name)s could look up which prompt made it.") % {"name": name})
