"""What Tables 2 and 3 of the ReXVQA paper hold beside accuracies: the best model, categories under domains. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from annotation.enums import _
from annotation.statistics.kernels.estimate import SMALL_N, Estimate, Value
from annotation.statistics.kernels.intervals import share
from readerstudy.analysis.kernels.result import ALL_TASKS, MODEL, StoredAnalysis
from readerstudy.results.kernels.stored import BreakdownTable, kinds_of, post_hoc_models

# The domains of the ReXVQA paper with their categories, as its Table 3 prints them.
DOMAINS: dict[str, tuple[str, ...]] = {
    _("Clinical assessment"): ("Quality of Exams",),
    _("Respiratory system"): ("Lung and Pleural Opacity", "Lung and Pleural Lucency", "Lung Volume"),
    _("Cardiovascular"): ("Heart", "Aorta", "Other Great Vessel"),
    _("Medical devices"): ("Tubes and Lines", "Implanted Devices"),
    _("Pathologies"): ("Infectious Disease", "Pulmonary Neoplasm", "Negation"),
    _("Musculoskeletal"): ("Rib", "Spine", "Clavicle", "Joint"),
}
OTHERS, MEAN = _("Other categories"), _("Mean of the categories")


class DomainRow(Struct, frozen=True):
    """``category`` is empty in the row over all questions of a domain, and in the mean of all categories."""

    domain: str
    category: str
    n: int
    shares: list[Value]


def domain_rows(categories: BreakdownTable) -> list[DomainRow]:
    """Each domain with its categories below, and last what is in none of them as one row.

    Nothing where no category is one of the paper's.
    """
    of_name = {value.casefold(): (value, n, shares) for value, n, shares in categories.by_value}
    rows: list[DomainRow] = []
    for domain, names in DOMAINS.items():
        found = [of_name.pop(name.casefold()) for name in names if name.casefold() in of_name]
        if found:
            rows.append(_pooled(domain, found))
            rows += [DomainRow(domain, *one) for one in found]
    return [*rows, *([_pooled(OTHERS, list(of_name.values()))] if rows and of_name else [])]


def _pooled(domain: str, found: Sequence[tuple[str, int, list[Value]]]) -> DomainRow:
    columns = zip(*(shares for _value, _n, shares in found), strict=True)
    pooled = [_as_labelled(share(sum(map(_n_right, of)), sum(one["n"] for one in of)), of) for of in columns]
    return DomainRow(domain, "", sum(n for _value, n, _shares in found), pooled)


def mean_row(categories: BreakdownTable) -> DomainRow:
    """Plain means over the categories, however few the questions of one: an interval where each has five."""
    import numpy as np

    from annotation.statistics.kernels.proportions import mean_of_shares  # loads numpy

    counts = [(shares, np.array([[_n_right(one), one["n"]] for one in shares]).T) for _name, shares in categories.rows]
    means = [_as_labelled(mean_of_shares(*of_one), shares) for shares, of_one in counts]
    return DomainRow(MEAN, "", sum(n for _value, n in categories.values), means)


def _n_right(one: Value) -> int:
    return round((one["value"] or 0) * one["n"])


def _as_labelled(one: Estimate, parts: Sequence[Value]) -> Value:
    """With the labels that all parts have, such as post hoc."""
    labels = [flag for flag in parts[0]["flags"] if flag != SMALL_N and all(flag in part["flags"] for part in parts)]
    return {**one.as_json(), "flags": [*one.flags, *labels]}


def best_model(result: StoredAnalysis) -> str | None:
    """The model that is significantly better than every other one over all tasks: paired test, Holm over all pairs.

    Late models are left out, so that none of them changes what is said of the others.
    """
    from annotation.statistics.kernels.comparing import holm_adjusted  # loads numpy
    from annotation.statistics.kernels.ranking import SIGNIFICANT

    late = {one["name"] for one in post_hoc_models(result)}
    pairs = [
        one
        for one in result["panels"][ALL_TASKS]["pairs"]
        if set(one["kinds"]) == {MODEL} and late.isdisjoint({one["first"], one["second"]})
    ]
    tests = [
        one["cluster_mcnemar_chi2"]["p"] if "cluster_mcnemar_chi2" in one else one["mcnemar_exact_p"]["value"]
        for one in pairs
    ]
    better = [
        one["first"] if (one["difference"]["value"] or 0.0) > 0 else one["second"]
        for one, p in zip(pairs, holm_adjusted(tests), strict=True)
        if p is not None and p < SIGNIFICANT
    ]
    n_models = sum(kind == MODEL and name not in late for name, kind in kinds_of(result).items())
    return next((name for name in better if n_models > 1 and better.count(name) == n_models - 1), None)
