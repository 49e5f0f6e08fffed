"""Computes every number of analysis.json again from data/ratings.csv, and says whether all are equal.

    python recompute.py [folder]

Needs Python 3.11, numpy and scipy, nothing else; the folder is by default the one that this file lies in. Taken from
analysis.json is what nobody can compute: seed, number of draws, rules, the plan, the names and the order of raters, the
sizes of the strata of the bank, and the cases that no rater was given. Everything else there is computed here by other
code than that of the program, and compared: numbers to 1e-9 of their size, p values to 1e-7.

Exit status: 0 all equal, 1 something differs or was not checked, 2 the files cannot be read.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import optimize, stats

Array = np.ndarray[Any, np.dtype[Any]]
Json = dict[str, Any]

LETTERS = "ABCD"
TASKS = ("presence", "negation", "differential", "location", "geometric")  # the order of the panels
OF_CASES = ("question", "case_id", "cluster", "task", "category", "difficulty", "key")
RULE = "analysis-2"  # by which the program computed what is checked here
STATES = ("answered", "declined", "timed_out", "late", "unconfirmed", "failed", "missing")
ALL = "All tasks"
CHANCES = (25, 40, 60, 80, 95)  # percent; what a reader can say about being right
Z = float(stats.norm.ppf(0.975))
NAN = math.nan


# --- the ratings ----------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Ratings:
    """``names`` and ``readers`` have one entry for each rater, the rest has cases along its last axis."""

    names: list[str]
    readers: Array  # bool: a reader, not a model
    case: Array
    question: Array
    case_id: Array
    cluster: Array
    task: Array
    category: Array
    difficulty: Array
    key: Array  # 0 to 3
    voided: Array  # "", before_unblinding, after_unblinding
    state: Array  # from here on of shape (raters, cases); "": not given to this rater
    option: Array  # 0 to 3; -1: none
    slip: Array
    confidence: Array
    position: Array
    active_ms: Array  # nan: none
    censored: Array
    disturbed: Array
    guess: Array
    asks_guesses: bool  # whether the study asked for best guesses after "cannot tell"

    def only(self, kept: Array) -> Ratings:
        names = [one.name for one in fields(self) if one.name not in ("names", "readers", "asks_guesses")]
        return replace(self, **{name: getattr(self, name)[..., kept] for name in names})


def read_ratings(path: Path, analysis: Json) -> tuple[Ratings, Array]:
    """The ratings, and the column ``correct`` of the file: it is computed anew and compared, never used."""
    rule = analysis.get("software", {}).get("rule", RULE)
    if rule != RULE:
        raise ValueError(f"analysis.json is by the rule {rule}, not {RULE}: analyse the study again")
    if "strata" not in analysis:
        raise ValueError("analysis.json is of an earlier form: analyse the study again")
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]
    about = {int(row["case"]): row for row in rows}
    check_rows(rows, about)
    for number, row in _cases_without_rows(analysis["items"]):
        about.setdefault(number, row)
    names, cases = [one["name"] for one in analysis["raters"]], sorted(about)
    lines, columns = ({one: place for place, one in enumerate(named)} for named in (names, cases))
    at = (
        np.array([lines[row["rater"]] for row in rows], dtype=int),
        np.array([columns[int(row["case"])] for row in rows], dtype=int),
    )

    def of_cases(name: str, kind: Callable[[str], Any] = str) -> Array:
        return np.array([kind(about[number][name]) for number in cases])

    def of_ratings(name: str, kind: Callable[[str], Any], nothing: Any) -> Array:
        """As ``kind`` makes it of the text, ``nothing`` where there is no text or no row."""
        found = np.full((len(names), len(cases)), nothing, dtype="U20" if nothing == "" else type(nothing))
        found[at] = [kind(row[name]) if row.get(name) else nothing for row in rows]
        return found

    kinds = {one["name"]: one["kind"] for one in analysis["raters"]}
    ratings = Ratings(
        names,
        np.array([kinds[name] == "reader" for name in names], dtype=bool),
        case=np.array(cases),
        question=of_cases("question", int),
        case_id=of_cases("case_id"),
        cluster=of_cases("cluster", int),
        task=of_cases("task"),
        category=of_cases("category"),
        difficulty=of_cases("difficulty"),
        key=of_cases("key", LETTERS.index),
        voided=of_cases("voided"),
        state=of_ratings("state", str, ""),
        option=of_ratings("option", LETTERS.index, -1),
        slip=of_ratings("slip", LETTERS.index, -1),
        confidence=of_ratings("confidence", int, 0),
        position=of_ratings("position", int, 0),
        active_ms=of_ratings("active_ms", float, NAN),
        censored=of_ratings("censored", lambda text: text == "1", False),
        disturbed=of_ratings("disturbed", lambda text: text == "1", False),
        guess=of_ratings("best_guess", LETTERS.index, -1),
        asks_guesses=bool(rows) and "best_guess" in rows[0],
    )
    return ratings, of_ratings("correct", int, -1)


def check_rows(rows: Sequence[Mapping[str, str]], about: Mapping[int, Mapping[str, str]]) -> None:
    """Raises ValueError where a rater has two rows for a case, or two rows do not agree about their case."""
    if len({(row["rater"], row["case"]) for row in rows}) < len(rows):
        raise ValueError("a rater has two rows for one case")
    for row in rows:
        for name in (*OF_CASES, "voided"):
            if row[name] != about[int(row["case"])][name]:
                raise ValueError(f"case {row['case']} has more than one {name}")


def _cases_without_rows(items: Json) -> Iterator[tuple[int, dict[str, str]]]:
    """All cases as analysis.json lists them: those of a set that nobody read have no row in the ratings."""
    when = {"": "", "before": "before_unblinding", "after": "after_unblinding"}
    for place, number in enumerate(items["case"]):
        yield number, {name: str(items[name][place]) for name in OF_CASES} | {"voided": when[items["voided"][place]]}


def answers_of(ratings: Ratings, settings: Json) -> tuple[Array, int]:
    """Options for agreement, -1: no rating; and q. Declined, ended without a choice, late and failed are no rating."""
    answers = np.where(np.isin(ratings.state, ("answered", "unconfirmed")), ratings.option, -1)
    if settings["failed_in_agreement"] == "own_category":
        return np.where(ratings.state == "failed", 4, answers), 5
    return answers, 4


def correct_of(ratings: Ratings, settings: Json) -> Array:
    """1 right, 0 wrong, -1 not counted."""
    wrong = ["declined", "timed_out", "late"] + ["failed"] * (settings["failed_in_accuracy"] == "wrong")
    chosen = np.isin(ratings.state, ("answered", "unconfirmed"))
    return np.where(chosen, ratings.option == ratings.key, np.where(np.isin(ratings.state, wrong), 0, -1)).astype(int)


def correct_with_guesses(ratings: Ratings, correct: Array) -> Array:
    """The same, where "cannot tell" is as right as the best guess beside it."""
    found = correct.copy()
    for rater, case in np.argwhere((ratings.state == "declined") & (ratings.guess >= 0)):
        found[rater, case] = int(ratings.guess[rater, case] == ratings.key[case])
    return found


# --- values ---------------------------------------------------------------------------------------------------------
def value(
    number: float | None,
    n: int,
    ci: Sequence[float] | None = None,
    flags: Sequence[str] = (),
    reason: str | None = None,
    **more: Any,
) -> Json:
    """A number as it stands in analysis.json; without one there is a reason and no interval."""
    if number is None or math.isnan(number):
        return {"value": None, "ci95": None, "n": n, "flags": list(flags), "reason": reason, **more}
    limits = None if ci is None else [float(ci[0]), float(ci[1])]
    return {"value": float(number), "ci95": limits, "n": n, "flags": list(flags), "reason": None, **more}


def small(n: int, fewest: int = 10) -> list[str]:
    return ["small_n"] if 0 < n < fewest else []


def t_quantile(df: float, share: float = 0.975) -> float:
    return float(stats.t.ppf(share, df))


# --- shares ---------------------------------------------------------------------------------------------------------
def wilson(p: float, n: float) -> tuple[float, float]:
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return (0.0 if p <= 0 else max(0.0, centre - half)), (1.0 if p >= 1 else min(1.0, centre + half))


def share(k: int, n: int) -> Json:
    return value(k / n, n, wilson(k / n, n), small(n)) if n else value(None, 0, reason="zero_trials")


def accuracy(correct: Array) -> Json:
    return share(int((correct == 1).sum()), int((correct >= 0).sum()))


def clopper_pearson(k: int, n: int) -> Json:
    if n == 0:
        return value(None, 0, reason="zero_trials")
    low = 0.0 if k == 0 else stats.beta.ppf(0.025, k, n - k + 1)
    high = 1.0 if k == n else stats.beta.ppf(0.975, k + 1, n - k)
    return value(k / n, n, (low, high), small(n))


def cluster_accuracy(correct: Array, cluster: Array) -> Json:
    """p +- t(m-1) SE, SE = sqrt(m/(m-1) sum e_g^2)/n; at p = 0 or 1 Wilson's with m for n."""
    y, cluster = correct[correct >= 0], cluster[correct >= 0]
    n, groups = len(y), [y[cluster == one] for one in np.unique(cluster)]
    m = len(groups)
    if n == 0:
        nothing: Json = {"accuracy_cluster_se": None, "design_effect": None, "n_clusters": 0}
        return value(None, 0, reason="zero_trials", **nothing)
    p = float(y.mean())
    se: float | None = None
    effect, ci = None, None
    if p in (0, 1):
        se, ci = 0.0, wilson(p, m)
    elif m > 1:
        whole = [n * int(one.sum()) - int(y.sum()) * len(one) for one in groups]  # n times the residuals
        se = math.sqrt(m / (m - 1) * sum(one**2 for one in whole)) / n**2
        effect = se**2 / (p * (1 - p) / n)
        ci = (max(0.0, p - t_quantile(m - 1) * se), min(1.0, p + t_quantile(m - 1) * se)) if se else None
    flags = ["few_clusters"] * (m < 10) + small(n) + ["no_variation"] * (effect == 0)
    more: Json = {"accuracy_cluster_se": se, "design_effect": effect, "n_clusters": m}
    return value(p, n, ci if m >= 10 else None, flags, **more)


def weighted(weights: Array, k: Array, n: Array, unseen: Array) -> tuple[float, tuple[float, float]]:
    """Sum of W_h p_h and Wilson's limits with n_eff = p(1-p)/variance; n_eff = n where no stratum varies."""
    p_h = k / n
    p = min(1.0, max(0.0, float((weights * p_h).sum())))
    variance = float((weights**2 * p_h * (1 - p_h) / (n - 1) * unseen).sum())
    return p, wilson(p, p * (1 - p) / variance if variance > 0 else float(n.sum()))


def by_stratum(correct: Array, strata: Sequence[Array]) -> tuple[Array, Array]:
    k = np.array([(correct[one] == 1).sum() for one in strata], dtype=float)
    return k, np.array([(correct[one] >= 0).sum() for one in strata], dtype=float)


def task_mean(correct: Array, task: Array) -> Json:
    k, n = by_stratum(correct, [task == one for one in np.unique(task)])
    total = int(n.sum())
    if len(n) == 0 or n.min() == 0:
        return value(None, total, reason="zero_trials")
    if n.min() < 2:
        return value(float((k / n).mean()), total, flags=["stratum_too_small", *small(total)])
    p, ci = weighted(np.full(len(n), 1 / len(n)), k, n, np.ones(len(n)))
    return value(p, total, ci, small(total))


def bank_mix(correct: Array, ratings: Ratings, strata: Sequence[Json]) -> Json | None:
    """None where the cases were not drawn from strata, or a case is in none of them."""
    places = [(ratings.task == one["task"]) & (ratings.difficulty == one["difficulty"]) for one in strata]
    if not strata or not np.any(places, axis=0).all():
        return None
    size = np.array([one["n_pool"] for one in strata], dtype=float)
    k, n = (counts[size > 0] for counts in by_stratum(correct, places))
    size, total = size[size > 0], int(n.sum())
    if total == 0 or n.min() < 2:
        return value(None, total, flags=small(total), reason="stratum_too_small" if total else "zero_trials")
    p, ci = weighted(size / size.sum(), k, n, 1 - n / size)
    return value(p, total, ci, small(total))


# --- the bootstrap --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Panel:
    """The questions of one task, or all; ``unit``: what is drawn, a question or a cluster, counted from 0."""

    name: str
    ratings: Ratings
    answers: Array
    q: int
    correct: Array
    unit: Array
    clustered: bool
    settings: Json
    strata: Sequence[Json] = field(default_factory=list)
    planned: frozenset[frozenset[str]] = frozenset()  # the pairs of raters that the plan names; over all tasks only

    @property
    def n(self) -> int:
        return len(self.ratings.case)

    @property
    def m(self) -> int:
        return len(np.unique(self.unit))

    def generator(self, family: str) -> np.random.Generator:
        """PCG64, seeded with the seed of the study and SHA-256 of the names of panel and family."""
        words = int.from_bytes(hashlib.sha256(f"{self.name}\n{family}".encode()).digest(), "big")
        return np.random.Generator(np.random.PCG64([self.settings["seed"], words]))

    def drawn_units(self, family: str) -> Array:
        """How often each unit was drawn in each draw: m drawn out of m with replacement, shape (draws, m)."""
        rng, m = self.generator(family), self.m
        draws = range(self.settings["draws"])
        return np.array([np.bincount(rng.integers(m, size=m), minlength=m) for _draw in draws], dtype=float)

    def by_unit(self, columns: Array) -> Array:
        """Rows of questions added up by unit, shape (m, ...)."""
        found = np.zeros((self.m, *columns.shape[1:]))
        np.add.at(found, self.unit, columns)
        return found


def units(cluster: Array) -> Array:
    """Clusters in the order of their numbers; questions in their own order where none shares a cluster."""
    present, number = np.unique(cluster, return_inverse=True)
    return np.arange(len(cluster)) if len(present) == len(cluster) else number


def limits(replicates: Array, n: int, n_clusters: int | None) -> tuple[list[float] | None, float, list[str]]:
    """Percentile limits over the draws in which the statistic is defined, the share of the others, and flags."""
    defined = replicates[~np.isnan(replicates)]
    undefined = (len(replicates) - len(defined)) / len(replicates)
    flags = ["few_clusters"] * (n_clusters is not None and n_clusters < 10)
    flags += ["unstable_bootstrap"] * (undefined > 0.05)
    return (None if flags or n < 10 else np.percentile(defined, [2.5, 97.5]).tolist()), undefined, flags


# --- agreement of two raters ----------------------------------------------------------------------------------------
def divided(above: Array | float, below: Array | float) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.true_divide(above, below))


def beyond_chance(po: Array, pe: Array) -> Array:
    return np.where(np.abs(1 - pe) < 1e-12, NAN, divided(po - pe, 1 - pe))


def margins(tables: Array) -> tuple[Array, Array, Array]:
    """po, and the shares of the options of either rater, of tables of shape (..., q, q)."""
    p = divided(tables, tables.sum(axis=(-2, -1), keepdims=True))
    return np.trace(p, axis1=-2, axis2=-1), p.sum(axis=-1), p.sum(axis=-2)


def cohen_kappa(tables: Array) -> Array:
    po, rows, columns = margins(tables)
    return beyond_chance(po, (rows * columns).sum(axis=-1))


def of_options(tables: Array, q: int) -> dict[str, Array]:
    po, rows, columns = margins(tables)
    mean, pe = (rows + columns) / 2, (rows * columns).sum(axis=-1)
    return {
        "percent_agreement": po,
        "expected_agreement": pe,
        "cohen_kappa": beyond_chance(po, pe),
        "scott_pi": beyond_chance(po, (mean**2).sum(axis=-1)),
        "gwet_ac1": beyond_chance(po, (mean * (1 - mean)).sum(axis=-1) / (q - 1)),
        "brennan_prediger": beyond_chance(po, np.full_like(po, 1 / q)),
    }


def of_right_wrong(tables: Array, _q: int) -> dict[str, Array]:
    return {"error_consistency": cohen_kappa(tables)}


def of_outcomes(counts: Array, q: int) -> dict[str, Array]:
    """Of counts (both right, first only, second only, both wrong with the same option, with different ones)."""
    p = divided(counts, counts.sum(axis=-1, keepdims=True))
    a, b = p[..., 0] + p[..., 1], p[..., 0] + p[..., 2]
    independent = a * b + (1 - a) * (1 - b) / (q - 1)
    return {"agreement_if_independent": independent, "excess_agreement": p[..., 0] + p[..., 3] - independent}


def cohen_kappa_se(table: Array) -> float:
    """Fleiss, Cohen, Everitt 1969, unweighted; its bracket is a variance, of ``influence`` over the cells."""
    n = table.sum()
    _po, rows, columns = margins(table)
    pe, kappa = float((rows * columns).sum()), float(cohen_kappa(table))
    if n == 0 or math.isnan(kappa):
        return NAN
    influence = np.eye(len(table)) - (columns[:, None] + rows[None, :]) * (1 - kappa)
    mean = float((table / n * influence).sum())
    return math.sqrt(float((table / n * (influence - mean) ** 2).sum()) / n) / (1 - pe)


def cells_of_pair(panel: Panel, i: int, j: int) -> dict[str, tuple[Array, tuple[int, ...]]]:
    """Of each family of draws: the cell of its table that each question falls into (-1: none), and its shape."""
    x, y, key, q = panel.answers[i], panel.answers[j], panel.ratings.key, panel.q
    right_x, right_y = panel.correct[i], panel.correct[j]
    outcome = np.select([(x == key) & (y == key), x == key, y == key, x == y], [0, 1, 2, 3], 4)
    rated, counted = (x >= 0) & (y >= 0), (right_x >= 0) & (right_y >= 0)
    return {
        "options": (np.where(rated, q * x + y, -1), (q, q)),
        "right_wrong": (np.where(counted, 2 * right_x + right_y, -1), (2, 2)),
        "outcomes": (np.where(rated, outcome, -1), (5,)),
    }


def agreement_of_pair(panel: Panel, i: int, j: int, drawn: Array | None) -> Json:
    """``drawn``: how often each cluster was drawn; None: questions are drawn, of each table by itself."""
    found: Json = {}
    tables, draws = {}, panel.settings["draws"]
    statistics = {"options": of_options, "right_wrong": of_right_wrong, "outcomes": of_outcomes}
    for family, (cell, shape) in cells_of_pair(panel, i, j).items():
        columns = one_hot(cell, math.prod(shape))
        table, n = columns.sum(axis=0), int(columns.sum())
        tables[family], n_clusters = table.reshape(shape), None
        if drawn is not None:
            by_cluster = panel.by_unit(columns)
            again, n_clusters = drawn @ by_cluster, int(by_cluster.any(axis=1).sum())
        elif n:
            again = panel.generator(family).multinomial(n, table / n, size=draws)
        else:
            again = np.zeros((draws, len(table)))
        once, replicates = (statistics[family](one, panel.q) for one in (tables[family], again.reshape(draws, *shape)))
        shown = tables["right_wrong" if family == "right_wrong" else "options"]  # what the cautions are about
        for name in once:
            found[name] = pair_value(float(once[name]), replicates[name], shown, n_clusters)
    kappa, se = found["cohen_kappa"], cohen_kappa_se(tables["options"])
    flags = [] if math.isnan(se) else kappa["flags"]
    found["cohen_kappa_se"] = value(se, kappa["n"], flags=flags, reason=kappa["reason"])
    same, other = int(tables["outcomes"][3]), int(tables["outcomes"][4])
    return found | {"same_wrong_option": share(same, same + other)}


def one_hot(codes: Array, n_codes: int) -> Array:
    """Shape (questions, codes): 1 where the question has the code, negative codes nowhere."""
    return np.asarray(codes[:, None] == np.arange(n_codes), dtype=float)


def pair_value(number: float, replicates: Array, table: Array, n_clusters: int | None) -> Json:
    n = int(table.sum())
    ci, undefined, flags = limits(replicates, n, n_clusters)
    more: Json = {"bootstrap_undefined_fraction": undefined}
    if n == 0:
        return value(None, 0, reason="no_common_questions", **more)
    if math.isnan(number):
        return value(None, n, flags=small(n, 30), reason="expected_agreement_is_one", **more)
    constant = 1 in (np.count_nonzero(table.sum(axis=0)), np.count_nonzero(table.sum(axis=1)))
    return value(number, n, ci, [*flags, *small(n, 30), *["constant_rater"] * constant], **more)


# --- which of two raters is right more often ------------------------------------------------------------------------
def comparison_of_pair(panel: Panel, first: Array, second: Array, planned: bool) -> Json:
    counted = (first >= 0) & (second >= 0)
    x, y = first[counted], second[counted]
    a, b, c, d = (int(((x == i) & (y == j)).sum()) for i, j in ((1, 1), (1, 0), (0, 1), (0, 0)))
    n, post_hoc = a + b + c + d, ["post_hoc"]
    exact = ["clusters_ignored"] * panel.clustered if planned else post_hoc
    found: Json = {"table": {"both": a, "first_only": b, "second_only": c, "neither": d}}
    if n:
        found["difference"] = value((b - c) / n, n, tango(b, c, n), small(n))
        found["difference_newcombe"] = value((b - c) / n, n, newcombe(a, b, c, d), small(n))
        found["mcnemar_exact_p"] = value(min(1.0, 2 * at_most(min(b, c), b + c)), n, flags=exact)
        found["mcnemar_midp"] = value(mid_p(b, c), n, flags=post_hoc)
    else:
        nothing = value(None, 0, reason="no_common_questions")
        found |= dict.fromkeys(("difference", "difference_newcombe"), nothing)
        found |= {"mcnemar_exact_p": nothing | {"flags": exact}, "mcnemar_midp": nothing | {"flags": post_hoc}}
    nothing_differs = "no_variation" if n else "no_common_questions"
    found["mcnemar_chi2"] = chi_square((b - c) ** 2 / (b + c) if b + c else None, 1, n, nothing_differs)
    if panel.clustered:
        cluster = panel.ratings.cluster[counted]
        apart = np.array([(x - y)[cluster == one].sum() for one in np.unique(cluster)], dtype=float)
        size = np.array([(cluster == one).sum() for one in np.unique(cluster)], dtype=float)
        found["difference_cluster"] = cluster_difference(apart, size)
        m, squares = len(apart), float((apart**2).sum())
        chi2 = (m - 1) / m * float(apart.sum()) ** 2 / squares if squares and m > 1 else None
        found["cluster_mcnemar_chi2"] = chi_square(chi2, 1, n, "few_clusters" if squares else nothing_differs)
        found["cluster_mcnemar_chi2"] |= {"flags": [] if planned else post_hoc}
    return found


def tango(b: int, c: int, n: int) -> tuple[float, float]:
    """The differences that the score test does not reject at 5 %."""
    return -tango_upper(c, b, n), tango_upper(b, c, n)


def tango_upper(b: int, c: int, n: int) -> float:
    def score(delta: float) -> float:
        linear = (2 * n - b + c) * delta - b - c
        p21 = (math.sqrt(max(0.0, linear**2 + 8 * n * c * delta * (1 - delta))) - linear) / (4 * n)
        return b - c - n * delta + Z * math.sqrt(max(0.0, n * (2 * p21 + delta * (1 - delta))))

    if b == n:
        return 1.0
    start = (b - c) / n + 1e-9  # at the difference itself the score can be 0 as well, where b + c is 0 or n
    return float(optimize.brentq(score, start, 1.0, xtol=1e-15, rtol=1e-15, maxiter=500))


def newcombe(a: int, b: int, c: int, d: int) -> tuple[float, float]:
    """Square-and-add with Wilson's limits; the correlation is corrected where it is positive."""
    n = a + b + c + d
    p, r = (a + b) / n, (a + c) / n
    (p_low, p_high), (r_low, r_high) = wilson(p, n), wilson(r, n)
    above, below = a * d - b * c, math.sqrt((a + b) * (c + d) * (a + c) * (b + d))
    phi = (max(above - n / 2, 0) if above > 0 else above) / below if below else 0.0

    def half(one: float, other: float) -> float:
        return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))

    return p - r - half(p - p_low, r_high - r), p - r + half(p_high - p, r - r_low)


def at_most(k: int, n: int) -> float:
    return float(stats.binom.cdf(k, n, 0.5)) if n else 1.0


def mid_p(b: int, c: int) -> float:
    exactly = float(stats.binom.pmf(min(b, c), b + c, 0.5))
    if b == c:
        return 1 - exactly / 2 if b else 1.0
    return 2 * at_most(min(b, c), b + c) - exactly


def chi_square(chi2: float | None, df: int, n: int, reason: str) -> Json:
    p = None if chi2 is None else float(stats.chi2.sf(chi2, df))
    return value(chi2, n, flags=["post_hoc"], reason=reason, df=df, p=p)


def cluster_difference(apart: Array, size: Array) -> Json:
    """d +- t(m-1) SE of question differences added up by cluster."""
    n, m = int(size.sum()), len(size)
    if n == 0:
        return value(None, 0, reason="no_common_questions", difference_cluster_se=None, n_clusters=0)
    d = float(apart.sum()) / n
    whole = n * apart - apart.sum() * size  # n times the residuals: whole numbers, 0 where clusters do not differ
    se = math.sqrt(m / (m - 1) * float((whole**2).sum())) / n**2 if m > 1 else None
    flags = ["few_clusters"] * (m < 10) + ["no_variation"] * (se == 0)
    ci = None
    if se is not None and not flags:
        ci = max(-1.0, d - t_quantile(m - 1) * se), min(1.0, d + t_quantile(m - 1) * se)
    return value(d, n, ci, flags, difference_cluster_se=se, n_clusters=m)


# --- agreement of groups --------------------------------------------------------------------------------------------
def rating_counts(answers: Array, q: int) -> Array:
    """r_ik, how many raters chose k on question i."""
    return np.stack([(answers == option).sum(axis=0) for option in range(q)], axis=1).astype(float)


def group_coefficients(panel: Panel, answers: Array, weights: Array) -> dict[str, Array]:
    """Of the raters of ``answers``; ``weights``: how often each unit counts, shape (draws, m)."""
    q = panel.q
    r = rating_counts(answers, q)
    r_i = r.sum(axis=1)
    two = r_i >= 2
    agreed = np.where(two, (r * (r - 1)).sum(axis=1) / np.where(two, r_i * (r_i - 1), 1), 0)
    apart = np.where(two, (r_i**2 - (r**2).sum(axis=1)) / np.where(two, r_i - 1, 1), 0)  # ordered pairs / (r_i - 1)

    def total(columns: Array) -> Array:
        return np.asarray(weights @ panel.by_unit(columns))

    pa = divided(total(agreed), total(two.astype(float)))
    pi = divided(total(r / np.maximum(r_i, 1)[:, None]), total((r_i > 0).astype(float))[:, None])
    used = total(r * two[:, None])  # Krippendorff's n_k
    n = used.sum(axis=1)
    by_chance = divided(n**2 - (used**2).sum(axis=1), n - 1)
    varied = (used > 0).sum(axis=1) > 1
    return {
        "percent_agreement": pa,
        "fleiss_kappa": beyond_chance(pa, (pi**2).sum(axis=1)),
        "gwet_ac1": beyond_chance(pa, (pi * (1 - pi)).sum(axis=1) / (q - 1)),
        "brennan_prediger": beyond_chance(pa, np.full(len(pa), 1 / q)),
        "conger_kappa": beyond_chance(pa, conger_chance(panel, answers, weights)),
        "krippendorff_alpha_nominal": np.where(varied, 1 - divided(total(apart), by_chance), NAN),
    }


def conger_chance(panel: Panel, answers: Array, weights: Array) -> Array:
    """Sum of squared mean shares less sum of s_k^2/J, over the J raters who answered something in a draw."""
    chosen = np.stack([weights @ panel.by_unit(one_hot(one, panel.q)) for one in answers])  # (raters, draws, q)
    shares = np.ma.masked_invalid(divided(chosen, chosen.sum(axis=2, keepdims=True)))
    raters = (~np.ma.getmaskarray(shares)[:, :, 0]).sum(axis=0)
    expected = (shares.mean(axis=0) ** 2).sum(axis=1) - (shares.var(axis=0, ddof=1) / raters[:, None]).sum(axis=1)
    return np.where(raters > 1, np.ma.filled(expected, NAN), NAN)


def gwet_se(answers: Array, q: int, *, fleiss: bool) -> float | None:
    """Gwet's linearised standard error of Fleiss' kappa, or of AC1, over the questions with a rating."""
    r = rating_counts(answers, q)
    r = r[r.sum(axis=1) > 0]
    n, r_i = len(r), r.sum(axis=1)
    two = r_i >= 2
    if n < 2 or not two.any():
        return None
    share_i = r / r_i[:, None]
    pi, pa_i = share_i.mean(axis=0), np.zeros(n)
    pa_i[two] = ((r * (r - 1)).sum(axis=1))[two] / (r_i * (r_i - 1))[two]
    pa = pa_i[two].mean()
    pe_i = share_i @ (pi if fleiss else (1 - pi) / (q - 1))
    pe = (pi**2).sum() if fleiss else (pi * (1 - pi)).sum() / (q - 1)
    if abs(1 - pe) < 1e-12:
        return None
    kappa = (pa - pe) / (1 - pe)
    k_i = n / two.sum() * (pa_i - pe * two) / (1 - pe) - 2 * (1 - kappa) * (pe_i - pe) / (1 - pe)
    return math.sqrt(float(((k_i - kappa) ** 2).sum()) / (n * (n - 1)))


def cochran_q(correct: Array) -> Json:
    complete = correct[:, (correct >= 0).all(axis=0)]
    raters, n = complete.shape
    if raters < 2 or n == 0:
        return chi_square(None, max(0, raters - 1), n, "one_rater" if raters < 2 else "no_common_questions")
    of_rater, of_question = complete.sum(axis=1), complete.sum(axis=0)
    below = float((of_question * (raters - of_question)).sum())
    above = (raters - 1) * (raters * float((of_rater**2).sum()) - float(of_rater.sum()) ** 2)
    return chi_square(above / below if below else None, raters - 1, n, "no_variation")


def groups_of(panel: Panel) -> Json:
    readers = panel.ratings.readers
    weights = panel.drawn_units("groups")
    means = mean_kappas(panel, weights)
    found: Json = {}
    for name, rows in {"readers": readers, "models": ~readers, "all": readers | True}.items():
        answers = panel.answers[rows]
        found[name] = {"n_raters": len(answers), **group_agreement(panel, answers, weights)}
        found[name]["fleiss_kappa"]["se"] = gwet_se(answers, panel.q, fleiss=True)
        found[name]["gwet_ac1"]["se"] = gwet_se(answers, panel.q, fleiss=False)
        found[name]["cochran_q"] = cochran_q(panel.correct[rows])
        found[name]["light_kappa"] = means[name]
    found["readers"]["mean_kappa_readers"] = means["readers"]
    found["all"]["mean_kappa_reader_model"] = means["mixed"]
    found["all"]["mean_kappa_difference"] = means["difference"]
    return found


COEFFICIENTS = (
    *("percent_agreement", "fleiss_kappa", "gwet_ac1", "brennan_prediger", "conger_kappa"),
    "krippendorff_alpha_nominal",
)


def group_agreement(panel: Panel, answers: Array, weights: Array) -> Json:
    paired = (answers >= 0).sum(axis=0) >= 2
    n, n_clusters = int(paired.sum()), len(np.unique(panel.unit[paired])) if panel.clustered else None
    if n == 0:
        reason = "one_rater" if len(answers) < 2 else "no_common_questions"
        return {name: value(None, 0, reason=reason, bootstrap_undefined_fraction=None) for name in COEFFICIENTS}
    once = group_coefficients(panel, answers, np.ones((1, panel.m)))
    drawn = group_coefficients(panel, answers, weights)
    reasons = dict.fromkeys(once, "expected_agreement_is_one") | {"krippendorff_alpha_nominal": "no_variation"}
    return {name: group_value(float(once[name][0]), drawn[name], n, n_clusters, reasons[name]) for name in once}


def group_value(number: float, replicates: Array, n: int, n_clusters: int | None, reason: str) -> Json:
    ci, undefined, flags = limits(replicates, n, n_clusters)
    cautions = [] if math.isnan(number) else flags  # of limits that there are not
    return value(number, n, ci, [*cautions, *small(n, 30)], reason, bootstrap_undefined_fraction=undefined)


def mean_kappas(panel: Panel, weights: Array) -> Json:
    """Means of the kappas of all pairs of readers, of models, of all, of mixed pairs; and readers less mixed."""
    answers, q = panel.answers, panel.q
    pairs, tables, draws, rated = list(combinations(range(len(answers)), 2)), [], [], []
    for i, j in pairs:
        rated.append((answers[i] >= 0) & (answers[j] >= 0))
        columns = one_hot(np.where(rated[-1], q * answers[i] + answers[j], -1), q * q)
        tables.append(columns.sum(axis=0).reshape(q, q))
        draws.append(cohen_kappa((weights @ panel.by_unit(columns)).reshape(-1, q, q)))
    kind = np.array([panel.ratings.readers[[i, j]].sum() for i, j in pairs], dtype=int)  # readers in the pair

    def mean(chosen: Array, minus: Array | None = None) -> Json:
        parts = [np.flatnonzero(one) for one in (chosen, minus) if one is not None]
        if not all(map(len, parts)):
            return value(None, 0, reason="one_rater", bootstrap_undefined_fraction=None)
        numbers = [np.mean([cohen_kappa(tables[pair]) for pair in part]) for part in parts]
        replicates = [np.mean([draws[pair] for pair in part], axis=0) for part in parts]
        used = [rated[pair] for part in parts for pair in part]
        n = min(int(one.sum()) for one in used)
        fewest = min(len(np.unique(panel.unit[one])) for one in used) if panel.clustered else None
        reason = "expected_agreement_is_one" if n else "no_common_questions"
        if minus is None:
            return group_value(float(numbers[0]), replicates[0], n, fewest, reason)
        return group_value(float(numbers[0] - numbers[1]), replicates[0] - replicates[1], n, fewest, reason)

    return {
        "readers": mean(kind == 2),
        "models": mean(kind == 0),
        "all": mean(kind >= 0),
        "mixed": mean(kind == 1),
        "difference": mean(kind == 2, kind == 1),
    }


# --- one panel ------------------------------------------------------------------------------------------------------
def panels_of(
    ratings: Ratings, settings: Json, strata: Sequence[Json], planned: frozenset[frozenset[str]]
) -> list[Panel]:
    """By cluster throughout, once any cluster has two questions."""
    clustered = len(np.unique(ratings.cluster)) < len(ratings.cluster)
    found = []
    for name in (ALL, *TASKS):
        part = ratings if name == ALL else ratings.only(ratings.task == name)
        if name == ALL or len(part.case):
            answers, q = answers_of(part, settings)
            correct = correct_of(part, settings)
            drawn, named = units(part.cluster), planned if name == ALL else frozenset()
            found.append(Panel(name, part, answers, q, correct, drawn, clustered, settings, strata, named))
    return found


def panel_of(panel: Panel) -> Json:
    ratings = panel.ratings
    order = [*np.flatnonzero(~ratings.readers), *np.flatnonzero(ratings.readers)]  # a model stands before a reader
    drawn = panel.drawn_units("pairs") if panel.clustered else None
    pairs = []
    for i, j in combinations(order, 2):
        entry = {"first": ratings.names[i], "second": ratings.names[j], **agreement_of_pair(panel, i, j, drawn)}
        planned = frozenset((entry["first"], entry["second"])) in panel.planned
        pairs.append(entry | comparison_of_pair(panel, panel.correct[i], panel.correct[j], planned))
    return {
        "n": panel.n,
        "n_clusters": panel.m,
        "unit": "cluster" if panel.clustered else "question",
        "raters": [rater_of(panel, row) for row in range(len(ratings.names))],
        "pairs": pairs,
        "groups": groups_of(panel),
    }


def rater_of(panel: Panel, row: int) -> Json:
    ratings, correct = panel.ratings, panel.correct[row]
    k, n = int((correct == 1).sum()), int((correct >= 0).sum())
    found: Json = {"name": ratings.names[row], "kind": "reader" if ratings.readers[row] else "model"}
    found |= {"n": n, "n_correct": k} | {f"n_{one}": int((ratings.state[row] == one).sum()) for one in STATES}
    found |= {"accuracy": accuracy(correct), "accuracy_clopper_pearson": clopper_pearson(k, n)}
    if ratings.asks_guesses:
        guesses = ratings.guess[row][ratings.state[row] == "declined"]
        found["n_guessed"] = int((guesses >= 0).sum())
        found["accuracy_best_guess"] = accuracy(correct_with_guesses(ratings, panel.correct)[row])
    if panel.clustered:
        found["accuracy_cluster"] = cluster_accuracy(correct, ratings.cluster)
    if panel.name == ALL:
        found["accuracy_task_mean"] = task_mean(correct, ratings.task)
        mix = bank_mix(correct, ratings, panel.strata)
        if mix is not None:
            found["accuracy_bank_mix"] = mix
    return found


# --- models against the mean of the readers -------------------------------------------------------------------------
RANDOM, FIXED = "random_readers_random_questions", "fixed_readers_random_questions"
FIXED_QUESTIONS = "random_readers_fixed_questions"
PLANNED = "each model minus the mean of the readers, all tasks"
INFERENCES = {
    "random readers, random questions": RANDOM,
    "fixed readers, random questions": FIXED,
    "random readers, fixed questions": FIXED_QUESTIONS,
}


def inference(mean: float, variance: float, df: float, lowest: float, *, tested: bool, flags: Sequence[str]) -> Json:
    se = math.sqrt(variance)
    found: Json = {"se": se, "df": df, "flags": list(flags), "reason": None}
    for name, confidence in (("ci95", 0.95), ("ci90", 0.90)):
        half = t_quantile(df, (1 + confidence) / 2) * se
        found[name] = [max(lowest, mean - half), min(1.0, mean + half)]
    return found | {"p": 2 * float(stats.t.sf(abs(mean) / se, df)) if tested else None}


def no_inference(reason: str) -> Json:
    return dict.fromkeys(("se", "df", "ci95", "ci90", "p")) | {"flags": [], "reason": reason}


def multi_reader(y: Array, n_dropped: int, primary: str, *, tested: bool) -> Json:
    """Two-way mean squares of y, shape (readers, questions), and three inferences; ``primary`` is that of the plan."""
    (readers, questions), lowest = y.shape, -1.0 if tested else 0.0
    found: Json = {"n_readers": readers, "n_questions": questions, "n_dropped": n_dropped}
    found |= dict.fromkeys(("ms_reader", "ms_question", "ms_residual"))
    if y.size == 0:
        reason = "no_common_questions" if readers else "one_rater"
        found |= {one: no_inference(reason) for one in (RANDOM, FIXED, FIXED_QUESTIONS)} | {"mean": None}
        return value(None, questions, reason=reason) | found
    mean, of_reader, of_question = float(y.mean()), y.mean(axis=1), y.mean(axis=0)
    few = ["few_readers"] * (readers < 5)
    readers_alike, questions_alike = len(set(y.sum(axis=1))) == 1, len(set(y.sum(axis=0))) == 1

    def t_test(variance: float, df: float, flags: Sequence[str]) -> Json:
        return inference(mean, variance, df, lowest, tested=tested, flags=flags)

    fixed = no_inference("no_variation")
    if not questions_alike:
        fixed = t_test(of_question.var(ddof=1) / questions, questions - 1, [])
    random = fixed_questions = no_inference("no_variation" if readers > 1 else "one_rater")
    if readers > 1 and not readers_alike:
        fixed_questions = t_test(of_reader.var(ddof=1) / readers, readers - 1, few)
    if readers > 1 and questions > 1:
        rest = y - of_reader[:, None] - of_question + mean
        msr, msc = questions * of_reader.var(ddof=1), readers * of_question.var(ddof=1)
        mse = float((rest**2).sum()) / ((readers - 1) * (questions - 1))
        found |= {"ms_reader": float(msr), "ms_question": float(msc), "ms_residual": mse}
        above = float(msr + max(msc - mse, 0))
        if readers_alike:
            random = fixed | {"flags": [*few, "as_fixed_readers"]}
        else:
            random = t_test(above / (readers * questions), above**2 / (msr**2 / (readers - 1)), few)
    found |= {RANDOM: random, FIXED: fixed, FIXED_QUESTIONS: fixed_questions, "mean": mean}
    flags = list(dict.fromkeys([*small(questions), *found[primary]["flags"]]))
    return value(mean, questions, found[primary]["ci95"], flags) | found


def mrmc_of(panel: Panel, plan: Json) -> Json:
    correct, is_reader = panel.correct, panel.ratings.readers
    named = INFERENCES.get(str(plan["inference"]).strip().lower(), RANDOM)
    primary = FIXED if is_reader.sum() == 1 else named
    readers = correct[is_reader]
    complete = (readers >= 0).all(axis=0)
    models = {}
    for row in np.flatnonzero(~is_reader):
        used = complete & (correct[row] >= 0)
        used = used if len(readers) else np.ones_like(used)
        y = (correct[row] - readers)[:, used].astype(float)
        models[panel.ratings.names[row]] = multi_reader(y, int((~used).sum()), primary, tested=True)
    of_readers = multi_reader(readers[:, complete].astype(float), int((~complete).sum()), primary, tested=False)
    for one in (of_readers, *models.values()):
        one["method"] = primary
    return {"readers": of_readers, "models": models}


def comparisons_of(mrmc: Json, plan: Json) -> list[Json]:
    planned = plan["primary"] == PLANNED and str(plan["inference"]).strip().lower() in INFERENCES
    whole = [comparison(ALL, name, one, planned, plan["margin"]) for name, one in mrmc["models"].items()]
    by_task = [
        comparison(task, name, one, False, plan["margin"])
        for task, panel in mrmc["tasks"].items()
        for name, one in panel["models"].items()
    ]
    return [*holm(whole), *holm(by_task)]


def comparison(panel: str, name: str, found: Json, planned: bool, margin: float | None) -> Json:
    chosen = found[found["method"]]
    flags, ci95, ci90 = [*found["flags"], *["post_hoc"] * (not planned)], chosen["ci95"], chosen["ci90"]
    told = None if ci95 is None or not margin else margin
    p = value(chosen["p"], found["n"], flags=flags, reason=chosen["reason"] or found["reason"])
    return {
        "planned": planned,
        "panel": panel,
        "first": name,
        "difference": value(found["value"], found["n"], ci95, flags, found["reason"]),
        "p": p,
        "ci90": ci90,
        "margin": margin,
        "superior": None if ci95 is None else ci95[0] > 0,
        "non_inferior": None if told is None else ci95[0] > -told,
        "equivalent": None if told is None else -told < ci90[0] and ci90[1] < told,
    }


def holm(family: list[Json]) -> list[Json]:
    """The i-th smallest of m p values times m - i + 1, never below the one before it, at most 1."""
    ranked = sorted((one for one in family if one["p"]["value"] is not None), key=lambda one: float(one["p"]["value"]))
    highest = 0.0
    for rank, one in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - rank) * one["p"]["value"]))
        one["p_holm"] = one["p"] | {"value": highest}
    return [{"p_holm": one["p"]} | one for one in family]


# --- the pairs that the plan names ----------------------------------------------------------------------------------
def pairs_named(analysis: Json) -> list[tuple[list[str], str]]:
    """Two raters each, or the words of the plan with the reason why they mean no two raters; these come last.

    A model is meant by its name, and by its name and version, whichever of the two the analysis calls it.
    """
    found: list[tuple[list[str], str]] = []
    for words in analysis["plan"].get("pairs", []):
        (one, why), (other, why_not) = (raters_meant(word, analysis["raters"]) for word in words)
        two = [[a, b] for a in one for b in other if a != b]
        if not two:
            found.append((words, why or why_not or ("one_rater" if one and other else "no_such_rater")))
        for names in two:
            if all(set(names) != set(before) for before, reason in found if not reason):
                found.append((names, ""))
    return sorted(found, key=lambda one: bool(one[1]))


def raters_meant(word: str, raters: Sequence[Json]) -> tuple[list[str], str]:
    if word in ("each reader", "each model"):
        return [one["name"] for one in raters if one["kind"] == word.removeprefix("each ")], ""
    meant = []
    for one in raters:
        names, version = [one["name"]], f" {one.get('version', '')}" if one["kind"] == "model" else ""
        if version.strip():
            names += [one["name"] + version, *([one["name"][: -len(version)]] if one["name"].endswith(version) else [])]
        if any(" ".join(name.split()).casefold() == " ".join(word.split()).casefold() for name in names):
            meant.append(one["name"])
    return (meant, "") if len(meant) == 1 else ([], "several_raters" if meant else "no_such_rater")


def comparisons_of_pairs(pairs: Sequence[Json], named: list[tuple[list[str], str]]) -> list[Json]:
    """``pairs``: those of all tasks. Holm over those that have a p."""
    family = []
    for (first, second), reason in named:
        if reason:
            nothing = value(None, 0, reason=reason)
            family.append({"first": first, "second": second, "table": None, "difference": nothing, "p": nothing})
        else:
            [pair] = [one for one in pairs if {one["first"], one["second"]} == {first, second}]
            known = ("first", "second", "table", "difference", "difference_cluster", "cluster_mcnemar_chi2")
            family.append({name: pair[name] for name in known if name in pair} | {"p": pair["mcnemar_exact_p"]})
    return [one | {"family": "planned pairs", "planned": True, "panel": ALL} for one in holm(family)]


# --- time per case --------------------------------------------------------------------------------------------------
def time_of(ratings: Ratings) -> Json:
    counted = np.isin(ratings.state, ("answered", "declined")) & ~ratings.censored & ~np.isnan(ratings.active_ms)
    readers = ratings.readers
    seconds, position = np.where(counted, ratings.active_ms / 1000, NAN)[readers], ratings.position[readers]
    quiet = np.where(ratings.disturbed[readers], NAN, seconds)
    every = seconds[~np.isnan(seconds)]
    fence = np.inf
    if len(every):
        q1, q3 = np.percentile(np.log(every), [25, 75])
        fence = np.exp(q3 + 3 * (q3 - q1))
    slope, se, df = adjusted_slope(seconds, position)
    return {
        "readers": [
            time_of_reader(ratings, row, seconds[place]) for place, row in enumerate(np.flatnonzero(readers).tolist())
        ],
        "all": {
            **middle(every),
            "pooled_log_slope_adjusted": slope | {"se": se, "df": df},
            "percent_per_ten": per_ten(slope),
            "log_time_variance_components": variance_components(seconds),
        },
        "sensitivity": {
            "winsorised": middle(np.minimum(every, fence)),
            "without_quiet_or_blurred": middle(quiet[~np.isnan(quiet)]),
        },
    }


def middle(seconds: Array) -> Json:
    """Quartiles of type 7; geometric mean with the t interval of the mean logarithm."""
    n = len(seconds)
    if n == 0:
        return {name: value(None, 0, reason="zero_trials") for name in ("median", "q1", "q3", "geometric_mean")}
    found = {name: value(np.quantile(seconds, at), n) for name, at in (("q1", 0.25), ("median", 0.5), ("q3", 0.75))}
    logs, ci = np.log(seconds), None
    if n > 1:
        half = t_quantile(n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
        ci = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
    return found | {"geometric_mean": value(math.exp(logs.mean()), n, ci)}


def time_of_reader(ratings: Ratings, row: int, seconds: Array) -> Json:
    placed = ~np.isnan(seconds) & (ratings.position[row] > 0)
    logs, position, n = np.log(seconds[placed]), ratings.position[row][placed].astype(float), int(placed.sum())
    slope = rank = value(None, n, reason="no_variation")
    if n >= 3 and np.ptp(position) > 0:
        x, y = position - position.mean(), logs - logs.mean()
        b = float((x * y).sum() / (x**2).sum())
        half = t_quantile(n - 2) * math.sqrt(float(((y - b * x) ** 2).sum() / (n - 2) / (x**2).sum()))
        slope = value(b, n, (b - half, b + half))
    if n >= 2 and np.ptp(position) > 0 and np.ptp(logs) > 0:
        ranks = stats.rankdata(seconds[placed]), stats.rankdata(position)
        rank = value(float(np.corrcoef(*ranks)[0, 1]), n)
    return {
        "name": ratings.names[row],
        **middle(seconds[~np.isnan(seconds)]),
        "n_censored": int(ratings.censored[row].sum()),
        "log_slope_per_position": slope,
        "percent_per_ten": per_ten(slope),
        "spearman_time_vs_position": rank,
    }


def per_ten(slope: Json) -> Json:
    def percent(one: float) -> float:
        return 100 * math.expm1(10 * one)

    if slope["value"] is None:
        return slope
    ci = None if slope["ci95"] is None else [percent(one) for one in slope["ci95"]]
    return slope | {"value": percent(slope["value"]), "ci95": ci}


def adjusted_slope(seconds: Array, position: Array) -> tuple[Json, float | None, int]:
    """Least squares of log seconds on position, reader and question; the means of questions are taken off first."""
    reader, question = np.nonzero(~np.isnan(seconds) & (position > 0))
    n, number = len(reader), np.unique(question, return_inverse=True)[1]
    dummies = (reader[:, None] == np.unique(reader)).astype(float)
    columns = np.column_stack([np.log(seconds[reader, question]), position[reader, question], dummies])
    sums = np.zeros((len(np.unique(question)), columns.shape[1]))
    np.add.at(sums, number, columns)
    within = columns - (sums / np.bincount(number, minlength=len(sums))[:, None])[number] if n else columns
    y, x, others = within[:, 0], within[:, 1], within[:, 2:]
    rank = int(np.linalg.matrix_rank(others)) if others.size else 0
    df = n - len(sums) - rank - 1
    left = x - others @ np.linalg.lstsq(others, x, rcond=None)[0] if n else x  # of position, beyond reader and question
    if df < 1 or float(left @ left) < 1e-9:
        return value(None, n, reason="no_variation"), None, max(df, 0)
    design = np.column_stack([x, others])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    rest = y - design @ coefficients
    slope, se = float(coefficients[0]), math.sqrt(float(rest @ rest) / df / float(left @ left))
    half = t_quantile(df) * se
    return value(slope, n, (slope - half, slope + half)), se, df


def variance_components(seconds: Array) -> Json | None:
    """Balanced two-way analysis of variance of log seconds, over the questions with a time of every reader."""
    logs = np.log(seconds[:, ~np.isnan(seconds).any(axis=0)])
    readers, questions = logs.shape
    if readers < 2 or questions < 2:
        return None
    of_reader, of_question = logs.mean(axis=1), logs.mean(axis=0)
    rest = logs - of_reader[:, None] - of_question + logs.mean()
    mse = float((rest**2).sum()) / ((readers - 1) * (questions - 1))
    msr, msc = questions * float(of_reader.var(ddof=1)), readers * float(of_question.var(ddof=1))
    return {
        "reader": max((msr - mse) / questions, 0.0),
        "question": max((msc - mse) / readers, 0.0),
        "residual": mse,
        "n_readers": readers,
        "n": questions,
    }


# --- tables and cases -----------------------------------------------------------------------------------------------
def tables_of(ratings: Ratings, correct: Array) -> Json:
    def by(name: str, values: Array) -> list[Json]:
        """Most questions first, then by name."""
        size = {str(one): int((values == one).sum()) for one in np.unique(values)}
        found = []
        for word in sorted(size, key=lambda one: (-size[one], one)):
            rows = zip(ratings.names, correct[:, values == word], strict=True)
            found.append({name: word, "n": size[word], "accuracy": {rater: accuracy(row) for rater, row in rows}})
        return found

    sure = correct_with_guesses(ratings, correct)  # who cannot tell says how likely the guess is right
    confidence, positions = [], []
    for row in np.flatnonzero(ratings.readers):
        said, place = ratings.confidence[row], ratings.position[row]
        if said.any():
            steps = {str(chance): accuracy(sure[row][said == chance]) for chance in CHANCES}
            confidence.append({"name": ratings.names[row], "accuracy": steps})
        if (place > 0).any():
            order = sorted(np.flatnonzero(place > 0), key=lambda case: int(place[case]))
            parts = [part for part in np.array_split(np.array(order), 10) if len(part)]
            blocks = [
                {"from": int(place[part[0]]), "to": int(place[part[-1]]), "accuracy": accuracy(correct[row][part])}
                for part in parts
            ]
            positions.append({"name": ratings.names[row], "blocks": blocks})
    return {
        "categories": by("category", ratings.category),
        "difficulties": by("difficulty", ratings.difficulty),
        "confidence": confidence,
        "positions": positions,
    }


def items_of(ratings: Ratings, correct: Array) -> Json:
    """Voided cases, too. A sign for each answer: see docs of the program."""
    right, counted = correct == 1, correct >= 0
    scored = ratings.voided != "before_unblinding"
    return {
        "case": ratings.case.tolist(),
        "question": ratings.question.tolist(),
        "case_id": ratings.case_id.tolist(),
        "cluster": ratings.cluster.tolist(),
        "task": ratings.task.tolist(),
        "category": ratings.category.tolist(),
        "difficulty": ratings.difficulty.tolist(),
        "voided": [word.partition("_")[0] for word in ratings.voided.tolist()],
        "key": "".join(LETTERS[key] for key in ratings.key.tolist()),
        "answers": {
            name: "".join(map(sign, ratings.state[row].tolist(), ratings.option[row].tolist()))
            for row, name in enumerate(ratings.names)
        },
        "n_right": right.sum(axis=0).tolist(),
        "n_counted": counted.sum(axis=0).tolist(),
        "discrimination": [discrimination(correct, case, scored) for case in range(correct.shape[1])],
        "missed_by_all": np.flatnonzero((counted.sum(axis=0) >= 2) & ~right.any(axis=0)).tolist(),
    }


def sign(state: str, option: int) -> str:
    if state in ("answered", "unconfirmed"):
        return LETTERS[option]
    if state == "late" and option >= 0:
        return LETTERS[option].lower()
    return {"": " ", "missing": ".", "declined": "?", "timed_out": "t", "late": "t", "failed": "x"}[state]


def discrimination(correct: Array, case: int, scored: Array) -> float | None:
    """Correlation over raters of being right on this case with the share right on their other scored cases."""
    counted = correct[:, case] >= 0
    others = correct[counted][:, scored & (np.arange(len(scored)) != case)]
    here = correct[counted, case].astype(float)
    n = (others >= 0).sum(axis=1)
    rest = np.where(n > 0, (others == 1).sum(axis=1) / np.maximum(n, 1), 0.0)
    if not len(here):
        return None
    x, y = here - here.mean(), rest - rest.mean()
    below = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / below if below > 1e-12 else None


# --- all of it ------------------------------------------------------------------------------------------------------
def parts_of(ratings: Ratings, analysis: Json) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every part of one result with its place in analysis.json, over these questions and answers."""
    settings, plan = analysis["settings"], analysis["plan"]
    named = pairs_named(analysis)
    two = frozenset(frozenset(names) for names, reason in named if not reason)
    panels = panels_of(ratings, settings, analysis["strata"], two)
    computed: dict[str, Json] = {}
    for panel in panels:
        computed[panel.name] = panel_of(panel)
        yield ("panels", panel.name), computed[panel.name]
    first, *others = [mrmc_of(panel, plan) for panel in panels]
    mrmc = first | {"tasks": {panel.name: one for panel, one in zip(panels[1:], others, strict=True)}}
    yield ("mrmc",), mrmc
    yield ("comparisons",), [*comparisons_of(mrmc, plan), *comparisons_of_pairs(computed[ALL]["pairs"], named)]
    yield ("time",), time_of(ratings)
    yield ("tables",), tables_of(ratings, panels[0].correct)


def order_of(ratings: Ratings, correct: Array) -> list[str]:
    """Readers, then models by accuracy."""
    models = sorted(np.flatnonzero(~ratings.readers), key=lambda row: -(accuracy(correct[row])["value"] or 0.0))
    return [ratings.names[row] for row in (*np.flatnonzero(ratings.readers), *models)]


def excluded_of(voided: Ratings, stored: list[Json]) -> list[Json]:
    """The voided cases; readers who are no raters stand in analysis.json only."""
    columns = zip(voided.case.tolist(), voided.question.tolist(), voided.voided.tolist(), strict=True)
    cases: list[Json] = [{"case": case, "question": question, "decided": when} for case, question, when in columns]
    return cases + [one for one in stored if one["kind"] == "reader"]


def everything(ratings: Ratings, analysis: Json) -> Iterator[tuple[tuple[str, ...], Any]]:
    before, after = ratings.voided == "before_unblinding", ratings.voided == "after_unblinding"
    primary = ratings.only(~before)
    counts = {"n_cases": len(before), "n_scored": int((~before).sum())}
    counts |= {"n_voided_before_unblinding": int(before.sum()), "n_voided_after_unblinding": int(after.sum())}
    yield ("questions",), counts
    yield ("excluded",), excluded_of(ratings.only(before | after), analysis["excluded"])
    yield from parts_of(primary, analysis)
    yield ("order",), order_of(primary, correct_of(primary, analysis["settings"]))
    yield ("items",), items_of(ratings, correct_of(ratings, analysis["settings"]))
    variants = {}
    if before.any():
        variants["with_voided"] = ratings
    if after.any():
        variants["without_all_voided"] = ratings.only(~before & ~after)
    meant = (primary.slip >= 0) & np.isin(primary.state, ("answered", "unconfirmed"))
    if (primary.slip != primary.option)[meant].any():
        variants["with_slips"] = replace(primary, option=np.where(meant, primary.slip, primary.option))
    for name, variant in variants.items():
        yield ("variants", name, "n"), len(variant.case)
        for place, part in parts_of(variant, analysis):
            yield ("variants", name, *place), part


# --- comparing ------------------------------------------------------------------------------------------------------
P_VALUES = {"p", "p_holm", "mcnemar_exact_p", "mcnemar_midp"}
GIVEN = ("settings", "plan", "raters", "strata", "software")  # what the computation starts from
MOST_SHOWN = 50  # differences of one part


@dataclass
class Tally:
    """What one part came to: numbers compared, and the places where something differs or was not computed."""

    n: int = 0
    different: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.n += other.n
        self.different += other.different
        self.not_checked += other.not_checked

    def compare(self, stored: Any, computed: Any, place: str) -> None:
        """Of words, those that are computed, too: flags, reasons, names."""
        if isinstance(stored, dict) and isinstance(computed, dict):
            for name in {**stored, **computed}:
                if name not in stored:
                    self.different.append(f"{place}.{name}: not in analysis.json, computed {computed[name]!r}")
                elif name in computed:
                    self.compare(stored[name], computed[name], f"{place}.{name}")
                else:
                    self.not_checked += numbers_in(stored[name], f"{place}.{name}")
        elif place.endswith(".flags") and isinstance(stored, list):
            self._leaf(sorted(stored), sorted(computed), place)
        elif isinstance(stored, list) and isinstance(computed, list) and len(stored) == len(computed):
            for number, (one, other) in enumerate(zip(stored, computed, strict=True)):
                self.compare(one, other, f"{place}[{named(one, number)}]")
        else:
            self._leaf(stored, computed, place)

    def _leaf(self, stored: Any, computed: Any, place: str) -> None:
        self.n += is_number(stored) or is_number(computed)
        if not is_equal(stored, computed, place):
            self.different.append(f"{place}: analysis.json {stored!r}, computed {computed!r}")


def named(one: Any, number: int) -> str:
    """An entry of a list by whom it is about, where it says so."""
    words = [str(one[name]) for name in ("panel", "name", "first", "second") if isinstance(one, dict) and name in one]
    return ", ".join(words) or str(number)


def numbers_in(tree: Any, place: str) -> list[str]:
    if isinstance(tree, dict):
        return [found for name, one in tree.items() for found in numbers_in(one, f"{place}.{name}")]
    if isinstance(tree, list):
        return [found for number, one in enumerate(tree) for found in numbers_in(one, f"{place}[{named(one, number)}]")]
    return [place] if is_number(tree) else []


def is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def is_equal(stored: Any, computed: Any, place: str) -> bool:
    if not is_number(stored) or not is_number(computed):
        return type(stored) is type(computed) and bool(stored == computed)
    if P_VALUES.intersection(place.split(".")):
        return math.isclose(stored, computed, rel_tol=1e-7)
    return math.isclose(stored, computed, rel_tol=1e-9, abs_tol=1e-12)


def found_at(analysis: Json, place: Sequence[str]) -> Any:
    found: Any = analysis
    for name in place:
        found = found.get(name) if isinstance(found, dict) else None
    return found


def not_reached(analysis: Any, reached: set[tuple[str, ...]], place: tuple[str, ...] = ()) -> list[str]:
    """Numbers of analysis.json in parts that nothing here computes, and that are not given."""
    if place in reached or place[:1] in {(name,) for name in GIVEN}:
        return []
    if isinstance(analysis, dict) and any(one[: len(place)] == place for one in reached):
        return [found for name, one in analysis.items() for found in not_reached(one, reached, (*place, name))]
    return numbers_in(analysis, ".".join(place))


def main(folder: Path) -> int:
    try:
        analysis = json.loads((folder / "analysis.json").read_text(encoding="utf-8"))
        ratings, correct = read_ratings(folder / "data" / "ratings.csv", analysis)
    except (OSError, ValueError, KeyError) as error:
        print(f"The files cannot be read: {type(error).__name__}: {error}")
        return 2
    settings, software = analysis["settings"], analysis.get("software", {})
    print(f"{analysis['study']}: {len(ratings.names)} raters, {len(ratings.case)} cases")
    print(f"seed {settings['seed']}, {settings['draws']} bootstrap draws of PCG64")
    here = f"numpy {np.__version__}, scipy {scipy.__version__}"
    print(f"here {here}; analysed with numpy {software.get('numpy', '?')}, scipy {software.get('scipy', '?')}")
    total, reached = Tally(), set[tuple[str, ...]]()
    computed = correct_of(ratings, settings).tolist()
    report("ratings.csv, correct", correct.tolist(), computed, total)
    for place, part in everything(ratings, analysis):
        reached.add(place)
        report(", ".join(place), found_at(analysis, place), part, total)
    total.not_checked += not_reached(analysis, reached)
    given = [one for name in GIVEN for one in numbers_in(analysis.get(name), name)]
    print(f"{total.n} numbers compared; {len(total.not_checked)} of analysis.json not checked")
    for one in total.not_checked:
        print(f"  not checked: {one}")
    print(f"given, not computed: {', '.join(given)}")
    if total.different:
        print(f"{len(total.different)} differ")
    else:
        print("some not checked" if total.not_checked else "all equal")
    return 1 if total.different or total.not_checked else 0


def report(name: str, stored: Any, computed: Any, total: Tally) -> None:
    tally = Tally()
    tally.compare(stored, computed, name)
    outcome = f"{len(tally.different)} differ" if tally.different else "equal"
    print(f"{name:<50}{tally.n:>9} numbers  {outcome}", flush=True)
    for one in tally.different[:MOST_SHOWN]:
        print(f"  {one}")
    if len(tally.different) > MOST_SHOWN:
        print(f"  and {len(tally.different) - MOST_SHOWN} more")
    total.add(tally)


if __name__ == "__main__":
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # names in letters that the terminal does not have
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent))
