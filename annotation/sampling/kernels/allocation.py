"""How many questions are drawn from each stratum. Whole numbers throughout, so every machine finds the same."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.sampling.kernels.strata import UNKNOWN, StratifyBy


class TooManyAsked(ValueError):
    """More questions are asked for than the strata hold."""


def sample_size(n_frame: int, per_thousand: int) -> int:
    """``per_thousand`` of the frame, halves rounded up; at least 1 of a frame that holds any question."""
    if n_frame == 0:
        return 0
    return max(1, (n_frame * per_thousand + 500) // 1000)


def allocate(counts: Mapping[str, int], n: int, by: StratifyBy) -> dict[str, int]:
    """Share ``n`` questions among the strata ``counts`` (stratum -> questions in the frame).

    By difficulty: the unknown stratum gets its proportional share, what is left is shared equally by the known
    ones. By task, by category or without strata: proportional. The shares sum to ``n`` and none exceeds its stratum.

    Raises TooManyAsked when ``n`` is more than the frame holds.
    """
    if n > sum(counts.values()):
        raise TooManyAsked(f"{n} questions are asked for, the frame holds {sum(counts.values())}")
    if by is not StratifyBy.DIFFICULTY:
        return proportional(counts, n)
    known = {name: size for name, size in counts.items() if name != UNKNOWN}
    n_known_frame = sum(known.values())
    split = proportional({"known": n_known_frame, UNKNOWN: counts.get(UNKNOWN, 0)}, n)
    shares = equal(known, split["known"])
    return {name: split[UNKNOWN] if name == UNKNOWN else shares[name] for name in counts}


def proportional(counts: Mapping[str, int], n: int) -> dict[str, int]:
    """Largest remainders (Hamilton): each stratum its whole quota, the rest to the largest remainders.

    Ties go to the stratum that stands first. A quota is never above its stratum, since n is at most the frame.
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

    Of what does not divide evenly, the strata that stand first get one more.
    """
    if n > sum(counts.values()):
        raise TooManyAsked(f"{n} questions are asked for, the strata hold {sum(counts.values())}")
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
