"""Computes the headline numbers of this report again from its folder data/, with public libraries alone.

    pip install statsmodels
    python recompute.py [folder]

statsmodels brings numpy, scipy and pandas; the folder is by default the one that this file lies in. Of a reader study
(analysis.json), over all tasks and for each: accuracy, agreement of pairs and of groups, which of two raters is right
more often, models against the mean of the readers, p values. Of a review round (report.json): how many questions have
each issue, experts' ceiling, accepted questions, agreement of reviewers.

Numbers and limits by formula must be equal to 1e-6. A bootstrap is drawn anew from a seed of its own, so that its
limits can only be near those of the report: as near as two simulations of so many draws are. Where the report withholds
an interval none is compared. Taken as given are rules, plan, number of draws, and who the raters are.

Exit status: 0 all agree, 1 something does not, 2 the files cannot be read.
"""

from __future__ import annotations

import io
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

Array = np.ndarray[Any, np.dtype[Any]]
Json = dict[str, Any]
ALL, NAN = "All tasks", math.nan
RULE = "analysis-4"  # of the program, by which a study was analysed
SEED, DRAWS, RARE = 1, 10_000, 1e-7  # of the bootstrap here, and how rarely it may differ by chance


# --- numbers, and comparing them ------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Recomputed:
    """A number; with limits by formula, or with what it was in each draw of a bootstrap."""

    value: float
    limits: Sequence[float] | Array | None = None
    draws: Array | None = None


Line = tuple[str, Json, Recomputed]  # what it is, as the report has it, as found here


def lines_of(name: str, stored: Mapping[str, Json], found: Mapping[str, Recomputed]) -> Iterator[Line]:
    """Of those that the report has."""
    yield from ((f"{name}, {one}", stored[one], number) for one, number in found.items() if stored.get(one))


def is_same(stored: float | None, found: float) -> bool:
    return math.isnan(found) if stored is None else math.isclose(stored, found, rel_tol=1e-6, abs_tol=1e-9)


def agrees(stored: Json, found: Recomputed, n_draws: int) -> bool:
    if not is_same(stored["value"], found.value):
        return False
    if stored.get("ci95") is None:
        return True
    if found.draws is None:
        return found.limits is not None and all(map(is_same, stored["ci95"], found.limits))
    n = 1 / (1 / n_draws + 1 / DRAWS)  # so many draws would be as far off as both are together
    for limit, level in zip(stored["ci95"], (0.025, 0.975), strict=True):
        rare = stats.beta.ppf([RARE, 1 - RARE], level * n, (1 - level) * n)
        lowest, highest = np.nanquantile(found.draws, rare)
        if not lowest - 1e-9 <= limit <= highest + 1e-9:
            return False
    return True


def in_words(value: float | None, limits: Sequence[float] | Array | None) -> str:
    if value is None or math.isnan(value):
        return "none"
    return f"{value:.6g}" + ("" if limits is None else f" ({limits[0]:.6g} to {limits[1]:.6g})")


def read_csv(path: Path) -> pd.DataFrame:
    """Text; an apostrophe in front keeps programs from taking it for something else."""
    found = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return found.apply(lambda column: column.str.removeprefix("'"))


# --- shares and means -----------------------------------------------------------------------------------------------
def share(k: float, n: float, alpha: float = 0.05) -> Recomputed:
    return Recomputed(k / n, proportion_confint(k, n, alpha, method="wilson")) if n else Recomputed(NAN)


def sandwich(y: Array, cluster: Any) -> Any:
    groups = {"groups": pd.factorize(cluster)[0]}
    return OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds=groups, use_t=True)


def cluster_mean(y: Array, cluster: Any) -> Recomputed:
    """Limits by t with the sandwich error of ten clusters or more."""
    mean, m = float(y.mean()) if len(y) else NAN, len(np.unique(cluster))
    return Recomputed(mean) if m < 10 else Recomputed(mean, np.clip(sandwich(y, cluster).conf_int()[0], -1, 1))


def cluster_share(y: Array, cluster: Any) -> Recomputed:
    """Wilson's limits with as many as the sandwich error of ten clusters or more is worth, and the quantile of t.

    Where all is 0 or 1, of as many as there are clusters; where no cluster holds two, of as many as there are.
    """
    n, m = len(y), len(np.unique(cluster))
    if m == n:
        return share(float(y.sum()), n)
    mean = float(y.mean())
    if m < 10:
        return Recomputed(mean)
    if mean in (0, 1):
        return share(mean * m, m)
    worth = min(n, mean * (1 - mean) / max(float(sandwich(y, cluster).bse[0]) ** 2, 1e-30))
    return share(mean * worth, worth, 2 * stats.norm.sf(stats.t.ppf(0.975, m - 1)))


# --- agreement ------------------------------------------------------------------------------------------------------
def over(above: Array, below: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.true_divide(above, below))


def beyond_chance(observed: Array, expected: Array) -> Array:
    return np.where(np.abs(1 - expected) < 1e-12, NAN, over(observed - expected, 1 - expected))


def cohen_kappa(tables: Array, weights: Array) -> Array:
    """Of tables of shape (draws, q, q); ``weights``: how far two options agree."""
    p = over(tables, tables.sum(axis=(1, 2), keepdims=True))
    expected = (p.sum(axis=2)[:, :, None] * p.sum(axis=1)[:, None, :] * weights).sum(axis=(1, 2))
    return beyond_chance((p * weights).sum(axis=(1, 2)), expected)


def alpha(together: Array, apart: Array) -> Array:
    """Krippendorff's, of coincidences and squared distances of options, both of shape (draws, q, q)."""
    used = together.sum(axis=2)
    chance = (used[:, :, None] * used[:, None, :] * apart).sum(axis=(1, 2))
    found = 1 - (used.sum(axis=1) - 1) * over((together * apart).sum(axis=(1, 2)), chance)
    return np.where(chance > 1e-9, found, NAN)


def draws_of(unit: Array) -> Array:
    """How often each item is drawn, shape (draws, items): as often as its unit, of as many units as there are."""
    m = int(unit.max(initial=-1)) + 1
    drawn = np.random.default_rng(SEED).integers(m, size=(DRAWS, m)) if m else np.zeros((DRAWS, 0), int)
    counts = np.bincount((drawn + m * np.arange(DRAWS)[:, None]).ravel(), minlength=DRAWS * m)
    return counts.reshape(DRAWS, m)[:, unit] * 1.0


def agreement(codes: Array, q: int, drawn: Array | None) -> dict[str, Array]:
    """Coefficients over the items that two raters or more rated, as they are and then in each draw.

    ``codes``: options from 0, nan: none, shape (raters, items). Without ``drawn`` just these items are drawn.
    """
    counts = (codes[:, :, None] == np.arange(q)).sum(axis=0) * 1.0
    two = counts.sum(axis=1) > 1
    counts = counts[two]
    again = draws_of(np.arange(len(counts))) if drawn is None else drawn[:, two]
    weights = np.vstack([np.ones(len(counts)), again])  # the first row: as it is
    r, n = counts.sum(axis=1)[:, None], weights.sum(axis=1)
    both = (counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q)).reshape(-1, q * q)
    pairs, together, shares = ((weights @ (both / of)).reshape(-1, q, q) for of in (r / r, r - 1, r * (r - 1)))
    agreed, mean = over(np.trace(shares, axis1=1, axis2=2), n), over(weights @ (counts / r), n[:, None])
    by_chance, used, options = (mean**2).sum(axis=1), together.sum(axis=2), np.arange(q)
    place = used.cumsum(axis=1) - used / 2
    found = {
        "percent_agreement": agreed,
        "fleiss_kappa": beyond_chance(agreed, by_chance),
        "scott_pi": beyond_chance(agreed, by_chance),  # the same of two raters
        "gwet_ac1": beyond_chance(agreed, (1 - by_chance) / (q - 1)),
        "brennan_prediger": beyond_chance(agreed, np.full_like(agreed, 1 / q)),
        "krippendorff_alpha_nominal": alpha(together, 1 - np.eye(q)),
        "krippendorff_alpha_ordinal": alpha(together, (place[:, :, None] - place[:, None, :]) ** 2),
        "specific_agreement_positive": over(pairs[:, 0, 0], pairs[:, 0].sum(axis=1)),
        "specific_agreement_negative": over(pairs[:, 1, 1], pairs[:, 1].sum(axis=1)),
    }
    if len(codes) == 2:
        tables = (weights @ ((q * codes[0] + codes[1])[two][:, None] == np.arange(q * q))).reshape(-1, q, q)
        quadratic = 1 - (np.subtract.outer(options, options) / (q - 1)) ** 2
        found |= {"cohen_kappa": cohen_kappa(tables, np.eye(q))}
        found |= {"cohen_kappa_quadratic": cohen_kappa(tables, quadratic)}
    return found


def estimates(found: Mapping[str, Array]) -> dict[str, Recomputed]:
    return {name: Recomputed(float(one[0]), draws=one[1:]) for name, one in found.items()}


def by_formula(codes: Array, q: int) -> dict[str, Recomputed]:
    """Of two raters whose items share no cluster: the share of agreement, and what follows from it alone."""
    rated = ~np.isnan(codes).any(axis=0)
    agreed = share(float((codes[0] == codes[1])[rated].sum()), int(rated.sum()))
    less, *limits = ((one - 1 / q) / (1 - 1 / q) for one in (agreed.value, *(agreed.limits or ())))
    return {"percent_agreement": agreed, "brennan_prediger": Recomputed(less, limits)}


# --- a reader study -------------------------------------------------------------------------------------------------
Key = tuple[str, frozenset[str]]  # of a comparison: panel, and the raters in it
TESTS = ("p", "noninferiority_p", "equivalence_p")  # of a difference from 0, not inferior, equivalent
Answers = dict[str, pd.DataFrame]  # a column for each case: in "cases" what it is, elsewhere a row for each rater


def judged(rows: pd.DataFrame, settings: Json) -> pd.DataFrame:
    """With the option chosen, from 0, and whether it is right: 1, 0, or nan where it does not count."""
    is_chosen = rows.state.isin(["answered", "unconfirmed"])
    wrong = ["declined", "timed_out", "late"] + ["failed"] * (settings["failed_in_accuracy"] == "wrong")
    chosen = rows.option.map({letter: place for place, letter in enumerate("ABCD")}).where(is_chosen)
    if settings["failed_in_agreement"] == "own_category":
        chosen = chosen.mask(rows.state == "failed", 4)
    right = np.where(is_chosen, rows.option == rows.key, np.where(rows.state.isin(wrong), 0, NAN))
    return rows.assign(chosen=chosen, right=right.astype(float), given=1.0)


def read_answers(folder: Path, analysis: Json) -> Answers:
    """Of the scored cases; ``averaged``: right, of a model that several runs stand for their mean."""
    names = [one["name"] for one in analysis["raters"]]
    rows = read_csv(folder / "data" / "ratings.csv").astype({"case": int})
    rows = judged(rows[rows.voided != "before_unblinding"], analysis["settings"])
    cases = rows[["case", "cluster", "task", "key"]].drop_duplicates().set_index("case").sort_index()
    if not cases.index.is_unique or set(rows.rater) - {*names}:
        raise ValueError("a case has two keys, tasks or clusters, or a rater is not in the analysis")
    if "best_guess" in rows:
        rows["guessed"] = rows.right.mask((rows.state == "declined") & (rows.best_guess == rows.key), 1)
    grids = rows.pivot(index="rater", columns="case").reindex(names)
    found = {name: grids[name].astype(float) for name in ("given", "chosen", "right", "guessed") if name in rows}
    averaged = found["right"].copy()
    for one in analysis["raters"]:
        if numbers := one.get("mean_of_runs"):
            runs = read_csv(folder / "data" / "runs.csv").astype({"case": int, "run": int}).join(cases.key, on="case")
            own = rows[rows.rater == one["name"]].assign(model=one["name"], run=one["number"])
            runs = pd.concat([judged(runs, analysis["settings"]), own])
            runs = runs[(runs.model == one["name"]) & runs.run.isin(numbers)]
            averaged.loc[one["name"]] = runs.groupby("case").right.mean()
    return found | {"averaged": averaged, "cases": cases.T}


def study_lines(folder: Path, analysis: Json) -> Iterator[Line]:
    if (rule := analysis.get("software", {}).get("rule", RULE)) != RULE:
        raise ValueError(f"analysed by the rule {rule}, not {RULE}: analyse the study again")
    answers, ps = read_answers(folder, analysis), dict[Key, dict[str, float]]()
    readers = [one["name"] for one in analysis["raters"] if one["kind"] == "reader"]
    for name, stored in analysis["panels"].items():
        kept = answers["cases"].columns[(answers["cases"].loc["task"] == name) | (name == ALL)]
        part = {grid: answers[grid][kept] for grid in answers}
        unit = pd.factorize(part["cases"].loc["cluster"])[0] if stored["unit"] == "cluster" else np.arange(len(kept))
        yield from accuracy_lines(name, part, stored)
        yield from agreement_lines(name, part, unit, stored, analysis)
        for one in stored["pairs"]:
            found = difference_of_pair(part, [one["first"], one["second"]])
            ps[name, frozenset((one["first"], one["second"]))] = {"p": found["mcnemar_exact_p"].value}
            yield from lines_of(f"{name}, {one['first']} and {one['second']}", one, found)
        mrmc, right = analysis["mrmc"], part["right"].loc[readers].to_numpy()
        mrmc = mrmc if name == ALL else mrmc["tasks"][name]
        yield f"{name}, mean of the readers", mrmc["readers"], contrast(right, unit, mrmc["readers"], None)[0]
        for model, one in mrmc["models"].items():
            apart = part["averaged"].loc[model].to_numpy() - right
            less, ps[name, frozenset((model,))] = contrast(apart, unit, one, analysis["plan"]["margin"] or 0.0)
            yield f"{name}, {model} less the mean of the readers", one, less
    yield from p_lines(analysis, ps)


def accuracy_lines(name: str, part: Answers, stored: Json) -> Iterator[Line]:
    for one in stored["raters"]:
        right = part["right"].loc[one["name"]].dropna()
        found = {"accuracy": share(right.sum(), len(right))}
        found |= {"accuracy_cluster": cluster_share(right.to_numpy(), part["cases"].loc["cluster", right.index])}
        if "guessed" in part:
            found |= {"accuracy_best_guess": share(part["guessed"].loc[one["name"]].sum(), len(right))}
        yield from lines_of(f"{name}, {one['name']}", one, found)


def agreement_lines(name: str, part: Answers, unit: Array, stored: Json, analysis: Json) -> Iterator[Line]:
    """Of pairs, of groups, and the mean over pairs of readers and over pairs of a reader and a model."""
    drawn, q = draws_of(unit), 4 + (analysis["settings"]["failed_in_agreement"] == "own_category")
    is_reader = {one["name"]: one["kind"] == "reader" for one in analysis["raters"] if is_counted(one)}
    of_pairs: dict[int, list[dict[str, Array]]] = {0: [], 1: [], 2: []}  # by how many are readers
    for one in stored["pairs"]:
        two = [one["first"], one["second"]]
        chosen, right = part["chosen"].loc[two].to_numpy(), part["right"].loc[two].to_numpy()
        alone = None if stored["unit"] == "question" else drawn  # what is drawn for this pair
        outcome = {"error_consistency": agreement(right, 2, alone)["cohen_kappa"]}
        found = estimates(agreement(chosen, q, alone) | outcome)
        found |= by_formula(chosen, q) if alone is None else {}
        yield from lines_of(f"{name}, {' and '.join(two)}", one, found)
        if set(two) <= is_reader.keys() and part["given"].loc[two].notna().all().any():
            kappas = {"kappa": agreement(chosen, q, drawn), "error_consistency": agreement(right, 2, drawn)}
            of_pairs[sum(is_reader[rater] for rater in two)].append({one: kappas[one]["cohen_kappa"] for one in kappas})
    for group, kind in (("readers", {True}), ("models", {False}), ("all", {True, False})):
        codes = part["chosen"].loc[[one for one in is_reader if is_reader[one] in kind]].to_numpy()
        yield from lines_of(f"{name}, {group}", stored["groups"][group], estimates(agreement(codes, q, drawn)))
    for short in ("kappa", "error_consistency"):
        readers, mixed = (np.mean([one[short] for one in of_pairs[n]] or [np.array([NAN])], axis=0) for n in (2, 1))
        means = {"readers": readers, "reader_model": mixed, "difference": readers - mixed}
        found = estimates({f"mean_{short}_{label}": one for label, one in means.items()})
        yield from lines_of(name, stored["groups"]["readers"] | stored["groups"]["all"], found)


def is_counted(rater: Json) -> bool:
    """No model that came or was chosen after unblinding, without being planned."""
    return not rater.get("post_hoc") or bool(rater.get("was_planned"))


def difference_of_pair(part: Answers, names: Sequence[str]) -> dict[str, Recomputed]:
    both = part["right"].loc[[*names]].dropna(axis=1)
    x, y = both.to_numpy()
    b, c, n = int((x > y).sum()), int((x < y).sum()), len(x)
    if not n:
        return dict.fromkeys(("difference", "difference_cluster", "mcnemar_exact_p"), Recomputed(NAN))
    return {
        "difference": Recomputed((b - c) / n, (-tango_upper(c, b, n), tango_upper(b, c, n))),
        "difference_cluster": cluster_mean(x - y, part["cases"].loc["cluster", both.columns]),
        "mcnemar_exact_p": Recomputed(stats.binomtest(b, b + c).pvalue if b + c else 1.0),
    }


def tango_upper(b: int, c: int, n: int) -> float:
    """The greatest difference that the score test of paired shares does not reject."""

    def score(delta: float) -> float:
        linear = (2 * n - b + c) * delta - b - c
        p21 = (math.sqrt(max(0.0, linear**2 + 8 * n * c * delta * (1 - delta))) - linear) / (4 * n)
        return b - c - n * delta + stats.norm.ppf(0.975) * math.sqrt(max(0.0, n * (2 * p21 + delta * (1 - delta))))

    return 1.0 if b == n else float(optimize.brentq(score, (b - c) / n + 1e-9, 1.0, xtol=1e-12))


def contrast(y: Array, unit: Array, stored: Json, margin: float | None) -> tuple[Recomputed, dict[str, float]]:
    """The mean over cases of the mean over their readers, inferred as planned; ``y`` has shape (readers, cases)."""
    used, lowest, none = ~np.isnan(y), 0 if margin is None else -1, dict.fromkeys(TESTS, NAN)
    y, unit = y[used.any(axis=1)][:, used.any(axis=0)], pd.factorize(unit[used.any(axis=0)])[0]
    if not y.size:
        return Recomputed(NAN), none
    weight = ~np.isnan(y) / (~np.isnan(y)).sum(axis=0) / y.shape[1]
    mean = float(np.nansum(weight * y))
    cells = (weight * np.nan_to_num(y - mean), weight)
    off, weight = (pd.DataFrame(one.T).groupby(unit).sum().to_numpy().T for one in cells)
    readers, m = off.shape
    by_mover, reader, case = False, 0.0, 0.0
    variance, df = (m / (m - 1) * float((off.sum(axis=0) ** 2).sum()), m - 1.0) if m > 1 else (0.0, 0.0)
    if stored["inference"] != "fixed_readers_random_questions":
        reader, case = parts_of_variance(off, weight) if min(readers, m) > 1 else (0.0, 0.0)
        if stored["inference"] == "random_readers_fixed_questions" or min(readers, m) < 2:
            variance, df = reader, readers - 1.0
        elif reader > 1e-14:
            variance, by_mover = reader + max(case, 0.0), readers < 5
            df = variance**2 / (reader**2 / (readers - 1))
    if variance < 1e-14 or np.nanmax(y) == np.nanmin(y) or (stored["unit"] == "by_cluster" and m < 10):
        return Recomputed(mean), none
    se = math.sqrt(variance)

    def above(distance: float) -> float:
        return mover_tail(distance, reader, case, readers) if by_mover else float(stats.t.sf(distance / se, df))

    half = mover_half(0.025, reader, case, readers) if by_mover else stats.t.ppf(0.975, df) * se
    below, beyond = above(mean + (margin or 0)), above((margin or 0) - mean)
    p = dict(zip(TESTS, (2 * above(abs(mean)), below, max(below, beyond)), strict=True))
    return Recomputed(mean, np.clip([mean - half, mean + half], lowest, 1)), p


def mover_half(tail: float, reader: float, case: float, readers: int) -> float:
    """Of random readers that are fewer than five: each part of the variance with a quantile of its own."""
    return math.sqrt(stats.t.isf(tail, readers - 1) ** 2 * reader + stats.norm.isf(tail) ** 2 * max(case, 0.0))


def mover_tail(distance: float, reader: float, case: float, readers: int) -> float:
    """One-sided p of a mean so far above what is tested: the tail whose half width is that far."""
    if abs(distance) < 1e-14:
        return 0.5

    def further(power: float) -> float:
        return mover_half(10**power, reader, case, readers) - abs(distance)

    tail = float(10 ** optimize.brentq(further, -40, math.log10(0.5), xtol=1e-14))
    return tail if distance > 0 else 1 - tail


def parts_of_variance(off: Array, weight: Array) -> tuple[float, float]:
    """What readers and units add, from products of cells of two readers; shape (readers, units).

    Cells that share no unit have nothing in common: the mean of their products is minus the variance of the mean. That
    of cells that share a unit is what units add, less that. The rest is what readers add.
    """
    same, of_same = (float((one.sum(axis=0) ** 2).sum() - (one**2).sum()) for one in (off, weight))
    every, of_every = (float(one.sum() ** 2 - (one.sum(axis=1) ** 2).sum()) for one in (off, weight))
    total = -(every - same) / (of_every - of_same)
    case = float((weight.sum(axis=0) ** 2).sum()) * (same / of_same + total) if of_same > 1e-14 else 0.0
    return total - case, case


def p_lines(analysis: Json, ps: Mapping[Key, Mapping[str, float]]) -> Iterator[Line]:
    """p of the comparisons; Holm's over the models of all tasks, over those of single tasks, and over planned pairs."""
    late = {one["name"] for one in analysis["raters"] if not is_counted(one)}
    families: dict[Any, dict[Key, Json]] = {}
    for one in analysis["comparisons"]:
        panel, raters = one["panel"], frozenset({one["first"], one.get("second", one["first"])})
        if (panel, raters) in ps:
            families.setdefault((panel == ALL, len(raters)), {})[panel, raters] = one
    for family, name in product(families.values(), TESTS):
        known = [key for key in family if not key[1] & late and not math.isnan(ps[key].get(name, NAN))]
        holm = multipletests([ps[key][name] for key in known], method="holm")[1] if known else []
        adjusted = dict(zip(known, holm, strict=True))
        for key, one in family.items():
            found = {name: Recomputed(ps[key].get(name, NAN)), f"{name}_holm": Recomputed(adjusted.get(key, NAN))}
            yield from lines_of(f"{key[0]}, {' and '.join(sorted(key[1]))}", one, found)


# --- a review round -------------------------------------------------------------------------------------------------
VALUES = {
    "blind_difficulty": ["easy", "medium", "hard"],
    "blind_best": [*"ABCD", ""],
    "verdict": ["accept", "revise", "reject", "cannot_judge"],
    "needs_image": ["yes", "partly", "no"],
    "relevant": ["yes", "partly", "no"],
}


def estimate(row: Any, value: str = "value", low: str = "low", high: str = "high") -> Json:
    """A row of a table as analyses have it."""
    limits = [float(row[low]), float(row[high])] if row[low] else None
    return {"value": float(row[value]) if row[value] else None, "ci95": limits}


def round_lines(folder: Path, facts: Json) -> Iterator[Line]:
    reviews = read_csv(folder / "data" / "reviews.csv")
    about = read_csv(folder / "data" / "questions.csv")[["question", "revision", "cluster"]]
    reviews = reviews.merge(about, on=["question", "revision"])
    reviews["of"] = reviews.question + " " + reviews.revision
    settled = folder / "data" / "settlements.csv"
    decided = adjudicated(reviews, read_csv(settled)) if settled.is_file() else reviews[:0]
    for row in read_csv(folder / "tables" / "outcomes.csv").to_dict("records"):
        of, rule = (decided, "any") if row["rule"] == "adjudicated" else (reviews, row["rule"])
        yield from share_lines(f"{row['rule']}, {row['issue']}", has_issue(of, row["flags"].split("|"), rule), row)
    is_asked, is_key = reviews.blind_answered_at != "", reviews.blind_best == reviews.key
    against = (reviews[["flag_key_wrong", "flag_no_valid_option"]] == "true").any(axis=1)
    accepts = ((reviews.verdict == "accept") & ~against).groupby([reviews.cluster, reviews.of]).all().droplevel("of")
    found = {"expert_ceiling": is_key[is_asked].set_axis(reviews.cluster[is_asked]), "accepted": accepts}
    meant = reviews.blind_meant.where(reviews.blind_meant != "", reviews.blind_best)
    found["expert_ceiling_meant"] = (meant == reviews.key)[is_asked].set_axis(reviews.cluster[is_asked])
    for row in read_csv(folder / "tables" / "shares.csv").to_dict("records"):
        if row["name"] in found:
            yield from share_lines(row["name"], found[row["name"]], row)
    agreement_of = folder / "tables" / "agreement.csv"
    yield from review_agreement_lines(reviews, read_csv(agreement_of)) if agreement_of.is_file() else ()


def share_lines(name: str, holds: pd.Series, row: Json) -> Iterator[Line]:
    """``holds``: true or false, by cluster."""
    yield name, estimate(row, "share"), share(float(holds.sum()), len(holds))
    clustered = estimate(row, "share", "cluster_low", "cluster_high")
    if clustered["ci95"]:
        yield f"{name}, by cluster", clustered, cluster_share(holds.to_numpy(dtype=float), holds.index)


def has_issue(reviews: pd.DataFrame, flags: Sequence[str], rule: str) -> pd.Series:
    """Of the questions whose reviewers were asked for one of the flags; "all" takes two reviewers."""
    cells = reviews[[f"flag_{flag}" for flag in flags]]
    asked = reviews[(cells != "").any(axis=1)]
    hits = (cells == "true").any(axis=1).groupby([asked.cluster, asked.of]).agg(["sum", "size"])
    if rule == "all":
        hits = hits[hits["size"] > 1]
    least = {"any": 1, "majority": hits["size"] // 2 + 1, "all": hits["size"]}[rule]
    return (hits["sum"] >= least).droplevel("of")


def adjudicated(reviews: pd.DataFrame, settled: pd.DataFrame) -> pd.DataFrame:
    """The decided questions as if reviewed once: with the flags that are left of those that were asked for."""
    flags = [name for name in reviews if name.startswith("flag_")]
    asked = (reviews[flags] != "").groupby([reviews.question, reviews.revision, reviews.of, reviews.cluster]).any()
    rows = settled[settled.outcome != "disputed"].merge(asked.reset_index(), on=["question", "revision"])
    left, own = (rows[f"adjudicator_{name}"].str.split("|") for name in ("flags", "asked"))
    for flag in flags:
        is_left, is_own = (one.map(lambda names, flag=flag: flag.removeprefix("flag_") in names) for one in (left, own))
        was_asked = is_own.where(rows.adjudicator_asked != "", rows[flag])
        rows[flag] = is_left.map({True: "true", False: "false"}).where(was_asked, "")
    return rows


def review_agreement_lines(reviews: pd.DataFrame, stored: pd.DataFrame) -> Iterator[Line]:
    several = reviews[reviews.groupby("of").of.transform("size") > 1]
    cluster = several.drop_duplicates("of").set_index("of").cluster.sort_index()
    drawn = draws_of(pd.factorize(cluster)[0])
    for field, rows in stored.groupby("field"):
        values = VALUES.get(field) or (["true", "false"] if field.startswith("flag_") else [*"12345"])
        codes = several[field].map({value: place for place, value in enumerate(values)}).astype(float)
        codes = codes.mask(field.startswith("blind_") & (several.blind_answered_at == ""))
        codes = several.assign(code=codes).pivot(index="reviewer", columns="of", values="code").to_numpy()
        found = estimates(agreement(codes, len(values), drawn))
        found |= by_formula(codes, len(values)) if len(codes) == 2 and cluster.is_unique else {}
        yield from lines_of(field, {row["statistic"]: estimate(row) for row in rows.to_dict("records")}, found)


def main(folder: Path) -> int:
    try:
        is_study = (folder / "analysis.json").is_file()
        facts = json.loads((folder / ("analysis.json" if is_study else "report.json")).read_text(encoding="utf-8"))
        lines = list(study_lines(folder, facts) if is_study else round_lines(folder, facts))
    except (OSError, ValueError, KeyError) as error:
        print(f"The files cannot be read: {type(error).__name__}: {error}")
        return 2
    n_draws = facts["settings"]["draws"] if is_study else facts["draws"]
    print(facts.get("study") or facts.get("round"), "SIMULATED DATA" * facts["simulated"], sep="  ")
    if is_study and facts["settings"].get("differs"):
        print(f"SENSITIVITY ANALYSIS, NOT PLANNED: other {', '.join(facts['settings']['differs'])}")
    for one in facts["plan"].get("seen_before", ()) if is_study else ():
        print(f"MADE OR CHANGED AFTER ITS READINGS WERE SEEN IN {one['study']} on {one['on']}")
    print(f"{'name':<60} {'in the report':<36} {'here':<36} agrees")
    right = [agrees(stored, found, n_draws) for _name, stored, found in lines]
    for (name, stored, found), is_right in zip(lines, right, strict=True):
        limits, here = stored.get("ci95"), found.limits
        if limits and found.draws is not None:
            here = np.nanquantile(found.draws, [0.025, 0.975])
        words = in_words(stored["value"], limits), in_words(found.value, here)
        print(f"{name:<60} {words[0]:<36} {words[1]:<36} {'yes' if is_right else 'NO'}")
    print(f"all {len(lines)} agree" if all(right) else f"{right.count(False)} of {len(lines)} do not agree")
    return 0 if all(right) else 1


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names in letters that the terminal does not have
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent))
