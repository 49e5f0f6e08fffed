"""Twelve versions of a prompt, as section 3.3.1 of the paper tells of twelve iterations: each from what simulated
reviewers said of the questions of the version before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from django.db.models import QuerySet

from annotation.call_enums import PromptPurpose
from annotation.demonstration.registry import ACCOUNTS
from annotation.demonstration.simulated_exams import DemonstrationExam, Stage
from annotation.endpoints.simulated_endpoint import SIMULATED, WRITER
from annotation.enums import Flag, Role, RoundState, RoundSteps, Verdict
from annotation.generation.generation_plans import GenerationWanted, begin_generation, plan_generation
from annotation.generation.kernels.answer_forms import QUESTIONS
from annotation.model_calls.versions import make_version
from annotation.models import Assignment, GenerationRun, PromptVersion, QuestionBank, ReviewRound, Revision, User
from annotation.outcomes.prompt_flags import drafted_reason, flagged_comments, prompt_flags
from annotation.review.answering import mark_opened, open_report
from annotation.review.ending import close_round
from annotation.review.kernels.form import Judgement
from annotation.review.kernels.form_design import CRITERIA
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.round_design import RoundDesign, store_criteria_form
from annotation.review.rounds import archive_round, create_round, open_round
from annotation.review.samples import draw_sample
from annotation.review.submitting import submit_review
from annotation.statistics.kernels.sampling import StratifyBy
from readerstudy.demonstration.models_at_work import fill_small_bank, make_all, simulated_models, small_exams

BANK = "Twelve prompt versions (simulated)"
PROMPT = "questions in twelve versions (simulated)"
N_EXAMS, FIRST_EXAM, PER_EXAM = 12, 301, 1  # so many patients that shares have intervals
N_QUOTED = 2  # comments in a reason
FIRST_REASON = "Simulated: the first wording."
CHANGES = (  # what each version after the first adds
    "Ask about what these images show, not about what the report says of them.",
    "Do not compare with an earlier examination: none is shown.",
    "Only the key may be right; every other option must be absent on these images.",
    "Give all four options the same length and the same kind of words.",
    "The explanation names only findings of the list.",
    "Do not ask for what a radiograph alone cannot decide.",
    "Name the side as the list names it.",
    "Do not ask what a textbook answers without the images.",
    "Write the stem as one whole sentence.",
    "Prefer findings that change what is done for the patient.",
    "State how sure the report is where it is not.",
)
FAULTS = {  # what simulated reviewers flag, in which criterion they grade it low, and what they write
    Flag.SEVERAL_VALID: (CRITERIA[0], "A second option is just as right on this image."),
    Flag.NEEDS_PRIOR: (CRITERIA[1], "Nothing earlier is here to compare with."),
    Flag.UNSOUND: (CRITERIA[2], "A radiograph alone does not decide this."),
    Flag.HALLUCINATED: (CRITERIA[1], "The explanation names what the report does not."),
}


def add_prompt_iterations(
    bank: QuestionBank,
    *,
    exams: Sequence[DemonstrationExam],
    folder: Path,
    coordinator: User,
    at: datetime,
    tell: Stage,
) -> None:
    """Add what is missing: a version a day before ``at``, its questions, and a closed round of them."""
    begun = at - timedelta(days=len(CHANGES) + 2)
    shown = small_exams(exams, first=FIRST_EXAM, n=min(N_EXAMS, len(exams)))
    own = fill_small_bank(BANK, shown, of=bank, folder=folder, coordinator=coordinator, at=begun, tell=tell)
    reviewers = User.objects.filter(email__in=[one.email for one in ACCOUNTS if one.role == Role.REVIEWER])
    with simulated_models([own], begun):
        for number in range(1, len(CHANGES) + 2):
            made = begun + timedelta(days=number)
            version = _version(number, coordinator, made)
            run = _generate(own, version, len(shown), coordinator, made)
            _review(run, version, reviewers, coordinator, made + timedelta(hours=4))
            tell("Reviewing twelve versions of a prompt", number, len(CHANGES) + 1)


def _version(number: int, coordinator: User, at: datetime) -> PromptVersion:
    """Its reason is what was counted and written of the version before, and what it adds."""
    versions = PromptVersion.objects.filter(name=PROMPT)
    if stored := versions.filter(number=number).first():
        return stored
    parent = versions.filter(number=number - 1).first()
    reason = FIRST_REASON
    if parent:
        quotes = [one.text for one in flagged_comments(parent, coordinator)[:N_QUOTED]]
        reason = (
            f"Simulated. Added: {CHANGES[number - 2]}\n{drafted_reason(prompt_flags([parent], coordinator), quotes)}"
        )
    head, findings = QUESTIONS.text.split("\n\n")
    return make_version(
        PROMPT,
        PromptPurpose.QUESTIONS,
        "\n- ".join([head, *CHANGES[: number - 1]]) + f"\n\n{findings}",
        instruction=QUESTIONS.instruction,
        variables=QUESTIONS.variables,
        schema=QUESTIONS.schema,
        parent=parent,
        reason=reason,
        actor=coordinator,
        at=at,
    )


def _generate(
    bank: QuestionBank, version: PromptVersion, n_exams: int, coordinator: User, at: datetime
) -> GenerationRun:
    run = GenerationRun.objects.filter(bank=bank, questions_prompt=version).first()
    if run is None:
        wanted = GenerationWanted(
            bank=bank,
            endpoint=SIMULATED,
            model=WRITER,
            per_exam=PER_EXAM,
            seed=version.number,
            n_exams=n_exams,
            questions_prompt=version,
        )
        run = begin_generation(plan_generation(wanted, at=at), actor=coordinator, at=at).stored_run
    make_all([run], at)
    return GenerationRun.objects.get(pk=run.pk)


def _review(
    run: GenerationRun, version: PromptVersion, reviewers: QuerySet[User], coordinator: User, at: datetime
) -> None:
    """A round of the questions that the version wrote, each read by two; archived, so that lists stay short."""
    name = f"Version {version.number} of a prompt (simulated reviews)"
    made = ReviewRound.objects.filter(name=name).first()
    if made is None:
        written = Revision.objects.filter(bank_import=run.bank_import)
        numbers = list(written.order_by("question__number").values_list("question__number", flat=True))
        if not numbers:
            return
        plan = draw_sample(
            run.bank,
            actor=coordinator,
            at=at,
            name=name,
            by=StratifyBy.NONE,
            per_thousand=1000,
            seed=1,
            numbers=numbers,
        )
        made = create_round(
            plan,
            name=name,
            reviewers=list(reviewers),
            reviewers_per_question=min(2, len(reviewers)),
            steps=RoundSteps.OPEN,
            design=RoundDesign(form=store_criteria_form(at=at)),
            actor=coordinator,
            at=at,
        )
        open_round(made, actor=coordinator, at=at)
    rng = np.random.default_rng(version.number)
    left = Assignment.objects.filter(round=made, state__in=UNFINISHED).select_related("reviewer", "round", "revision")
    for place, assignment in enumerate(left.order_by("pk")):
        seen = at + timedelta(minutes=place)
        mark_opened(assignment, at=seen)
        open_report(assignment, actor=assignment.reviewer, at=seen)
        opinion = _opinion(version.number, rng)
        submit_review(assignment, opinion, actor=assignment.reviewer, at=seen, simulated=True)
    if made.state == RoundState.OPEN:
        close_round(made, actor=coordinator, at=at + timedelta(hours=3))
        archive_round(made, actor=coordinator, at=at + timedelta(hours=3))


def _opinion(number: int, rng: np.random.Generator) -> Judgement:
    """The later the version, the fewer faults are found."""
    grades: dict[str, int | str] = {name.value: 5 if rng.uniform() < 0.6 else 4 for name in CRITERIA}
    if rng.uniform() > 0.4 * 0.82 ** (number - 1):
        return Judgement(grades=grades, verdict=Verdict.ACCEPT)
    flag = list(FAULTS)[int(rng.integers(len(FAULTS)))]
    criterion, comment = FAULTS[flag]
    return Judgement(
        grades={**grades, criterion.value: 3 - int(rng.uniform() < 0.3)},
        flags=(flag,),
        verdict=Verdict.REVISE,
        reasoning=f"{comment} (Simulated.)",
        comment=comment,
    )
