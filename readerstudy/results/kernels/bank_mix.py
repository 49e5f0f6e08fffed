"""The kappa of one pair in the mix of the bank, made from what an analysis stores of the cases. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.bank_mix import bank_mix_kappa
from readerstudy.results.kernels.stored import ALL_TASKS, N_OPTIONS, Json

LETTERS, FAILED = "ABCD", "x"


def bank_mix_of_pair(result: Json, first: str, second: str) -> Json | None:
    """Over the scored cases of all tasks, with seed and draws of the analysis.

    None where the cases were listed and not drawn, or one of them stands in no stratum of the draw by now.
    """
    items, strata = result["items"], result.get("strata") or []
    place = {(one["task"], one["difficulty"]): number for number, one in enumerate(strata)}
    scored = [number for number, voided in enumerate(items["voided"]) if voided != "before"]
    cells = [(items["task"][number], items["difficulty"][number]) for number in scored]
    if not place or not place.keys() >= set(cells):
        return None
    settings = result["settings"]
    own_category = settings["failed_in_agreement"] == "own_category"
    codes = LETTERS + FAILED if own_category else LETTERS
    kappa, merged = bank_mix_kappa(
        _codes(items["answers"][first], scored, codes),
        _codes(items["answers"][second], scored, codes),
        np.array([place[cell] for cell in cells], dtype=np.int64),
        np.array([one["n_pool"] for one in strata], dtype=np.int64),
        [one["task"] for one in strata],
        N_OPTIONS + own_category,
        seed=settings["seed"],
        panel=ALL_TASKS,
        draws=settings["draws"],
    )
    return kappa.as_json() | {"merged_tasks": list(merged)}


def _codes(signs: str, places: list[int], codes: str) -> NDArray[np.int64]:
    """Places in ``codes``; -1 for every other sign, which is no rating."""
    return np.array([codes.find(signs[place]) for place in places], dtype=np.int64)
