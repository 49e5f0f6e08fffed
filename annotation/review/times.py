"""How long the reviews of a round took, and which images could not be read: reads for coordinators."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from annotation.models import ReviewRound
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.quantiles import median_estimate
from annotation.timing.kernels.durations import CLOCK_RULES, EXCLUDING, RULE, TimeFlag, is_counted


@dataclass(frozen=True)
class RoundTimes:
    """Active times in ms, each by the rule under which it was stored.

    A time without a value or with an excluding flag is counted beside them.
    """

    rule: str
    active: Estimate
    n_undefined: int
    excluded: list[tuple[TimeFlag, int]]  # a review may carry several of the flags
    n_unreadable: int  # reviews with an image that could not be read


def round_times(review_round: ReviewRound) -> RoundTimes:
    """From the newest version of each submitted review, in one query."""
    columns = ("active_ms", "time_rule", "time_flags", "unreadable")
    rows = list(newest_reviews(review_round).order_by().values_list(*columns))
    flags = Counter(flag for _ms, _rule, stored, _images in rows for flag in stored)
    timed = [(ms, rule) for ms, rule, stored, _images in rows if rule in CLOCK_RULES and is_counted(ms, stored)]
    return RoundTimes(
        rule=", ".join(sorted({rule for _ms, rule in timed})) or RULE,
        active=median_estimate([ms for ms, _rule in timed if ms is not None]),
        n_undefined=sum(ms is None for ms, *_rest in rows),
        excluded=[(flag, flags[flag]) for flag in TimeFlag if flag in EXCLUDING and flags[flag]],
        n_unreadable=sum(bool(images) for *_rest, images in rows),
    )
