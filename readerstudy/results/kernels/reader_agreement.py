"""Whether readers agree more with each other than with models; agreement within groups. Pure, from the stored JSON."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from readerstudy.results.kernels.stored import ALL_TASKS, Json, shown_kappa

MEASURES = ("excess", "error_consistency", "kappa")  # what is free of accuracy comes first
COEFFICIENTS = ("percent_agreement", "fleiss_kappa", "brennan_prediger")  # all others: in the JSON and its sheets
GROUPS = ("readers", "models", "all")


@dataclass(frozen=True)
class MeasureRow:
    """Means of one measure over pairs of raters, on shared draws."""

    measure: str
    difference: Json  # the first less the second of the other two
    readers: Json
    mixed: Json


@dataclass(frozen=True)
class ReaderAgreement:
    rows: list[MeasureRow]
    n_pairs_readers: int
    n_pairs_reader_model: int
    leaves_out: bool  # pairs that share no assigned question


def reader_agreement(result: Json) -> ReaderAgreement:
    """Over all tasks. An analysis by an earlier rule holds the kappas alone, and leaves no pair out."""
    groups = result["panels"][ALL_TASKS]["groups"]
    readers, whole = groups["readers"], groups["all"]
    rows = [
        MeasureRow(
            measure,
            whole[f"mean_{measure}_difference"],
            readers[f"mean_{measure}_readers"],
            whole[f"mean_{measure}_reader_model"],
        )
        for measure in MEASURES
        if f"mean_{measure}_readers" in readers
    ]
    all_pairs = comb(readers["n_raters"], 2), readers["n_raters"] * groups["models"]["n_raters"]
    used = whole.get("n_pairs_readers", all_pairs[0]), whole.get("n_pairs_reader_model", all_pairs[1])
    return ReaderAgreement(rows, *used, leaves_out=used != all_pairs)


@dataclass(frozen=True)
class GroupTable:
    """Agreement within groups of raters in one panel, on the chosen option."""

    sizes: list[tuple[str, int]]  # group and its raters
    rows: list[tuple[str, list[Json]]]  # coefficient, its value in each group


def group_table(result: Json, panel: str) -> GroupTable:
    groups = result["panels"][panel]["groups"]
    return GroupTable(
        sizes=[(group, groups[group]["n_raters"]) for group in GROUPS],
        rows=[(name, [group_value(name, groups[group]) for group in GROUPS]) for name in COEFFICIENTS],
    )


def group_value(name: str, group: Json) -> Json:
    """A coefficient of a group, the kappas only where there are questions enough."""
    return group[name] if name == "percent_agreement" else shown_kappa(group[name])
