"""The rounds of the demonstration and their simulated reviews: a closed one with hidden repeats, one in adjudication,
and an open one whose reviewers were calibrated on the shared answers of a small one.

What the simulated reviewers of the demonstration think of a question, by a random generator with a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

import numpy as np
from django.db.models import QuerySet
from msgspec import Struct
from msgspec.structs import replace

from annotation.demonstration.questions import LETTERS, SEED, DemonstrationQuestion
from annotation.enums import AssignmentState, BindingVerdict, Degree, Disagreement, Flag, GradeName, RoundState, Verdict
from annotation.models import Assignment, Question, QuestionBank, ReviewRound, SamplingPlan, Settlement, User
from annotation.outcomes.adjudicating import (
    adjudicators_of,
    begin_adjudication,
    decide,
    name_adjudicator,
    show_reviews,
    take_next,
)
from annotation.review.answering import answer_blind, mark_opened, open_report, save_draft
from annotation.review.calibrating import begin_calibration, let_in, must_calibrate
from annotation.review.ending import close_round, complete_reviews, disputed
from annotation.review.kernels.form import Blind, Judgement, make_blind
from annotation.review.kernels.form_design import PAPER
from annotation.review.kernels.transitions import UNFINISHED
from annotation.review.round_design import PLAIN, RoundDesign
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.review.submitting import skip, submit_review
from annotation.statistics.kernels.sampling import StratifyBy

_COMMENTS = {
    Flag.SEVERAL_VALID: "A second option is just as right on these images.",
    Flag.NEEDS_PRIOR: "No earlier examination is here to compare with.",
    Flag.UNSOUND: "The question asks for something that a radiograph alone cannot decide.",
    Flag.HALLUCINATED: "The explanation names facts that neither images nor report contain.",
}


def blind_answer(question: DemonstrationQuestion, rng: np.random.Generator) -> Blind:
    """The key, with what else is right; on a hard question now and then another option."""
    best = LETTERS[question.answer]
    if question.difficulty == "hard" and not question.also_valid and rng.uniform() < 0.10:
        best = LETTERS[(question.answer + 1 + int(rng.integers(3))) % 4]
    levels = ["easy", "medium", "hard"]
    felt = int(np.clip(levels.index(question.difficulty) + rng.choice([-1, 0, 0, 0, 1]), 0, 2))
    return make_blind(best, [LETTERS[place] for place in question.also_valid], levels[felt])


def judgement(question: DemonstrationQuestion, blind: Blind, rng: np.random.Generator) -> Judgement:
    """Every planned fault is seen; a reviewer who answered otherwise sees their error after reading why."""
    if question.fault is not None:
        return _of_faulty(question, question.fault, rng)
    if blind.best != LETTERS[question.answer]:
        return Judgement(
            grades=_grades(rng, 4),
            needs_image=Degree.YES,
            relevant=Degree.YES,
            disagreement=Disagreement.OWN_ERROR,
            verdict=Verdict.ACCEPT,
            reasoning="I took another option at first; with the explanation the sign is plain and the key is right.",
            comment="My own error, not the question's.",
        )
    return Judgement(
        grades=_grades(rng, 5 if rng.uniform() < 0.7 else 4),
        needs_image=Degree.YES if rng.uniform() < 0.85 else Degree.PARTLY,
        relevant=Degree.YES if rng.uniform() < 0.9 else Degree.PARTLY,
        verdict=Verdict.ACCEPT,
    )


def _of_faulty(question: DemonstrationQuestion, fault: Flag, rng: np.random.Generator) -> Judgement:
    low = 2 if fault in (Flag.UNSOUND, Flag.HALLUCINATED) else 3
    grades = _grades(rng, 4)
    weak = {
        Flag.SEVERAL_VALID: GradeName.FACTUAL_CORRECTNESS,
        Flag.NEEDS_PRIOR: GradeName.IMAGE_ALIGNMENT,
        Flag.UNSOUND: GradeName.CLINICAL_QUALITY,
        Flag.HALLUCINATED: GradeName.EXPLANATION_CLARITY,
    }[fault]
    grades[weak] = low
    return Judgement(
        grades=grades,
        needs_image=Degree.YES,
        relevant=Degree.PARTLY if fault == Flag.UNSOUND else Degree.YES,
        flags=() if fault == Flag.SEVERAL_VALID else (fault,),
        verdict=Verdict.REJECT if fault == Flag.UNSOUND and rng.uniform() < 0.5 else Verdict.REVISE,
        reasoning=f"{_COMMENTS[fault]} The rest of the question can stay.",
        comment=_COMMENTS[fault],
    )


def _grades(rng: np.random.Generator, usual: int) -> dict[str, int | str]:
    return {name.value: int(np.clip(usual - (rng.uniform() < 0.15), 4, 5)) for name in PAPER.grades}


def strict(opinion: Judgement) -> Judgement:
    """The same from somebody who grades two points lower."""
    lower = {name: max(1, grade - 2) if isinstance(grade, int) else grade for name, grade in opinion.grades.items()}
    comment = opinion.comment or "Sound, but I give more than a 3 only to what could stand in an examination as it is."
    return replace(opinion, grades=lower, comment=comment)


# --- the rounds ---------------------------------------------------------------------------------------
FINISHED_ROUND = "Pilot round (simulated reviews)"
DISPUTED_ROUND = "Second round (simulated reviews)"
SHARED_ANSWERS = "Calibration questions (simulated reviews)"
OPEN_ROUND = "First round"
INSTRUCTIONS = "Everything here is simulated: the radiographs, the questions and the reviews that are already in."
PERCENT_REPEATED = 10
N_CALIBRATION, PASS_MARK = 8, 70
LET_IN_BECAUSE = "Graded by other anchors than ours; we went through all of these questions together. (Simulated.)"


class Rehearsal(Struct, frozen=True, kw_only=True):
    """A bank, what it was made from in its order, and the people of its rounds."""

    bank: QuestionBank
    questions: Sequence[DemonstrationQuestion]
    coordinator: User
    reviewers: Sequence[User]
    adjudicator: User
    tick: Callable[[], None]  # one step of the work is done

    def sample(
        self, name: str, *, seed: int, at: datetime, per_thousand: int = 1000, numbers: Collection[int] = ()
    ) -> SamplingPlan:
        """The sample of this name, drawn where it is not there: of the bank, or of these questions."""
        found = SamplingPlan.objects.filter(name=name).first()
        return found or draw_sample(
            self.bank,
            actor=self.coordinator,
            at=at,
            name=name,
            by=StratifyBy.DIFFICULTY,
            per_thousand=per_thousand,
            seed=seed,
            numbers=numbers,
        )

    def opened(
        self,
        name: str,
        plan: SamplingPlan,
        reviewers: Sequence[User],
        *,
        at: datetime,
        design: RoundDesign = PLAIN,
    ) -> ReviewRound:
        """The round of this name, made and opened where it is not there; each question goes to two reviewers."""
        found = ReviewRound.objects.filter(name=name).first()
        if found is not None:
            return found
        made = create_round(
            plan,
            name=name,
            reviewers=reviewers,
            actor=self.coordinator,
            at=at,
            reviewers_per_question=min(2, len(reviewers)),
            instructions=INSTRUCTIONS,
            seed=plan.seed,
            design=design,
        )
        open_round(made, actor=self.coordinator, at=at)
        return made

    def source_of(self, assignment: Assignment) -> DemonstrationQuestion:
        """What the assigned question was made from: a bank numbers its questions in the order of the file."""
        return self.questions[assignment.revision.question.number - 1]

    def review_all(self, review_round: ReviewRound, *, at: datetime, minutes: int) -> None:
        """What is left of the round, a review every so many minutes."""
        for step, assignment in enumerate(_unfinished(review_round)):
            _review(assignment, self.source_of(assignment), at=at + timedelta(minutes=minutes * step))
            self.tick()


def finished_round(rehearsal: Rehearsal, *, at: datetime) -> None:
    """A closed round over the whole bank, each question reviewed twice, with hidden repeats.

    Picks up where an earlier call stopped.
    """
    plan = rehearsal.sample("Whole bank", seed=1, at=at)
    design = RoundDesign(percent_repeated=PERCENT_REPEATED)
    review_round = rehearsal.opened(FINISHED_ROUND, plan, rehearsal.reviewers, at=at, design=design)
    rehearsal.review_all(review_round, at=at, minutes=2)
    close_round(review_round, actor=rehearsal.coordinator, at=at + timedelta(days=1))


def round_in_adjudication(rehearsal: Rehearsal, *, at: datetime) -> ReviewRound:
    """A round whose reviews are complete: some questions are settled, the others wait for an adjudicator."""
    plan = rehearsal.sample("Sample of the adjudicated round", per_thousand=150, seed=3, at=at)
    review_round = rehearsal.opened(DISPUTED_ROUND, plan, rehearsal.reviewers[:2], at=at)
    rehearsal.review_all(review_round, at=at, minutes=2)
    complete_reviews(review_round, actor=rehearsal.coordinator, at=at + timedelta(days=1))
    return review_round


def adjudicate_first(rehearsal: Rehearsal, review_round: ReviewRound, *, at: datetime) -> None:
    """Name the adjudicator, begin, and decide the first question; the others wait. Nothing where it has begun."""
    adjudicator, coordinator = rehearsal.adjudicator, rehearsal.coordinator
    if review_round.state != RoundState.COMPLETE:
        return
    if not adjudicators_of(review_round).exists():
        name_adjudicator(review_round, adjudicator, actor=coordinator, at=at)
    if not disputed(review_round).exists():
        return
    begin_adjudication(review_round, actor=coordinator, at=at)
    assignment = take_next(review_round, adjudicator, at=at)
    if assignment is None:
        return
    _review(assignment, rehearsal.source_of(assignment), at=at)
    settlement = show_reviews(Settlement.objects.get(assignment=assignment), actor=adjudicator, at=at)
    reason = "Simulated decision: the fault that the reviews name is real, and the question can be repaired."
    decide(settlement, BindingVerdict.REVISE, reason, actor=adjudicator, at=at + timedelta(minutes=4))


def open_round_under_way(rehearsal: Rehearsal, *, at: datetime) -> None:
    """An open round with some work done: the first reviewer at the beginning, the others further on.

    All are calibrated on what the adjudicator answered before; the last one has not passed and was let in.
    """
    reviewers = rehearsal.reviewers
    plan = rehearsal.sample("First sample", per_thousand=300, seed=2, at=at)
    shared = _shared_answers(rehearsal, apart=plan, at=at - timedelta(hours=20))
    design = RoundDesign(shared_answers=shared, pass_mark=PASS_MARK)
    review_round = rehearsal.opened(OPEN_ROUND, plan, reviewers, at=at, design=design)
    for person in reviewers:
        _calibrate(rehearsal, review_round, person, is_strict=person == reviewers[-1], at=at)
    at += timedelta(hours=1)
    for person, share in zip(reviewers, (0.1, 0.4, 0.6), strict=False):
        own = list(_unfinished(review_round).filter(reviewer=person))
        n_all = Assignment.objects.filter(round=review_round, reviewer=person).count()
        n_wanted = round(share * n_all) - (n_all - len(own))
        for step, assignment in enumerate(own[: max(0, n_wanted)]):
            _review(assignment, rehearsal.source_of(assignment), at=at + timedelta(minutes=3 * step + 1))
            rehearsal.tick()
    _leave_traces(rehearsal, review_round, reviewers[0], at=at + timedelta(hours=2))


def _shared_answers(rehearsal: Rehearsal, *, apart: SamplingPlan, at: datetime) -> ReviewRound:
    """A closed round of a few questions, none in the sample ``apart``, which the adjudicator alone has judged."""
    others = Question.objects.filter(bank=rehearsal.bank).exclude(revisions__in=apart.questions.values("revision"))
    numbers = list(others.order_by("number").values_list("number", flat=True))
    n = min(N_CALIBRATION, 1 + len(numbers) // 4)
    few = numbers[:: len(numbers) // n][:n]
    plan = rehearsal.sample("Calibration questions", numbers=few, seed=4, at=at)
    review_round = rehearsal.opened(SHARED_ANSWERS, plan, [rehearsal.adjudicator], at=at)
    rehearsal.review_all(review_round, at=at, minutes=3)
    close_round(review_round, actor=rehearsal.coordinator, at=at + timedelta(hours=1))
    return review_round


def _calibrate(rehearsal: Rehearsal, review_round: ReviewRound, person: User, *, is_strict: bool, at: datetime) -> None:
    """One reviewer judges the calibration questions, and is let in where that does not pass."""
    if not must_calibrate(review_round, person.pk):
        return
    cases = begin_calibration(review_round, person, at=at)
    for step, assignment in enumerate(_unfinished(cases).filter(reviewer=person)):
        source = rehearsal.source_of(assignment)
        _review(assignment, source, at=at + timedelta(minutes=3 * step + 1), is_strict=is_strict)
        rehearsal.tick()
    if must_calibrate(review_round, person.pk):
        let_in(review_round, person, LET_IN_BECAUSE, actor=rehearsal.coordinator, at=at + timedelta(minutes=50))


def _leave_traces(rehearsal: Rehearsal, review_round: ReviewRound, reviewer: User, *, at: datetime) -> None:
    """One draft and one skipped question, so that the first reviewer finds both."""
    waiting = list(_unfinished(review_round).filter(reviewer=reviewer, state=AssignmentState.WAITING)[:2])
    has_draft = Assignment.objects.filter(round=review_round, reviewer=reviewer, draft__isnull=False).exists()
    if has_draft or len(waiting) < 2:
        return
    draft, skipped = waiting
    mark_opened(draft, at=at)
    best = blind_answer(rehearsal.source_of(draft), np.random.default_rng(SEED)).best
    save_draft(draft, {"best": best}, actor=reviewer, at=at)
    skip(skipped, "I would like to see this one again with fresh eyes.", actor=reviewer, at=at)


def _unfinished(review_round: ReviewRound) -> QuerySet[Assignment]:
    return (
        Assignment.objects.filter(round=review_round, state__in=UNFINISHED)
        .select_related("revision__question", "reviewer", "round")
        .order_by("reviewer", "position")
    )


def _review(assignment: Assignment, question: DemonstrationQuestion, *, at: datetime, is_strict: bool = False) -> None:
    """One question through all three steps, by the seed of the question and the reviewer's place among the people."""
    rng = np.random.default_rng((SEED, question.exam.number, question.number, assignment.position))
    reviewer = assignment.reviewer
    mark_opened(assignment, at=at)
    blind = blind_answer(question, rng)
    if assignment.state == AssignmentState.WAITING:
        answer_blind(
            assignment,
            best=blind.best,
            defensible=blind.defensible,
            difficulty=blind.difficulty,
            actor=reviewer,
            at=at + timedelta(seconds=40),
            simulated=True,
        )
    opened = open_report(assignment, actor=reviewer, at=at + timedelta(seconds=70))
    opinion = judgement(question, blind, rng)
    opinion = strict(opinion) if is_strict else opinion
    submit_review(assignment, opinion, actor=reviewer, at=opened + timedelta(seconds=30), simulated=True)
