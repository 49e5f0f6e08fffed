"""What the named runs of models answered to the questions of one bank, as arrays. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

FAILED, MISSING = -1, -2  # in option


@dataclass(frozen=True)
class Entrant:
    """A model with the run that is named for the bank."""

    name: str
    facts: Mapping[str, Any]  # model, version, run, number, rule of extraction, answers to an older wording


@dataclass(frozen=True)
class BankArrays:
    """Everything that a comparison reads: the questions of the bank that have a key, in their current wording."""

    bank: str
    slug: str
    simulated: bool
    cluster_level: str
    n_without_key: int
    entrants: tuple[Entrant, ...]
    key: NDArray[np.int8]  # 0 to 3, shape (questions,)
    task: NDArray[np.int8]  # place in TASKS
    category: tuple[str, ...]
    cluster: NDArray[np.int32]
    option: NDArray[np.int8]  # 0 to 3, FAILED or MISSING, shape (models, questions)
    missing_is_wrong: bool = True  # on a bank, so that nobody chooses the questions that count; not in a study

    def correct(self) -> NDArray[np.int8]:
        """1 right, 0 wrong (a failed extraction too), -1 not counted; shape (models, questions)."""
        right: NDArray[np.int8] = (self.option == self.key[None, :]).astype(np.int8)
        if not self.missing_is_wrong:
            right[self.option == MISSING] = -1
        return right
