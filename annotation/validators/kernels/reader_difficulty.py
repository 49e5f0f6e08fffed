"""How difficult a question was for its readers, on the scale whose anchors reviewers see. Pure.

Rule ``readers-1``: of ten, 9 or 10 right is easy, 6 to 8 medium, 5 or fewer hard; shares in between go to the nearer.
"""

from __future__ import annotations

from annotation.enums import Difficulty

READERS_RULE = "readers-1"


def difficulty_of_share(n_right: int, n_readers: int) -> Difficulty:
    """Of a question that one reader or more answered."""
    if 20 * n_right >= 17 * n_readers:
        return Difficulty.EASY
    return Difficulty.MEDIUM if 20 * n_right >= 11 * n_readers else Difficulty.HARD
