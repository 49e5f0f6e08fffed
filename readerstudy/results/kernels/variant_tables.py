"""How a model does when it is asked otherwise: other images, other orders of the options, the same again. Pure.

Each variant is set beside the plain run of the same questions, by the rules by which models are compared on a bank:
exact McNemar and Tango's interval, by cluster where questions share exams or patients. What was refused, was cut or
names no option is wrong. Recall by letter tells whether a model prefers a place: over all four orders the key of every
question is once at each letter, so that only the place differs between the letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.comparing import holm_adjusted
from annotation.statistics.kernels.proportions import accuracy, clustered_accuracy, run_spread
from annotation.statistics.kernels.ranking import ranked_pairs
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.results.kernels.bank_comparison import MISSING

RULE = "variants-1"  # change the name when the same inputs would give other numbers
N_ORDERS = 4

Right = NDArray[np.int8]  # 1 right, 0 wrong, negative not counted; shape (questions,)


@dataclass(frozen=True)
class AnsweredRun:
    """A complete run. ``option``: canonical, 0 to 3, FAILED or MISSING, shape (orders, repeats, questions)."""

    facts: Mapping[str, Any]
    option: NDArray[np.int8]


@dataclass(frozen=True)
class PairedVariant:
    """Rows of ``runs``; ``other_settings``: what differs beside the images."""

    run: int
    plain: int
    other_settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class AskedArrays:
    """The questions with a key that the complete runs of a model with one prompt were asked."""

    key: NDArray[np.int8]  # 0 to 3, shape (questions,)
    cluster: NDArray[np.int32]
    cluster_level: str
    n_without_key: int
    runs: tuple[AnsweredRun, ...]
    variants: tuple[PairedVariant, ...]

    def right(self, option: NDArray[np.int8]) -> Right:
        found: Right = (option == self.key).astype(np.int8)
        found[option == MISSING] = -1
        return found


def variant_tables(arrays: AskedArrays) -> dict[str, Any]:
    """The whole result; see docs/models-at-work.md."""
    units = units_of(arrays.cluster)
    counting = _Counting(arrays, clustered=units.clustered)
    return {
        "rules": {
            "rule": RULE,
            "accuracy": "wilson",
            "pairs": "obuchowski_1998" if units.clustered else "mcnemar_exact",
            "difference": "cluster_t" if units.clustered else "tango",
            "cluster": arrays.cluster_level,
        },
        "n": len(arrays.key),
        "n_clusters": units.m,
        "n_without_key": arrays.n_without_key,
        "clustered": units.clustered,
        "variants": counting.variants(),
        "orders": [counting.orders(run) for run in arrays.runs if len(run.option) == N_ORDERS],
        "repeats": [counting.repeats(run) for run in arrays.runs if run.option.shape[1] > 1],
    }


@dataclass(frozen=True)
class _Counting:
    arrays: AskedArrays
    clustered: bool

    def share(self, right: Right) -> dict[str, Any]:
        """A share of questions: by question, and by cluster where they share one."""
        found: dict[str, Any] = {"by_question": accuracy(right).as_json()}
        if self.clustered:
            found["by_cluster"] = clustered_accuracy(right, self.arrays.cluster).as_json()
        return found

    def against(self, first: Right, second: Right) -> dict[str, Any]:
        """The first minus the second, on the questions that both were asked."""
        [pair] = ranked_pairs(np.stack([first, second]), self.arrays.cluster, clustered=self.clustered)
        return {"table": asdict(pair.table), "difference": pair.difference.as_json(), "p": pair.p}

    def variants(self) -> list[dict[str, Any]]:
        found = []
        for one in self.arrays.variants:
            run, plain = self.arrays.runs[one.run], self.arrays.runs[one.plain]
            first, second = (self.arrays.right(each.option[0, 0]) for each in (run, plain))
            in_both = (first >= 0) & (second >= 0)
            found.append(
                {
                    **run.facts,
                    "plain": plain.facts["run"],
                    "plain_images": plain.facts["images"],
                    "other_settings": list(one.other_settings),
                    "n_in_one_only": int((first >= 0).sum() + (second >= 0).sum() - 2 * in_both.sum()),
                    "accuracy": self.share(np.where(in_both, first, -1).astype(np.int8)),
                    "plain_accuracy": self.share(np.where(in_both, second, -1).astype(np.int8)),
                    **self.against(first, second),
                }
            )
        return _with_holm(found)

    def orders(self, run: AnsweredRun) -> dict[str, Any]:
        """Of the first repeat. The same option: named in every order, and the same of the bank in all of them."""
        option = run.option[:, 0]
        right = [self.arrays.right(row) for row in option]
        against = _with_holm([self.against(row, right[0]) for row in right[1:]])
        return {
            **run.facts,
            "orders": [
                {"order": place + 1, "accuracy": self.share(row), **(against[place - 1] if place else {})}
                for place, row in enumerate(right)
            ],
            "same": self.share(_same(option)),
            "letters": [
                {"letter": letter, "recall": self.share(self._key_at(right, place))}
                for place, letter in enumerate(LETTERS)
            ],
        }

    def _key_at(self, right: Sequence[Right], place: int) -> Right:
        """Of each question in the order in which its key is at this place; order r + 1 moves it up by r."""
        order = (self.arrays.key.astype(np.intp) - place) % N_ORDERS
        found: Right = np.stack(right)[order, np.arange(len(order))]
        return found

    def repeats(self, run: AnsweredRun) -> dict[str, Any]:
        """Of the options in the order of the bank. The same answer: an option, and the same in every repeat."""
        option = run.option[0]
        shares = [self.share(self.arrays.right(row)) for row in option]
        spread = run_spread([one["by_question"]["value"] for one in shares])
        return {
            **run.facts,
            "repeats": [{"repeat": place + 1, "accuracy": one} for place, one in enumerate(shares)],
            "same": self.share(_same(option)),
            "mean": spread.mean.as_json(),
            "sd": spread.sd.as_json(),
        }


def _same(option: NDArray[np.int8]) -> Right:
    """Whether every row names one and the same option, shape (rows, questions); -1 where a row was not asked."""
    found: Right = ((option == option[0]).all(axis=0) & (option[0] >= 0)).astype(np.int8)
    found[(option == MISSING).any(axis=0)] = -1
    return found


def _with_holm(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the p values adjusted over these rows as one family."""
    rows = list(rows)
    adjusted = holm_adjusted([row["p"] for row in rows])
    return [{**row, "p_holm": p} for row, p in zip(rows, adjusted, strict=True)]
