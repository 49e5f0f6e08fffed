"""Tables of agreement from a stored analysis: among readers and with models, within groups, and of one pair. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from annotation.statistics.kernels.catalogue import ShownOn, Statistic, shown_at
from annotation.statistics.kernels.estimate import MergedValue, Value
from annotation.statistics.kernels.pair_intervals import bank_mix_kappa
from readerstudy.analysis.kernels.result import (
    ALL_TASKS,
    LETTERS,
    N_OPTIONS,
    ResultPart,
    StoredAnalysis,
    StoredSettings,
    value_named,
)
from readerstudy.results.kernels.heatmap import Agree


@dataclass(frozen=True)
class MeasureRow:
    """Means of one measure over pairs of raters, on shared draws."""

    measure: Statistic
    difference: Value  # the first less the second of the other two
    readers: Value
    mixed: Value


@dataclass(frozen=True)
class ReaderAgreement:
    """Whether readers agree more with each other than with models; what is free of accuracy comes first."""

    rows: list[MeasureRow]
    n_pairs_readers: int
    n_pairs_reader_model: int
    leaves_out: bool  # pairs that share no assigned question


def reader_agreement(result: ResultPart) -> ReaderAgreement:
    """Over all tasks. An analysis by an earlier rule holds the kappas alone, and leaves no pair out."""
    groups = result["panels"][ALL_TASKS]["groups"]
    readers, whole = groups["readers"], groups["all"]
    rows = []
    for measure in shown_at(ShownOn.MEANS):
        found = (
            value_named(whole, f"mean_{measure.name}_difference"),
            value_named(readers, f"mean_{measure.name}_readers"),
            value_named(whole, f"mean_{measure.name}_reader_model"),
        )
        if found[0] and found[1] and found[2]:
            rows.append(MeasureRow(measure, found[0], found[1], found[2]))
    all_pairs = comb(readers["n_raters"], 2), readers["n_raters"] * groups["models"]["n_raters"]
    used = whole.get("n_pairs_readers", all_pairs[0]), whole.get("n_pairs_reader_model", all_pairs[1])
    return ReaderAgreement(rows, *used, leaves_out=used != all_pairs)


# --- one pair --------------------------------------------------------------------------------------
NOT_COUNTED = " ."  # of another set, missing
FAILED = "x"


@dataclass(frozen=True)
class Disagreement:
    """One case in the answers of an analysis. Signs as docs/analysis.md explains them."""

    place: int  # in the columns of ``items``
    case: int  # number in the study
    case_id: str
    key: str
    first: str
    second: str

    @property
    def is_right(self) -> tuple[bool, bool]:
        return self.first == self.key, self.second == self.key


def disagreements(result: StoredAnalysis, panel: str, first: str, second: str, agree: Agree) -> list[Disagreement]:
    """The counted cases of the panel on which the two differ, in the order of their numbers.

    By option: both gave one, and not the same. By right and wrong: one is right and the other is not, failed,
    declined and late answers being wrong.
    """
    items, settings = result["items"], result["settings"]
    answers = items["answers"][first], items["answers"][second]
    found = []
    for place, key in enumerate(items["key"]):
        if items["voided"][place] == "before" or panel not in (ALL_TASKS, items["task"][place]):
            continue
        signs = answers[0][place], answers[1][place]
        if agree == Agree.OPTION:
            differ = _rated(signs, settings) and signs[0] != signs[1]
        else:
            differ = _counted(signs, settings) and (signs[0] == key) != (signs[1] == key)
        if differ:
            found.append(Disagreement(place, items["case"][place], items["case_id"][place], key, *signs))
    return found


def _rated(signs: tuple[str, str], settings: StoredSettings) -> bool:
    options = LETTERS + (FAILED if settings["failed_in_agreement"] == "own_category" else "")
    return all(sign in options for sign in signs)


def _counted(signs: tuple[str, str], settings: StoredSettings) -> bool:
    left_out = NOT_COUNTED + (FAILED if settings["failed_in_accuracy"] == "exclude" else "")
    return not any(sign in left_out for sign in signs)


def bank_mix_of_pair(result: StoredAnalysis, first: str, second: str) -> MergedValue | None:
    """Over the scored cases of all tasks, with seed and draws of the analysis.

    None where the cases were listed and not drawn, or one of them is in no stratum of the draw by now.
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
    return {**kappa.as_json(), "merged_tasks": list(merged)}


def _codes(signs: str, places: list[int], codes: str) -> NDArray[np.int64]:
    """Places in ``codes``; -1 for every other sign, which is no rating."""
    return np.array([codes.find(signs[place]) for place in places], dtype=np.int64)
