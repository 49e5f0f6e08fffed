"""What the simulated reviewers of the demonstration think of a question, by a random generator with a seed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from annotation.demonstration.questions import LETTERS, DemonstrationQuestion
from annotation.enums import Degree, Disagreement, Flag, GradeName, Verdict
from annotation.review.kernels.form import Blind, Judgement, make_blind
from annotation.review.kernels.form_design import PAPER

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
