"""What a run will come to, from the calls that were made first: a mean for each number of images, scaled to the whole.

The total of a stratified sample [1]_: of each number of images, the number of calls times the mean of those made. Its
standard error is that of the strata with one variance for all of them, pooled from the calls within each, less what is
known already (finite population correction). The interval is Student's, 95 %, with as many degrees of freedom as calls
beyond the first of each stratum. A number of images that no call was made with takes the mean of the nearest one. Pure.

References
----------
.. [1] W. G. Cochran, Sampling Techniques, 3rd ed. (1977), ch. 5.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import sqrt

from msgspec import Struct

METHOD = "mean by number of images, scaled to all calls; 95 % interval by Student's t (Cochran 1977, ch. 5)"
LEVEL = 0.95


class MadeCall(Struct, frozen=True):
    """One call that has an answer. None: not known."""

    n_images: int
    n_bytes: float | None
    n_input: float | None
    n_output: float | None
    seconds: float | None
    cost: float | None


class Expected(Struct, frozen=True):
    """A total of the whole run with its range."""

    value: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        return {"value": self.value, "low": self.low, "high": self.high}

    def times(self, factor: float) -> Expected:
        return Expected(self.value * factor, self.low * factor, self.high * factor)


def expected_total(values: Iterable[tuple[int, float]], n_calls: Mapping[int, int]) -> Expected | None:
    """Of pairs of a number of images and a measured value; ``n_calls``: of the whole run, by number of images.

    None for fewer than two values. The range never goes below what was measured already.
    """
    strata: dict[int, list[float]] = defaultdict(list)
    for n_images, value in values:
        strata[n_images].append(value)
    n_measured = sum(map(len, strata.values()))
    if n_measured < 2:
        return None
    degrees, variance = _pooled_variance(strata)
    total = spread = 0.0
    for n_images, n_all in n_calls.items():
        nearest = min(strata, key=lambda known: (abs(known - n_images), known))
        measured = strata[nearest]
        n_known = len(measured) if nearest == n_images else 0
        total += n_all * sum(measured) / len(measured)
        spread += n_all * max(n_all - n_known, 0) / len(measured)
    from scipy.special import stdtrit  # here, since every start of the program would wait for it

    half = float(stdtrit(degrees, (1 + LEVEL) / 2)) * sqrt(variance * spread)
    known = sum(map(sum, strata.values()))
    return Expected(total, max(total - half, known), total + half)


def _pooled_variance(strata: Mapping[int, Sequence[float]]) -> tuple[int, float]:
    """Degrees of freedom and variance within the strata; of all values together where each stratum has one."""
    pooled = [values for values in strata.values() if len(values) > 1]
    if not pooled:
        pooled = [[value for values in strata.values() for value in values]]
    degrees = sum(len(values) - 1 for values in pooled)
    squares = sum((value - sum(values) / len(values)) ** 2 for values in pooled for value in values)
    return degrees, squares / degrees


class AskingSpeed(Struct, frozen=True):
    """How fast an endpoint may be asked."""

    connections: int
    calls_per_minute: int | None = None
    tokens_per_minute: int | None = None


class RunEstimate(Struct, frozen=True):
    """``None`` where it is not known. ``hours`` with as many calls at once as ``n_connections``."""

    n_calls: int
    n_made: int
    n_connections: int
    bytes: Expected | None
    input_tokens: Expected | None
    output_tokens: Expected | None
    hours: Expected | None
    cost: Expected | None

    def as_json(self) -> dict[str, object]:
        parts = ("bytes", "input_tokens", "output_tokens", "hours", "cost")
        found = {name: getattr(self, name) for name in parts}
        return {
            "calls": self.n_calls,
            "made": self.n_made,
            "connections": self.n_connections,
            "method": METHOD,
            **{name: one.as_json() if one else None for name, one in found.items()},
        }


def estimate(made: Sequence[MadeCall], n_calls: Mapping[int, int], speed: AskingSpeed | None) -> RunEstimate:
    """``n_calls``: of the whole run, by number of images."""

    def total(name: str) -> Expected | None:
        known = [(one.n_images, getattr(one, name)) for one in made if getattr(one, name) is not None]
        # a part of the answers without a value would make the whole too small without a word
        return expected_total(known, n_calls) if len(known) == len(made) else None

    n_all, tokens = sum(n_calls.values()), _sum(total("n_input"), total("n_output"))
    return RunEstimate(
        n_calls=n_all,
        n_made=len(made),
        n_connections=speed.connections if speed else 0,
        bytes=total("n_bytes"),
        input_tokens=total("n_input"),
        output_tokens=total("n_output"),
        hours=_hours(total("seconds"), tokens, n_all, speed),
        cost=total("cost"),
    )


def _hours(
    seconds: Expected | None, tokens: Expected | None, n_calls: int, speed: AskingSpeed | None
) -> Expected | None:
    """The slowest of three: the answers, the calls that may be sent, and the tokens that may be used in a minute."""
    if seconds is None or speed is None:
        return None
    ways = [seconds.times(1 / speed.connections / 3600)]
    if speed.calls_per_minute:
        hours = n_calls / speed.calls_per_minute / 60
        ways.append(Expected(hours, hours, hours))
    if speed.tokens_per_minute and tokens is not None:
        ways.append(tokens.times(1 / speed.tokens_per_minute / 60))
    return Expected(max(one.value for one in ways), max(one.low for one in ways), max(one.high for one in ways))


def _sum(one: Expected | None, other: Expected | None) -> Expected | None:
    """The ends are added, so that the range is rather too wide."""
    if one is None or other is None:
        return None
    return Expected(one.value + other.value, one.low + other.low, one.high + other.high)


# --- which questions are asked first, so that they tell what the others will cost ---
N_FIRST = 20


def first_questions(n_images: Mapping[int, int], *, seed: int, n: int = N_FIRST) -> list[int]:
    """``n`` of the questions, drawn at random, spread over the numbers of images that they are asked with.

    ``n_images``: of each question. Every number of images gets two questions, or all where it has fewer, and one where
    there are more than ``n / 2`` such numbers; the rest goes to them in proportion. The same seed draws the same, in
    whatever order the questions come.
    """
    alike: dict[int, list[int]] = defaultdict(list)
    for question in sorted(n_images):
        alike[n_images[question]].append(question)
    shares = _shares({images: len(questions) for images, questions in alike.items()}, min(n, len(n_images)))
    draw = random.Random(seed)  # noqa: S311 - a draw that can be repeated
    return [question for images in sorted(alike) for question in draw.sample(alike[images], shares[images])]


def _shares(sizes: Mapping[int, int], n: int) -> dict[int, int]:
    """How many of each number of images; never more than there are."""
    common_first = sorted(sizes, key=lambda images: (-sizes[images], images))
    least = 2 if 2 * len(sizes) <= n else 1
    shares: dict[int, int] = {}
    for images in common_first:
        shares[images] = min(least, sizes[images], n - sum(shares.values()))
    total = sum(sizes.values())
    while sum(shares.values()) < n:
        not_all = [images for images in common_first if shares[images] < sizes[images]]
        furthest_below = max(not_all, key=lambda images: sizes[images] / total * n - shares[images])
        shares[furthest_below] += 1
    return shares
