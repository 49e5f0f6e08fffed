"""How one reviewer compares with the shared answers to the calibration questions, by a rule with a version. Pure.

The shared answer to a question is what most of its reviews say: the best answer and the verdict of the majority, and
of each grade the lower median. The best answer and the verdict agree where they are equal, a grade where it differs by
at most 1. "Cannot judge" agrees with nothing; where the shared reviews have no majority, nothing is compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median_low

from msgspec import Struct

from annotation.enums import GradeName
from annotation.review.kernels.settling import Opinion

RULE = "calibration-1"
BEST, VERDICT = "best", "verdict"
GRADE_TOLERANCE = 1


class Compared(Struct, frozen=True):
    """One judgement beside the shared one; ``distance`` is of grades only."""

    field: str  # BEST, VERDICT or a GradeName
    own: str | int
    shared: str | int
    agrees: bool
    distance: int | None = None


def shared_opinion(opinions: Sequence[Opinion], verdict: str = "") -> Opinion:
    """What the reviews of one question say together; ``verdict`` is that of an adjudicator, where there is one.

    ``best`` is None and the verdict empty where no majority has one. A flag is set where most reviews set it.
    """
    answers = [one.best for one in opinions if one.best is not None]
    flags = Counter(flag for one in opinions for flag in one.flags)
    grades: dict[str, int | str] = {}
    for name in GradeName:
        if given := [grade for one in opinions if isinstance(grade := one.grades.get(name), int)]:
            grades[name.value] = median_low(given)
    return Opinion(
        best=_majority(answers),
        verdict=verdict or _majority([one.verdict for one in opinions]) or "",
        flags=frozenset(flag for flag, n in flags.items() if 2 * n > len(opinions)),
        grades=grades,
    )


def compare(own: Opinion, shared: Opinion) -> list[Compared]:
    """Judgement by judgement, in the order of the form; what either side was not asked is left out."""
    found = []
    if own.best is not None and shared.best is not None:
        found.append(Compared(BEST, own.best, shared.best, own.best == shared.best))
    for name in GradeName:
        mine, theirs = own.grades.get(name), shared.grades.get(name)
        if mine is None or not isinstance(theirs, int):
            continue
        distance = abs(mine - theirs) if isinstance(mine, int) else None
        agrees = distance is not None and distance <= GRADE_TOLERANCE
        found.append(Compared(name.value, mine, theirs, agrees, distance))
    if shared.verdict:
        found.append(Compared(VERDICT, own.verdict, shared.verdict, own.verdict == shared.verdict))
    return found


def has_passed(compared: Iterable[Compared], pass_mark: int) -> bool:
    """Whether at least ``pass_mark`` percent of the judgements agree; nothing compared passes nobody."""
    agrees = [one.agrees for one in compared]
    return bool(agrees) and 100 * sum(agrees) >= pass_mark * len(agrees)


def _majority(words: Sequence[str]) -> str | None:
    """What more than half say."""
    if not words:
        return None
    word, n = Counter(words).most_common(1)[0]
    return word if 2 * n > len(words) else None
