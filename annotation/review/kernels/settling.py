"""When reviews settle a question without adjudication, and how a reviewer compares with shared answers. Pure.

Both by rules with a version. A question settles only if all its reviews are in, all verdicts are accept, every blind
best answer is the key, no flag is set and no grade is below 3. A round that asks for no blind answers settles nothing
by itself.

The shared answer to a calibration question is what most of its reviews say: the best answer and the verdict of the
majority, and of each grade the lower median. The best answer and the verdict agree where they are equal, a grade where
it differs by at most 1. "Cannot judge" agrees with nothing; where the shared reviews have no majority, nothing is
compared. How difficult a question is for its reviewers together is the upper median.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import median_low
from typing import TypedDict

from msgspec import Struct

from annotation.enums import Difficulty, Flag, GradeName, Verdict

RULE = "settling-1"
DIFFICULTIES = (Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD)
LOW_GRADE = 3  # below this a question does not settle


class Against(StrEnum):
    """What blocks settling, in the order in which it is read."""

    MISSING = "missing"  # reviews
    NOT_BLIND = "not_blind"
    ANSWERS_DIFFER = "answers_differ"
    NOT_THE_KEY = "not_the_key"
    VERDICT = "verdict"
    GRADE = "grade"
    FLAG = "flag"


class Reason(TypedDict):
    """One thing against settling, as it is stored: what, of which word, and the number that belongs to it."""

    code: str
    word: str  # a grade, flag or verdict; for NOT_THE_KEY the letter that all chose; else empty
    n: int  # reviews that say so; for GRADE the lowest grade; for MISSING those that are in


class Opinion(Struct, frozen=True, kw_only=True):
    """What one submitted review says. ``best`` is None where no blind answer was asked, "" for no option."""

    best: str | None
    verdict: str
    flags: frozenset[str]
    grades: Mapping[str, int | str]


def reasons_against(opinions: Sequence[Opinion], key: str, n_wanted: int) -> list[Reason]:
    """Why these reviews do not settle their question; empty where they do."""
    found = [_reason(Against.MISSING, n=len(opinions))] if len(opinions) < n_wanted else []
    found += _of_answers([one.best for one in opinions], key)
    verdicts = [one.verdict for one in opinions]
    for verdict in Verdict:
        n = verdicts.count(verdict)
        if n and verdict != Verdict.ACCEPT:
            found.append(_reason(Against.VERDICT, verdict, n))
    for name in GradeName:
        given = [grade for one in opinions if isinstance(grade := one.grades.get(name), int)]
        if given and min(given) < LOW_GRADE:
            found.append(_reason(Against.GRADE, name, min(given)))
    flags = [flag for one in opinions for flag in one.flags]
    found += [_reason(Against.FLAG, flag, flags.count(flag)) for flag in Flag if flags and flag in flags]
    return found


def _of_answers(best: Sequence[str | None], key: str) -> list[Reason]:
    if not best:
        return []
    if None in best:
        return [_reason(Against.NOT_BLIND)]
    if len(set(best)) > 1:
        return [_reason(Against.ANSWERS_DIFFER, n=len(set(best)))]
    return [] if best[0] == key else [_reason(Against.NOT_THE_KEY, best[0] or "", len(best))]


def _reason(code: Against, word: str = "", n: int = 0) -> Reason:
    return {"code": code.value, "word": str(word), "n": n}


CALIBRATION_RULE = "calibration-1"
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


def panel_difficulty(judged: Iterable[str]) -> Difficulty:
    """What the reviewers of a question say together: the median, the harder of the two in the middle."""
    place = sorted(DIFFICULTIES.index(Difficulty(one)) for one in judged)
    return DIFFICULTIES[place[len(place) // 2]]
