"""Drawing a sample: the frame with its strata, how many are drawn from each, and the rule that draws them, by version.

Whole numbers throughout, so every machine finds the same. A stored sample names the rule that drew it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from annotation.enums import Difficulty, Task, Word, _

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


RULE = "ranked-1"  # change the name when a change would draw other questions
SEED_MAX = 2**63 - 1
AT_ONCE = 100_000  # of what large arrays would need large copies for
_GOLDEN = 0x9E3779B97F4A7C15
UNKNOWN = "unknown"  # the stratum of a question whose value is not given
ALL = "all"  # the one stratum of a sample that is not stratified


class StratifyBy(Word):
    DIFFICULTY = "difficulty", _("difficulty")
    TASK = "task", _("task")
    CATEGORY = "category", _("category")
    NONE = "none", _("none")


class RatedBy(Word):
    """Whose difficulty: of a sample stratified by it, and of what is compared with each other."""

    STATED = "stated", _("stated in the bank")
    MODEL = "model", _("rated by a model")
    REVIEWERS = "reviewers", _("judged by reviewers")
    READERS = "readers", _("accuracy of readers")


class Frame(Struct, frozen=True):
    """Questions by ascending number, whatever the order of the database.

    Parameters
    ----------
    numbers : int64 array, shape (n,)
        Question numbers of the bank, ascending, each once.
    codes : int32 array, shape (n,)
        Index into ``names`` for each question.
    names : tuple of str
        The strata, in the order in which they are shown.
    """

    numbers: NDArray[np.int64]
    codes: NDArray[np.int32]
    names: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.numbers)

    def counts(self) -> dict[str, int]:
        """How many questions each stratum holds."""
        import numpy as np  # not at every start

        sizes = np.bincount(self.codes, minlength=len(self.names))
        return {name: int(size) for name, size in zip(self.names, sizes, strict=True)}

    def sha256(self) -> str:
        """Over the ordered question numbers and their strata: two frames with the same hash draw the same sample."""
        lines = ["%d\t" + name.replace("%", "%%") + "\n" for name in self.names]
        digest = hashlib.sha256()
        for start in range(0, self.n, AT_ONCE):
            some = slice(start, start + AT_ONCE)
            text = "".join([lines[code] for code in self.codes[some].tolist()]) % tuple(self.numbers[some].tolist())
            digest.update(text.encode())
        return digest.hexdigest()


def frame_of(numbers: NDArray[np.int64], codes: NDArray[np.int32], values: Sequence[str], by: StratifyBy) -> Frame:
    """Build the frame from question numbers, and the place of each one's value among the ``values`` of the stratifying
    field; an empty value is the unknown stratum.

    Raises ValueError when a number is there twice.
    """
    import numpy as np

    strata = {value: stratum_name(value, by) for value in set(values)}
    names = ordered_names(set(strata.values()), by)
    place_of = np.array([names.index(strata[value]) for value in values], dtype=np.int32)
    if not bool((numbers[1:] > numbers[:-1]).all()):  # else no copy of large arrays is made
        order = np.argsort(numbers, kind="stable")
        numbers, codes = numbers[order], codes[order]
        if bool((numbers[1:] == numbers[:-1]).any()):
            raise ValueError("a question is twice in the frame")
    return Frame(numbers, place_of[codes], names)


def stratum_name(value: str, by: StratifyBy) -> str:
    if by is StratifyBy.NONE:
        return ALL
    return value.strip() or UNKNOWN


def ordered_names(found: Iterable[str], by: StratifyBy) -> tuple[str, ...]:
    """Difficulties and tasks in their own order, categories by name; the unknown stratum last."""
    known = {StratifyBy.DIFFICULTY: Difficulty.values(), StratifyBy.TASK: Task.values()}.get(by, [])
    place = {value: index for index, value in enumerate(known) if value}
    return tuple(sorted(found, key=lambda name: (name == UNKNOWN, place.get(name, len(place)), name)))


def sample_size(n_frame: int, per_thousand: int) -> int:
    """``per_thousand`` of the frame, halves rounded up; at least 1 of a frame that holds any question."""
    if n_frame == 0:
        return 0
    return max(1, (n_frame * per_thousand + 500) // 1000)


def allocate(counts: Mapping[str, int], n: int, by: StratifyBy) -> dict[str, int]:
    """Share ``n`` questions among the strata ``counts`` (stratum -> questions in the frame).

    By difficulty: the unknown stratum gets its proportional share, what is left is shared equally by the known
    ones. By task, by category or without strata: proportional. The shares sum to ``n`` and none exceeds its stratum.

    Raises ValueError when ``n`` is more than the frame holds.
    """
    if n > sum(counts.values()):
        raise ValueError(f"{n} questions are asked for, the frame holds {sum(counts.values())}")
    if by is not StratifyBy.DIFFICULTY:
        return proportional(counts, n)
    known = {name: size for name, size in counts.items() if name != UNKNOWN}
    n_known_frame = sum(known.values())
    split = proportional({"known": n_known_frame, UNKNOWN: counts.get(UNKNOWN, 0)}, n)
    shares = equal(known, split["known"])
    return {name: split[UNKNOWN] if name == UNKNOWN else shares[name] for name in counts}


def proportional(counts: Mapping[str, int], n: int) -> dict[str, int]:
    """Largest remainders (Hamilton): each stratum its whole quota, the rest to the largest remainders.

    Ties go to the stratum that comes first. A quota is never above its stratum, since n is at most the frame.
    """
    total = sum(counts.values())
    if total == 0:
        return dict.fromkeys(counts, 0)
    shares = {name: n * size // total for name, size in counts.items()}
    by_remainder = sorted(counts, key=lambda name: -(n * counts[name] % total))  # stable: ties keep their order
    for name in by_remainder[: n - sum(shares.values())]:
        shares[name] += 1
    return shares


def equal(counts: Mapping[str, int], n: int) -> dict[str, int]:
    """Equal shares; what a small stratum cannot give, the others give in equal parts.

    Of what does not divide evenly, the strata that come first get one more.
    """
    if n > sum(counts.values()):
        raise ValueError(f"{n} questions are asked for, the strata hold {sum(counts.values())}")
    shares: dict[str, int] = {}
    left = n
    for name in sorted(counts, key=lambda name: counts[name]):  # the smallest first: they give all or an equal part
        if counts[name] * (len(counts) - len(shares)) > left:
            break
        shares[name] = counts[name]
        left -= counts[name]
    larger = [name for name in counts if name not in shares]
    for index, name in enumerate(larger):
        shares[name] = left // len(larger) + (index < left % len(larger))
    return {name: shares[name] for name in counts}


class Drawn(Struct, frozen=True):
    number: int
    stratum: str


def draw(frame: Frame, allocation: Mapping[str, int], seed: int) -> list[Drawn]:
    """Rule ``ranked-1``: every question has a random rank, made from the seed and its number alone; each stratum
    gives the questions of lowest rank, and the sample is listed by rank.

    So the same seed draws the same questions from the same frame, on any machine and whatever the order of the
    rows, and each question of a stratum is equally likely to be drawn.
    """
    import numpy as np

    ranks = random_ranks(frame.numbers, seed)
    chosen: list[NDArray[np.int64]] = []
    for code, name in enumerate(frame.names):
        members = np.flatnonzero(frame.codes == code)
        if (n := allocation.get(name, 0)) < len(members):
            members = members[np.argpartition(ranks[members], n)[:n]]  # the lowest, which are put in order below
        chosen.append(members)
    places = np.concatenate(chosen) if chosen else np.array([], dtype=np.int64)
    places = places[np.argsort(ranks[places], kind="stable")]
    drawn = zip(frame.numbers[places].tolist(), frame.codes[places].tolist(), strict=True)
    return [Drawn(number, frame.names[code]) for number, code in drawn]


def random_ranks(numbers: NDArray[np.int64], seed: int) -> NDArray[np.uint64]:
    """A 64-bit random number for each question number, different for different numbers.

    SplitMix64 [1]_ over the number, then over the result and the seed; fixed here and not taken from a library,
    so that no upgrade can draw another sample.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, Fast splittable pseudorandom number generators, OOPSLA 2014.
    """
    import numpy as np

    seeds = _mixed(np.array([seed % 2**64], dtype=np.uint64) + _GOLDEN)
    ranks = numbers.astype(np.uint64)
    for start in range(0, len(ranks), AT_ONCE):
        some = ranks[start : start + AT_ONCE]
        some[:] = _mixed(_mixed(some * _GOLDEN) ^ seeds)
    return ranks


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64: one to one on 64-bit values; overflow is wanted."""
    import numpy as np

    mixed = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
