"""The choices of an analysis plan and what the program makes of each, in the words that coordinators read. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from readerstudy.design.kernels.rules import (
    FIXED_QUESTIONS,
    FIXED_READERS,
    MADE,
    RANDOM_BOTH,
    AnalysisPlan,
    known_choice,
    known_inference,
)


def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


JUDGED = ("primary", "inference")  # of plans that were frozen before every part was a choice
PARTS = {
    "primary": _("Primary comparison"),
    "inference": _("Inference"),
    "family": _("Family of tests"),
    "late_answers": _("Scoring of late answers"),
    "voids": _("Excluded cases"),
}
LABELS = {
    FIXED_READERS: _("These readers (fixed readers, random questions)"),
    RANDOM_BOTH: _("Readers like these (random readers, random questions)"),
    FIXED_QUESTIONS: _("Readers like these, these questions only (random readers, fixed questions)"),
    AnalysisPlan.primary: _("Each model minus the mean of the readers, all tasks"),
    AnalysisPlan.family: _("Holm over the models"),
    AnalysisPlan.late_answers: _("Counted wrong"),
    AnalysisPlan.voids: _("Left out before unblinding, a sensitivity line afterwards"),
}
MEANINGS = {
    FIXED_READERS: _(
        "The result is about the readers of this study and about questions like these. It says nothing about other "
        "readers."
    ),
    RANDOM_BOTH: _("The result is about readers like these and questions like these."),
    FIXED_QUESTIONS: _(
        "The result is about readers like these on exactly these questions. It says nothing about other questions."
    ),
    AnalysisPlan.primary: _(
        "The difference in accuracy between each model and the mean of the readers over all tasks: one test for each "
        "model."
    ),
    AnalysisPlan.family: _(
        "The primary comparisons of all models are one family, adjusted by Holm. Tests by task are an exploratory "
        "family of their own."
    ),
    AnalysisPlan.late_answers: _(
        "An answer given after the time limit counts as incorrect; what was chosen in time and not submitted counts as "
        "chosen."
    ),
    AnalysisPlan.voids: _(
        "A case that is excluded before anybody has seen a result counts nowhere. One that is excluded later stays in "
        "the primary result, and a sensitivity line leaves it out."
    ),
}
OTHER = _(
    "The program does not know this inference. It will compute random readers, random questions, and mark every test "
    "as post hoc."
)


@dataclass(frozen=True)
class PartRead:
    """A part of a plan as the program reads it."""

    label: str
    said: str  # in the words of the choice, or of the plan
    meaning: str  # what the program does
    is_made: bool  # False: it does that instead, and every test is post hoc


def meaning_of(inference: str) -> str:
    return MEANINGS.get(known_inference(inference), OTHER)


def parts_read(plan: AnalysisPlan) -> dict[str, PartRead]:
    """Every part that the program acts on, by its name."""
    return {part: _read(part, getattr(plan, part), part not in plan.own_words) for part in MADE}


def _read(part: str, words: str, is_choice: bool) -> PartRead:
    known = known_choice(part, words)
    meaning = MEANINGS[known or MADE[part][0]] if part != "inference" else meaning_of(words)
    return PartRead(PARTS[part], LABELS.get(known, words), meaning, is_choice and (bool(known) or part not in JUDGED))
