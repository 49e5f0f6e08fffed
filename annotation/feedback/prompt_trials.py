"""A trial of two versions of a prompt: asked, and drawn into one sample that does not tell them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.call_enums import BatchState
from annotation.enums import QuestionState, Role, RoundState
from annotation.feedback.kernels.trial_pairs import (
    DRAW_RULE,
    TrialQuestion,
    draw_pairs,
)
from annotation.feedback.kernels.trial_states import (
    FeedbackRefused,
    TrialAct,
    TrialFacts,
    TrialState,
    state_of,
    why_not,
)
from annotation.ingest.completeness import has_lost_images
from annotation.model_calls.call_batches import start
from annotation.models import (
    CallBatch,
    GenerationRun,
    Membership,
    PromptTrial,
    ReviewRound,
    Revision,
    SampledQuestion,
    SamplingPlan,
    User,
)
from annotation.sampling.kernels.drawing import ALL, Drawn, StratifyBy, frame_of
from annotation.sampling.samples import Draw, Stratum, store_sample
from annotation.site.hooks import Conflict


# --- its state ------------------------------------------------------------------------------------
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
    """Rounds of trials that are not closed: what they found so far is shown to nobody by version."""
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
    """The trial as it is now, locked until the transaction ends. Raises FeedbackRefused."""
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
