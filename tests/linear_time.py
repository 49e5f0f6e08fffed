"""Whether a rule goes over a text once: what it costs grows with the length of the text, and no faster.

A sweep: ``make test`` asks a share of the texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.sweeps import share

SHORT, TIMES = 2_000, 8  # characters, and how much longer the other text is
ROOM = 3  # times the growth of a linear rule: a quadratic one grows TIMES times as much
FREE = 0.02  # seconds of processor that no rule is blamed for
Rule = Callable[[str], object]


def slow_shapes(rule: Rule, parts: list[str], *, ends: tuple[str, ...] = ("", "x", "\n!")) -> list[str]:
    """The parts of which a repeated text costs more than its length explains.

    Processor time of this thread, the least of three unless one is free: other work of the machine is not counted.
    """
    return [f"{part!r} ... {end!r}" for part in share(parts) for end in ends if _is_slow(rule, part, end)]


def _is_slow(rule: Rule, part: str, end: str) -> bool:
    longer = _seconds(rule, part * (TIMES * SHORT // len(part)) + end)
    return longer >= FREE and longer > ROOM * TIMES * _seconds(rule, part * (SHORT // len(part)) + end)


def _seconds(rule: Rule, text: str) -> float:
    def once() -> float:
        begun = time.thread_time()
        rule(text)
        return time.thread_time() - begun

    least = once()
    for _again in range(2):
        if least >= FREE:
            least = min(least, once())
    return least
