"""From states to what statistics read: answers for agreement, right and wrong for accuracy; and whom the pairs of a
frozen plan mean among the raters. Pure.

The rules are those of docs/analysis.md: what a state counts for, and the two switches for failed extractions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import DRAWS
from annotation.statistics.kernels.estimate import ONE_RATER
from readerstudy.analysis.kernels.arrays import CHOSEN, MISSING, NO_RATING, NOT_COUNTED, WRONG, State, StudyArrays
from readerstudy.analysis.kernels.result import MODEL, N_OPTIONS, READER
from readerstudy.design.kernels.analysis_plan import EACH_MODEL, EACH_READER, folded
from readerstudy.design.kernels.documents import DesignRefused

if TYPE_CHECKING:
    from readerstudy.analysis.kernels.arrays import Rater


FEWEST_DRAWS, MOST_DRAWS = 100, 100_000
SWITCHES = {"failed_in_accuracy": ("wrong", "exclude"), "failed_in_agreement": ("no_rating", "own_category")}


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The defaults are those of docs/analysis.md; ``seed`` is that of the study unless another is given."""

    seed: int
    draws: int = DRAWS
    failed_in_accuracy: str = "wrong"  # or left out: "exclude"
    failed_in_agreement: str = "no_rating"  # or a fifth option: "own_category"
    differs: tuple[str, ...] = ()  # names of those that are not the plan's: then it is a sensitivity analysis

    def __post_init__(self) -> None:
        if not FEWEST_DRAWS <= self.draws <= MOST_DRAWS:
            sentence = "The number of bootstrap draws lies between %(least)s and %(most)s."
            raise DesignRefused("draws", sentence, least=FEWEST_DRAWS, most=f"{MOST_DRAWS:,}")
        if self.seed < 0:
            raise DesignRefused("seed", "The seed is 0 or more.")
        for name, known in SWITCHES.items():
            if getattr(self, name) not in known:
                raise DesignRefused("setting", "%(name)s is one of: %(known)s.", name=name, known=", ".join(known))

    def as_json(self) -> dict[str, Any]:
        """Without ``differs`` where the settings are the plan's."""
        found = asdict(self)
        return {name: one for name, one in found.items() if name != "differs" or one}

    def beside(self, plan: Settings) -> Settings:
        """These settings as a sensitivity analysis beside those of the plan, or the plan's own."""
        names = ("failed_in_accuracy", "failed_in_agreement", "draws", "seed")
        return replace(self, differs=tuple(name for name in names if getattr(self, name) != getattr(plan, name)))


def read_settings(data: Mapping[str, Any]) -> Settings:
    """Settings as they were stored."""
    return Settings(**{**data, "differs": tuple(data.get("differs", ()))})


@dataclass(frozen=True)
class Scored:
    """Arrays of shape (raters, questions), and the number of categories that an answer can have."""

    answers: NDArray[np.int8]  # 0..q-1, -1 no rating, -2 missing
    correct: NDArray[np.int8]  # 1 right, 0 wrong, -1 not counted
    q: int
    guessed: NDArray[np.int8] | None = None  # correct, with best guesses scored; None: nobody was asked for one

    def only(self, kept: NDArray[np.bool_]) -> Scored:
        guessed = None if self.guessed is None else self.guessed[:, kept]
        return Scored(self.answers[:, kept], self.correct[:, kept], self.q, guessed)


def score(arrays: StudyArrays, settings: Settings) -> Scored:
    """Declined, timed out and late are wrong and no rating; a failed extraction is so too unless a switch says else."""
    state, option = arrays.state, arrays.option
    chosen, failed = np.isin(state, CHOSEN), state == State.FAILED
    answers = np.full(state.shape, MISSING, dtype=np.int8)
    answers[np.isin(state, WRONG) | failed] = NO_RATING
    answers[chosen] = option[chosen]
    own_category = settings.failed_in_agreement == "own_category"
    if own_category:
        answers[failed] = N_OPTIONS
    correct = right_or_wrong(state, option, arrays.questions.key, settings)
    return Scored(answers, correct, N_OPTIONS + own_category, _with_guesses(arrays, correct))


def right_or_wrong(
    state: NDArray[np.int8], option: NDArray[np.int8], key: NDArray[np.int8], settings: Settings
) -> NDArray[np.int8]:
    """1 right, 0 wrong, -1 not counted; ``state`` and ``option`` have a row for each rater or run."""
    correct = np.full(state.shape, NOT_COUNTED, dtype=np.int8)
    correct[np.isin(state, WRONG)] = 0
    if settings.failed_in_accuracy == "wrong":
        correct[state == State.FAILED] = 0
    chosen, right = np.isin(state, CHOSEN), option == key[None, :]
    correct[chosen] = right[chosen]
    return correct


def _with_guesses(arrays: StudyArrays, correct: NDArray[np.int8]) -> NDArray[np.int8] | None:
    """A declined case with a best guess counts as guessed; everything else stays, declined without a guess wrong."""
    if arrays.guess is None:
        return None
    return np.where(has_guess(arrays), arrays.guess == arrays.questions.key[None, :], correct).astype(np.int8)


def has_guess(arrays: StudyArrays) -> NDArray[np.bool_]:
    """Declined, with a best guess beside it; one beside a late answer does not count."""
    declined = arrays.state == State.DECLINED
    return declined & (arrays.guess >= 0) if arrays.guess is not None else np.zeros_like(declined)


def with_doubts(arrays: StudyArrays) -> NDArray[np.int8]:
    """The states, where every answer whose time is in doubt was too late."""
    if arrays.doubted is None:
        return arrays.state
    in_time = np.isin(arrays.state, (*CHOSEN, State.DECLINED))
    return np.where(arrays.doubted & in_time, State.LATE, arrays.state).astype(np.int8)


def with_slips(arrays: StudyArrays) -> NDArray[np.int8]:
    """The options as the readers who reported a slip meant them."""
    return np.where((arrays.slip >= 0) & np.isin(arrays.state, CHOSEN), arrays.slip, arrays.option).astype(np.int8)


# --- Whom the pairs of a frozen plan mean among the raters of an analysis. Pure -------------------
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
