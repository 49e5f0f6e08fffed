"""Whom the pairs of a frozen plan mean among the raters of an analysis. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from annotation.statistics.kernels.estimate import ONE_RATER
from readerstudy.analysis.kernels.result import MODEL, READER
from readerstudy.design.kernels.planned_raters import EACH_MODEL, EACH_READER, folded

if TYPE_CHECKING:
    from readerstudy.analysis.kernels.arrays import Rater

NO_SUCH_RATER, SEVERAL_RATERS = "no_such_rater", "several_raters"
GROUPS = {EACH_READER: READER, EACH_MODEL: MODEL}


@dataclass(frozen=True)
class PlannedPair:
    """Two raters by their names; or, with the reason why they are no two raters, the words of the plan."""

    first: str
    second: str
    reason: str = ""
    is_post_hoc: bool = False  # one of the two is a model that came or was chosen after unblinding
    is_counted: bool = True  # in the family over which the planned pairs are adjusted

    @property
    def names(self) -> frozenset[str]:
        return frozenset((self.first, self.second))


def planned_pairs(plan: Mapping[str, Any], raters: Sequence[Rater]) -> list[PlannedPair]:
    """In the order of the plan; a pair that it names twice is listed once, one that it does not find is listed too."""
    late = {one.name for one in raters if one.is_post_hoc}
    uncounted = {one.name for one in raters if not one.is_counted}
    found: dict[frozenset[str], PlannedPair] = {}
    nobody: list[PlannedPair] = []
    for first, second in plan.get("pairs", ()):
        one, other = _meant(first, raters), _meant(second, raters)
        pairs = [
            PlannedPair(a, b, "", bool({a, b} & late), not {a, b} & uncounted)
            for a in one.names
            for b in other.names
            if a != b
        ]
        if not pairs:
            alone = ONE_RATER if one.names and other.names else NO_SUCH_RATER
            nobody.append(PlannedPair(first, second, one.reason or other.reason or alone))
        for pair in pairs:
            found.setdefault(pair.names, pair)
    return [*found.values(), *nobody]


@dataclass(frozen=True)
class _Meant:
    names: list[str]
    reason: str = ""  # why there is none


def _meant(name: str, raters: Sequence[Rater]) -> _Meant:
    """A model that came after unblinding takes its name from nobody who was there before."""
    if name in GROUPS:
        return _Meant([one.name for one in raters if one.kind == GROUPS[name]])
    called = [one for one in raters if folded(name) in set(map(folded, _called(one)))]
    names = [one.name for one in called if one.is_counted] or [one.name for one in called]
    if len(names) == 1:
        return _Meant(names)
    return _Meant([], SEVERAL_RATERS if names else NO_SUCH_RATER)


def _called(rater: Rater) -> Iterator[str]:
    """A reader by the pseudonym; a model by its name and by name and version, however the analysis calls it.

    A model that was renamed after unblinding is meant by the name that it had then.
    """
    if "planned_as" in rater.facts:
        yield from rater.facts["planned_as"]
        return
    yield rater.name
    version = rater.facts.get("version")
    if rater.kind == MODEL and version:
        yield f"{rater.name} {version}"
        yield rater.name.removesuffix(f" {version}")
