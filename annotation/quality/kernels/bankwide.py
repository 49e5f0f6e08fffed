"""What shows only over a whole bank: whether the longest option, or one letter, is the key too often. Pure.

References
----------
.. [1] K. Pearson, Phil. Mag. 50 (1900) 157-175.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from annotation.enums import OptionLetter
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

if TYPE_CHECKING:
    from annotation.statistics.kernels.comparing import ChiSquare

BY_CHANCE = 0.25
LETTERS = tuple(OptionLetter.values())


@dataclass(frozen=True)
class BankWide:
    """``longest_is_key``: of the questions with one longest option, those whose key it is; 25 % by chance.

    ``letters``: how often each letter is the key; ``evenness`` is Pearson's test against equal shares [1]_, None
    without a key.
    """

    longest_is_key: Estimate
    letters: dict[str, int]
    evenness: ChiSquare | None

    @property
    def is_longest_too_often(self) -> bool:
        """Whether the whole interval lies above what chance gives."""
        low = self.longest_is_key.low
        return low is not None and low > BY_CHANCE


def bank_wide(questions: Iterable[tuple[Sequence[int], str]]) -> BankWide:
    """Of the length of each option in characters and the letter of the key, question by question; without key: ""."""
    letters: Counter[str] = Counter()
    n_longest = n_keys = 0
    for lengths, key in questions:
        if key not in LETTERS:
            continue
        letters[key] += 1
        longest = max(lengths)
        if lengths.count(longest) == 1:
            n_longest += 1
            n_keys += lengths[LETTERS.index(key)] == longest
    counts = {letter: letters[letter] for letter in LETTERS}
    return BankWide(share(n_keys, n_longest), counts, key_evenness(list(counts.values())))


def key_evenness(counts: Sequence[int]) -> ChiSquare | None:
    """Chi-square of the counts of each letter against equal shares; None without any."""
    n = sum(counts)
    if n == 0:
        return None
    from scipy.special import chdtrc  # here, since every start of the program would wait for it

    expected = n / len(counts)
    chi2 = sum((count - expected) ** 2 for count in counts) / expected
    from annotation.statistics.kernels.comparing import ChiSquare  # computes with numpy

    return ChiSquare(chi2, len(counts) - 1, float(chdtrc(len(counts) - 1, chi2)), n)
