"""When reviews settle a question without adjudication, by a rule with a version, and why they do not. Pure.

A question settles only if all its reviews are in, all verdicts are accept, every blind best answer is the key, no flag
is set and no grade is below 3. A round that asks for no blind answers settles nothing by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypedDict

from msgspec import Struct

from annotation.enums import Flag, GradeName, Verdict

RULE = "settling-1"
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
