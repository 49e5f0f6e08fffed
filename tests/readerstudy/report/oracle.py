"""Every number of an analysis computed again from the ratings, by other code than that of the program: an oracle.

It shares no code with the kernels. Given are seed, number of draws, rules, the plan, the names and the order of raters,
the sizes of the strata of the bank, and the cases that no rater was given. Everything else of analysis.json is computed
from data/ratings.csv, runs.csv and experts.csv and compared: numbers to 1e-9 of their size, p values to 1e-7.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize, special, stats

Array = np.ndarray[Any, np.dtype[Any]]
Json = dict[str, Any]

LETTERS = "ABCD"
TASKS = ("presence", "negation", "differential", "location", "geometric")  # the order of the panels
BEFORE, DECLARED = "before_unblinding", "declared_with_readings"  # left out; the second stated with the readings
# of a Ratings, what has no cases along it
OF_RATERS = ("names", "readers", "post_hoc", "counted", "numbers", "repeats", "asks_guesses")
OF_CASES = ("question", "case_id", "cluster", "task", "category", "difficulty", "key")
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
    post_hoc: Array  # bool: a model that came or was chosen after unblinding
    counted: Array  # bool: one on which other numbers depend
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
    doubted: Array
    guess: Array
    model_confidence: Array  # percent; nan: none
    expert_n: Array  # of shape (cases,), from data/experts.csv: blind answers of reviewers, and those with the key
    expert_right: Array
    numbers: dict[str, int]  # of the run that represents a model, as analysis.json has them
    repeats: list[tuple[str, int]]  # model and number of each of its further runs
    repeat_state: Array  # of shape (runs, cases), from data/runs.csv; as state and option
    repeat_option: Array
    asks_guesses: bool  # whether the study asked for best guesses after "cannot tell"

    def only(self, kept: Array) -> Ratings:
        names = [one.name for one in fields(self) if one.name not in OF_RATERS]
        return replace(self, **{name: getattr(self, name)[..., kept] for name in names})


def read_ratings(path: Path, analysis: Json) -> tuple[Ratings, Array]:
    """The ratings, and the column ``correct`` of the file: it is computed anew and compared, never used."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]
    about = {int(row["case"]): row for row in rows}
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
        np.array([bool(one.get("post_hoc")) for one in analysis["raters"]], dtype=bool),
        np.array([one["name"] not in uncounted_models(analysis["raters"]) for one in analysis["raters"]], dtype=bool),
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
        doubted=of_ratings("doubted", lambda text: text == "1", False),
        guess=of_ratings("best_guess", LETTERS.index, -1),
        model_confidence=of_ratings("model_confidence", float, NAN),
        numbers={one["name"]: one["number"] for one in analysis["raters"] if "number" in one},
        expert_n=read_experts(path.with_name("experts.csv"), "n", columns),
        expert_right=read_experts(path.with_name("experts.csv"), "right", columns),
        **read_repeats(path.with_name("runs.csv"), columns),
        asks_guesses=bool(rows) and "best_guess" in rows[0],
    )
    return ratings, of_ratings("correct", int, -1)


def read_experts(path: Path, name: str, columns: Mapping[int, int]) -> Array:
    """A count of each case; there is no file where no reviewer answered blind."""
    found = np.zeros(len(columns), dtype=int)
    if path.is_file():
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                found[columns[int(row["case"])]] = int(row[name])
    return found


def read_repeats(path: Path, columns: Mapping[int, int]) -> dict[str, Any]:
    """The further runs of models; there is no file where no model has one."""
    rows: list[dict[str, str]] = []
    if path.is_file():
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]
    runs = list(dict.fromkeys((row["model"], int(row["run"])) for row in rows))
    state, option = np.full((len(runs), len(columns)), "missing", dtype="U20"), np.full((len(runs), len(columns)), -1)
    for row in rows:
        at = runs.index((row["model"], int(row["run"]))), columns[int(row["case"])]
        state[at], option[at] = row["state"], LETTERS.index(row["option"]) if row["option"] else -1
    return {"repeats": runs, "repeat_state": state, "repeat_option": option}


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
    return right_or_wrong(ratings.state, ratings.option, ratings.key, wrong)


def right_or_wrong(state: Array, option: Array, key: Array, wrong: Sequence[str]) -> Array:
    chosen = np.isin(state, ("answered", "unconfirmed"))
    return np.where(chosen, option == key, np.where(np.isin(state, wrong), 0, -1)).astype(int)


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
    """A number as it is in analysis.json; without one there is a reason and no interval."""
    if number is None or math.isnan(number):
        return {"value": None, "ci95": None, "n": n, "flags": list(flags), "reason": reason, **more}
    limits = None if ci is None else [float(ci[0]), float(ci[1])]
    return {"value": float(number), "ci95": limits, "n": n, "flags": list(flags), "reason": None, **more}


def small(n: int, fewest: int = 10) -> list[str]:
    return ["small_n"] if 0 < n < fewest else []


def t_quantile(df: float, share: float = 0.975) -> float:
    return float(stats.t.ppf(share, df))


# --- shares ---------------------------------------------------------------------------------------------------------
def wilson(p: float, n: float, z: float = Z) -> tuple[float, float]:
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
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
    """Wilson's with n over the design effect, if above 1, and t(m-1); at p = 0 or 1 with m for n; else plain.

    SE = sqrt(m/(m-1) sum e_g^2)/n.
    """
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
        ci = wilson(p, n / max(effect, 1.0), t_quantile(m - 1)) if m < n else wilson(p, n)
    flags = ["few_clusters"] * (m < 10 and m < n) + small(n)
    more: Json = {"accuracy_cluster_se": se, "design_effect": effect, "n_clusters": m}
    return value(p, n, None if "few_clusters" in flags else ci, flags, **more)


def weighted(weights: Array, k: Array, n: Array, factor: Array) -> tuple[float, tuple[float, float], float | None]:
    """Sum of W_h p_h, Wilson's limits and n_eff = p*(1-p*)/v with v = sum of W_h^2 p~_h(1-p~_h) factor_h.

    p~_h = (k_h + 2P)/(n_h + 2), P the share of all together, p* = sum of W_h p~_h. Where all are right or all wrong
    n_eff is 1/sum of W_h^2 factor_h; where nothing is left to draw the limits are the value.
    """
    p = min(1.0, max(0.0, float((weights * k / n).sum())))
    if not factor.any():
        return p, (p, p), None
    shrunk = (k + 2 * k.sum() / n.sum()) / (n + 2)
    about = float((weights * shrunk).sum())
    above, below = about * (1 - about), float((weights**2 * shrunk * (1 - shrunk) * factor).sum())
    if k.sum() in (0, n.sum()):
        above, below = 1.0, float((weights**2 * factor).sum())
    return p, wilson(p, above / below), above / below


def by_stratum(correct: Array, strata: Sequence[Array]) -> tuple[Array, Array]:
    k = np.array([(correct[one] == 1).sum() for one in strata], dtype=float)
    return k, np.array([(correct[one] >= 0).sum() for one in strata], dtype=float)


def task_mean(correct: Array, task: Array, clustered: bool) -> Json:
    k, n = by_stratum(correct, [task == one for one in np.unique(task)])
    total = int(n.sum())
    if len(n) == 0 or n.min() == 0:
        return value(None, total, reason="zero_trials")
    if n.min() < 5:
        return value(float((k / n).mean()), total, flags=["stratum_too_small", *small(total)])
    p, ci, _n_eff = weighted(np.full(len(n), 1 / len(n)), k, n, 1 / (n - 1))
    return value(p, total, ci, [*small(total), *["clusters_ignored"] * clustered])


def bank_mix(correct: Array, ratings: Ratings, strata: Sequence[Json], clustered: bool) -> Json | None:
    """None where the cases were not drawn from strata, or a case is in none of them.

    The difficulties of a task are one stratum where fewer than two cases of one of them count.
    """
    cells = [(ratings.task == one["task"]) & (ratings.difficulty == one["difficulty"]) for one in strata]
    if not strata or not np.any(cells, axis=0).all():
        return None
    of_task: dict[str, list[tuple[int, Array]]] = {}
    for one, cell in zip(strata, cells, strict=True):
        if one["n_pool"]:
            of_task.setdefault(one["task"], []).append((one["n_pool"], cell))
    used, merged = [], []
    for task, parts in of_task.items():
        if len(parts) > 1 and min(int((correct[cell] >= 0).sum()) for _size, cell in parts) < 2:
            merged.append(task)
            parts = [(sum(size for size, _cell in parts), np.any([cell for _size, cell in parts], axis=0))]
        used += parts
    size = np.array([one for one, _cell in used], dtype=float)
    k, n = by_stratum(correct, [cell for _size, cell in used])
    total = int(n.sum())
    if total == 0:
        return value(None, 0, reason="zero_trials", n_effective=None, merged_tasks=[])
    flags = [*["strata_merged"] * bool(merged), *small(total)]
    if n.min() < 2:
        return value(None, total, None, flags, "stratum_too_small", n_effective=None, merged_tasks=merged)
    p, ci, n_eff = weighted(size / size.sum(), k, n, (1 - n / size) / n)
    flags += ["clusters_ignored"] * clustered
    return value(p, total, ci, flags, n_effective=n_eff, merged_tasks=merged)


# --- the bootstrap --------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class PanelAnswers:
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
    flags += ["no_variation"] * bool(n >= 10 and len(defined) and np.ptp(defined) < 1e-12)
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
    (a, b), (c, d) = np.moveaxis(np.asarray(tables, dtype=float), (-2, -1), (0, 1))
    phi = divided(a * d - b * c, np.sqrt((a + b) * (c + d) * (a + c) * (b + d)))
    return {"error_consistency": cohen_kappa(tables), "phi": phi}


def of_outcomes(counts: Array, _q: int) -> dict[str, Array]:
    """Of counts (both right, first only, second only, both wrong with the same option, with different ones)."""
    p = divided(counts, counts.sum(axis=-1, keepdims=True))
    a, b = p[..., 0] + p[..., 1], p[..., 0] + p[..., 2]
    independent = a * b + (1 - a) * (1 - b) / (len(LETTERS) - 1)
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


def cells_of_pair(panel: PanelAnswers, i: int, j: int) -> dict[str, tuple[Array, tuple[int, ...]]]:
    """Of each family of draws: the cell of its table that each question falls into (-1: none), and its shape.

    ``outcomes`` are of valid answers, an option each, under both rules for failed extractions.
    """
    x, y, key, q = panel.answers[i], panel.answers[j], panel.ratings.key, panel.q
    right_x, right_y = panel.correct[i], panel.correct[j]
    outcome = np.select([(x == key) & (y == key), x == key, y == key, x == y], [0, 1, 2, 3], 4)
    rated, counted = (x >= 0) & (y >= 0), (right_x >= 0) & (right_y >= 0)
    valid = rated & (x < len(LETTERS)) & (y < len(LETTERS))
    return {
        "options": (np.where(rated, q * x + y, -1), (q, q)),
        "right_wrong": (np.where(counted, 2 * right_x + right_y, -1), (2, 2)),
        "outcomes": (np.where(valid, outcome, -1), (5,)),
        "valid": (np.where(valid, len(LETTERS) * x + y, -1), (len(LETTERS), len(LETTERS))),
    }


STATISTICS = {"options": of_options, "right_wrong": of_right_wrong, "outcomes": of_outcomes}
WITHOUT_VALUE = {"phi": "no_variation"}  # why it is undefined; others: nothing is left to correct for chance
OF_AGREEMENT = ("percent_agreement", "brennan_prediger")  # of how often the two agree, and nothing else


def agreement_of_pair(panel: PanelAnswers, i: int, j: int, drawn: Array | None) -> Json:
    """``drawn``: how often each cluster was drawn; None: questions are drawn, of each table by itself."""
    found: Json = {}
    tables, clusters = {}, dict[str, int | None]()
    cells = cells_of_pair(panel, i, j)
    by_cell = {family: one_hot(cell, math.prod(shape)) for family, (cell, shape) in cells.items()}
    for family, columns in by_cell.items():
        tables[family] = columns.sum(axis=0).reshape(cells[family][1])
        clusters[family] = None if drawn is None else int(panel.by_unit(columns).any(axis=1).sum())
    for family, statistics in STATISTICS.items():
        again = redrawn(panel, family, by_cell[family], drawn).reshape(-1, *cells[family][1])
        once, replicates = (statistics(one, panel.q) for one in (tables[family], again))
        shown = "valid" if family == "outcomes" else family  # what the cautions are about
        for name in once:
            if drawn is None and name in OF_AGREEMENT:
                found[name] = agreement_by_wilson(name, tables["options"])
            else:
                found[name] = pair_value(name, float(once[name]), replicates[name], tables[shown], clusters[shown])
    kappa, se = found["cohen_kappa"], cohen_kappa_se(tables["options"])
    flags = [] if math.isnan(se) else kappa["flags"]
    found["cohen_kappa_se"] = value(se, kappa["n"], flags=flags, reason=kappa["reason"])
    same, other = int(tables["outcomes"][3]), int(tables["outcomes"][4])
    if same + other < 5:
        found["excess_agreement"] = without_common_errors(found["excess_agreement"])
    return found | {"same_wrong_option": share(same, same + other)}


def without_common_errors(found: Json) -> Json:
    few = {"ci95": None, "flags": [*found["flags"], "few_common_errors"]}
    return found if found["value"] is None else found | few


def redrawn(panel: PanelAnswers, family: str, columns: Array, drawn: Array | None) -> Array:
    """The table of ``columns`` in every draw, shape (draws, cells)."""
    n, draws = int(columns.sum()), panel.settings["draws"]
    if drawn is not None:
        return np.asarray(drawn @ panel.by_unit(columns))
    if not n:
        return np.zeros((draws, columns.shape[1]))
    return panel.generator(family).multinomial(n, columns.sum(axis=0) / n, size=draws)


def agreement_by_wilson(name: str, table: Array) -> Json:
    """Share of the same option with Wilson's limits; or (share - 1/q)/(1 - 1/q) and the limits alike."""
    n, agreed, less = int(table.sum()), int(np.trace(table)), 1 / len(table) * (name == "brennan_prediger")
    more: Json = {"bootstrap_undefined_fraction": None}
    if n == 0:
        return value(None, 0, reason="no_common_questions", **more)
    number, *ci = ((one - less) / (1 - less) for one in (agreed / n, *wilson(agreed / n, n)))
    return value(number, n, ci if n >= 10 else None, agreement_flags(table), **more)


def agreement_flags(table: Array) -> list[str]:
    return ["few_disagreements"] * bool(table.sum() - np.trace(table) < 5) + small(int(table.sum()), 30)


def one_hot(codes: Array, n_codes: int) -> Array:
    """Shape (questions, codes): 1 where the question has the code, negative codes nowhere."""
    return np.asarray(codes[:, None] == np.arange(n_codes), dtype=float)


def pair_value(name: str, number: float, replicates: Array, table: Array, n_clusters: int | None) -> Json:
    """No limits where the two agree on all questions or on none."""
    n = int(table.sum())
    ci, undefined, flags = limits(replicates, n, n_clusters)
    more: Json = {"bootstrap_undefined_fraction": undefined}
    if n == 0:
        return value(None, 0, reason="no_common_questions", **more)
    if math.isnan(number):
        return value(None, n, flags=small(n, 30), reason=WITHOUT_VALUE.get(name, "expected_agreement_is_one"), **more)
    if n >= 10 and np.trace(table) in (0, n):
        ci, flags = None, [*flags, *["no_variation"] * ("no_variation" not in flags)]
    constant = name not in OF_AGREEMENT and 1 in [int(np.count_nonzero(table.sum(axis=axis))) for axis in (0, 1)]
    return value(number, n, ci, [*flags, *agreement_flags(table), *["constant_rater"] * constant], **more)


# --- which of two raters is right more often ------------------------------------------------------------------------
def comparison_of_pair(panel: PanelAnswers, first: Array, second: Array, planned: bool) -> Json:
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


def group_coefficients(panel: PanelAnswers, answers: Array, weights: Array) -> dict[str, Array]:
    """Of the raters of ``answers``; ``weights``: how often each unit counts, shape (draws, m)."""
    q, two = panel.q, (answers >= 0).sum(axis=0) >= 2
    answers = np.where(two, answers, -1)  # questions with fewer than two ratings are dropped
    r = rating_counts(answers, q)
    r_i = r.sum(axis=1)
    agreed = np.where(two, (r * (r - 1)).sum(axis=1) / np.where(two, r_i * (r_i - 1), 1), 0)
    apart = np.where(two, (r_i**2 - (r**2).sum(axis=1)) / np.where(two, r_i - 1, 1), 0)  # ordered pairs / (r_i - 1)

    def total(columns: Array) -> Array:
        return np.asarray(weights @ panel.by_unit(columns))

    n_questions, used = total(two.astype(float)), total(r)  # used: Krippendorff's n_k
    pa = divided(total(agreed), n_questions)
    pi = divided(total(r / np.maximum(r_i, 1)[:, None]), n_questions[:, None])
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


def conger_chance(panel: PanelAnswers, answers: Array, weights: Array) -> Array:
    """Sum of squared mean shares less sum of s_k^2/J, over the J raters who answered something in a draw."""
    chosen = np.stack([weights @ panel.by_unit(one_hot(one, panel.q)) for one in answers])  # (raters, draws, q)
    shares = np.ma.masked_invalid(divided(chosen, chosen.sum(axis=2, keepdims=True)))
    raters = (~np.ma.getmaskarray(shares)[:, :, 0]).sum(axis=0)
    expected = (shares.mean(axis=0) ** 2).sum(axis=1) - (shares.var(axis=0, ddof=1) / raters[:, None]).sum(axis=1)
    return np.where(raters > 1, np.ma.filled(expected, NAN), NAN)


def gwet_se(answers: Array, q: int, *, fleiss: bool) -> float | None:
    """Gwet's linearised standard error of Fleiss' kappa, or of AC1, over the questions with two ratings or more."""
    r = rating_counts(answers, q)
    r = r[r.sum(axis=1) >= 2]
    n, r_i = len(r), r.sum(axis=1)
    if n < 2:
        return None
    share_i = r / r_i[:, None]
    pi, pa_i = share_i.mean(axis=0), (r * (r - 1)).sum(axis=1) / (r_i * (r_i - 1))
    pe_i = share_i @ (pi if fleiss else (1 - pi) / (q - 1))
    pa, pe = pa_i.mean(), (pi**2).sum() if fleiss else (pi * (1 - pi)).sum() / (q - 1)
    if abs(1 - pe) < 1e-12:
        return None
    kappa = (pa - pe) / (1 - pe)
    k_i = (pa_i - pe) / (1 - pe) - 2 * (1 - kappa) * (pe_i - pe) / (1 - pe)
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


def groups_of(panel: PanelAnswers) -> Json:
    readers, kept = panel.ratings.readers, panel.ratings.counted
    weights = panel.drawn_units("groups")
    found: Json = {}
    for name, rows in {"readers": readers, "models": ~readers & kept, "all": kept}.items():
        answers = panel.answers[rows]
        found[name] = {"n_raters": len(answers), **group_agreement(panel, answers, weights)}
        found[name]["fleiss_kappa"]["se"] = gwet_se(answers, panel.q, fleiss=True)
        found[name]["gwet_ac1"]["se"] = gwet_se(answers, panel.q, fleiss=False)
        found[name]["cochran_q"] = cochran_q(panel.correct[rows])
    for group, means in means_over_pairs(panel, weights).items():
        found[group] |= means
    return found


COEFFICIENTS = (
    *("percent_agreement", "fleiss_kappa", "gwet_ac1", "brennan_prediger", "conger_kappa"),
    "krippendorff_alpha_nominal",
)


def group_agreement(panel: PanelAnswers, answers: Array, weights: Array) -> Json:
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


@dataclass(frozen=True)
class PairMeasures:
    """One pair: readers in it, whether any case was given to both, the cases that both had wrong, and of each measure
    the cases behind it (bool), the number, and that of every draw."""

    readers: int
    shares_cases: bool
    common_errors: int
    cases: dict[str, Array]
    number: dict[str, float]
    draws: dict[str, Array]


def measures_of_pair(panel: PanelAnswers, i: int, j: int, weights: Array) -> PairMeasures:
    cells, given = cells_of_pair(panel, i, j), panel.ratings.state != ""
    wrong, shares = int((cells["outcomes"][0] >= 3).sum()), bool((given[i] & given[j]).any())
    found = PairMeasures(int(panel.ratings.readers[[i, j]].sum()), shares, wrong, {}, {}, {})
    for measure, family, statistic in (
        ("kappa", "options", "cohen_kappa"),
        ("excess", "outcomes", "excess_agreement"),
        ("error_consistency", "right_wrong", "error_consistency"),
    ):
        cell, shape = cells[family]
        columns = one_hot(cell, math.prod(shape))
        found.cases[measure] = cell >= 0
        found.number[measure] = float(STATISTICS[family](columns.sum(axis=0).reshape(shape), panel.q)[statistic])
        again = (weights @ panel.by_unit(columns)).reshape(-1, *shape)
        found.draws[measure] = STATISTICS[family](again, panel.q)[statistic]
    return found


def means_over_pairs(panel: PanelAnswers, weights: Array) -> Json:
    """Light's kappa of every group; of three measures the means over pairs of readers, over mixed pairs, and readers
    less mixed. Pairs to whom no case was given in common are left out of these."""
    kept = np.flatnonzero(panel.ratings.counted).tolist()
    pairs = [measures_of_pair(panel, i, j, weights) for i, j in combinations(kept, 2)]
    within, mixed = ([one for one in pairs if one.readers == n] for n in (2, 1))

    def mean(measure: str, *groups: list[PairMeasures]) -> Json:
        """Over the pairs of the first group, less that over those of the second."""
        if not all(groups):
            return value(None, 0, reason="one_rater", bootstrap_undefined_fraction=None)
        used = [[one for one in group if one.shares_cases or measure == "light"] for group in groups]
        if not all(used):
            return value(None, 0, reason="no_common_questions", bootstrap_undefined_fraction=None)
        of = "kappa" if measure == "light" else measure
        numbers = [np.mean([one.number[of] for one in group]) for group in used]
        draws = [np.mean([one.draws[of] for one in group], axis=0) for group in used]
        cases = [one.cases[of] for group in used for one in group]
        n = min(int(one.sum()) for one in cases)
        fewest = min(len(np.unique(panel.unit[one])) for one in cases) if panel.clustered else None
        reason = "expected_agreement_is_one" if n else "no_common_questions"
        number, replicates = (one[0] - one[1] if len(groups) == 2 else one[0] for one in (numbers, draws))
        found = group_value(float(number), np.asarray(replicates), n, fewest, reason)
        few = measure == "excess" and any(one.common_errors < 5 for group in used for one in group)
        return without_common_errors(found) if few else found

    found: Json = {
        "readers": {"light_kappa": mean("light", within)},
        "models": {"light_kappa": mean("light", [one for one in pairs if one.readers == 0])},
        "all": {"light_kappa": mean("light", pairs)},
    }
    for measure in ("kappa", "excess", "error_consistency"):
        found["readers"][f"mean_{measure}_readers"] = mean(measure, within)
        found["all"][f"mean_{measure}_reader_model"] = mean(measure, mixed)
        found["all"][f"mean_{measure}_difference"] = mean(measure, within, mixed)
    for name, group in (("n_pairs_readers", within), ("n_pairs_reader_model", mixed)):
        found["all"][name] = sum(one.shares_cases for one in group)
    return found


# --- one panel ------------------------------------------------------------------------------------------------------
def panels_of(
    ratings: Ratings, settings: Json, strata: Sequence[Json], planned: frozenset[frozenset[str]]
) -> list[PanelAnswers]:
    """By cluster throughout, once any cluster has two questions."""
    clustered = len(np.unique(ratings.cluster)) < len(ratings.cluster)
    found = []
    for name in (ALL, *TASKS):
        part = ratings if name == ALL else ratings.only(ratings.task == name)
        if name == ALL or len(part.case):
            answers, q = answers_of(part, settings)
            correct = correct_of(part, settings)
            drawn, named = units(part.cluster), planned if name == ALL else frozenset()
            found.append(PanelAnswers(name, part, answers, q, correct, drawn, clustered, settings, strata, named))
    return found


def panel_of(panel: PanelAnswers) -> Json:
    ratings = panel.ratings
    order = [*np.flatnonzero(~ratings.readers), *np.flatnonzero(ratings.readers)]  # a model comes before a reader
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
        **expert_ceiling_of(ratings),
        "raters": [rater_of(panel, row) for row in range(len(ratings.names))],
        "pairs": pairs,
        "groups": groups_of(panel),
    }


def expert_ceiling_of(ratings: Ratings) -> Json:
    """Each blind answer as a trial of its cluster; without any, nothing."""
    answers = [[1] * k + [0] * (n - k) for k, n in zip(ratings.expert_right, ratings.expert_n, strict=True)]
    y = np.array([one for case in answers for one in case], dtype=int)
    if not len(y):
        return {}
    cluster = np.repeat(ratings.cluster, ratings.expert_n)
    found = {"expert_ceiling": share(int(y.sum()), len(y))}
    if len(np.unique(cluster)) < len(y):
        found["expert_ceiling_cluster"] = cluster_accuracy(y, cluster)
    return found


def rater_of(panel: PanelAnswers, row: int) -> Json:
    ratings, correct = panel.ratings, panel.correct[row]
    k, n = int((correct == 1).sum()), int((correct >= 0).sum())
    found: Json = {"name": ratings.names[row], "kind": "reader" if ratings.readers[row] else "model"}
    found |= {"n": n, "n_correct": k} | {f"n_{one}": int((ratings.state[row] == one).sum()) for one in STATES}
    found |= {"accuracy": accuracy(correct), "accuracy_clopper_pearson": clopper_pearson(k, n)}
    if missing := found["n_missing"]:
        found |= {
            "accuracy_missing_wrong": share(k, n + missing),
            "accuracy_missing_right": share(k + missing, n + missing),
        }
    if ratings.asks_guesses:
        guesses = ratings.guess[row][ratings.state[row] == "declined"]
        found["n_guessed"] = int((guesses >= 0).sum())
        found["accuracy_best_guess"] = accuracy(correct_with_guesses(ratings, panel.correct)[row])
    if panel.clustered:
        found["accuracy_cluster"] = cluster_accuracy(correct, ratings.cluster)
    if panel.name == ALL:
        found["accuracy_task_mean"] = task_mean(correct, ratings.task, panel.clustered)
        mix = bank_mix(correct, ratings, panel.strata, panel.clustered)
        if mix is not None:
            found["accuracy_bank_mix"] = mix
        if not ratings.readers[row]:
            found["runs"] = runs_of(panel, row)
    return found


def right_of_runs(panel: PanelAnswers, row: int) -> dict[int, Array]:
    """Every run of a model: the one in the ratings, whose number is given, and those in runs.csv."""
    ratings, name = panel.ratings, panel.ratings.names[row]
    wrong = ["failed"] * (panel.settings["failed_in_accuracy"] == "wrong")
    right = right_or_wrong(ratings.repeat_state, ratings.repeat_option, ratings.key, wrong)
    of_run = {ratings.numbers.get(name, 1): panel.correct[row]}
    return of_run | {number: right[place] for place, (model, number) in enumerate(ratings.repeats) if model == name}


def share_of_runs(panel: PanelAnswers, row: int, numbers: Sequence[int]) -> Array:
    """Question by question how many of these runs are right, of those that count; nan: none does."""
    found = np.full(panel.n, NAN)
    of_run = right_of_runs(panel, row)
    for question in range(panel.n):
        counted = [int(of_run[number][question]) for number in numbers if of_run[number][question] >= 0]
        if counted:
            found[question] = counted.count(1) / len(counted)
    return found


def runs_of(panel: PanelAnswers, row: int) -> Json:
    of_run = right_of_runs(panel, row)
    shares = [{"number": number} | accuracy(of_run[number]) for number in sorted(of_run)]
    values, n = [one["value"] for one in shares], len(shares)
    mean = sd = value(None, n, reason="zero_trials")
    if None not in values:
        mean = value(float(np.mean(values)), n)
        sd = value(float(np.std(values, ddof=1)) if n > 1 else None, n, reason="too_few")
    return {"n_runs": n, "accuracy_of_runs": shares, "accuracy_run_mean": mean, "accuracy_run_sd": sd}


# --- models against the mean of the readers -------------------------------------------------------------------------
RANDOM, FIXED = "random_readers_random_questions", "fixed_readers_random_questions"
FIXED_QUESTIONS = "random_readers_fixed_questions"
PLANNED = "each model minus the mean of the readers, all tasks"
INFERENCES = {
    "random readers, random questions": RANDOM,
    "fixed readers, random questions": FIXED,
    "random readers, fixed questions": FIXED_QUESTIONS,
}


def t_limits(mean: float, se: float, df: float, share: float, lowest: float) -> list[float]:
    half = t_quantile(df, share) * se
    return [max(lowest, mean - half), min(1.0, mean + half)]


def inference(mean: float, variance: float, df: float, flags: Sequence[str], *, tested: bool) -> Json:
    se, lowest = math.sqrt(variance), -1.0 if tested else 0.0
    return {
        "se": se,
        "df": df,
        "ci95": t_limits(mean, se, df, 0.975, lowest),
        "ci90": t_limits(mean, se, df, 0.95, lowest),
        "p": 2 * float(stats.t.sf(abs(mean) / se, df)) if tested else None,
        "flags": list(flags),
        "reason": None,
    }


def no_inference(reason: str, flags: Sequence[str] = ()) -> Json:
    return dict.fromkeys(("se", "df", "ci95", "ci90", "p")) | {"flags": list(flags), "reason": reason}


NO_MOVER: Json = dict.fromkeys(("mover_ci95", "mover_ci90", "mover_p"))


def mover_half(parts: tuple[float, float, int], level: float) -> float:
    """Half the width at a two-sided level: A with t of the readers, B with z. Asked for thousands of times."""
    reader, case, n_readers = parts
    t, z = special.stdtrit(n_readers - 1, level / 2), special.ndtri(level / 2)
    return math.sqrt(t**2 * reader + z**2 * max(case, 0.0))


def mover_p(parts: tuple[float, float, int], distance: float) -> float:
    """Two-sided: the level at which the half width is the distance; of 0 it is 1."""
    if abs(distance) < 1e-15:
        return 1.0
    level = optimize.brentq(lambda power: mover_half(parts, 10**power) - abs(distance), -40, 0, xtol=1e-14, rtol=1e-14)
    return float(10**level)


def mover_above(parts: tuple[float, float, int], distance: float) -> float:
    """One-sided p that the mean is no more than so far below."""
    half = mover_p(parts, distance) / 2
    return half if distance >= 0 else 1 - half


def no_unit(reason: str) -> Json:
    found: Json = {one: no_inference(reason) for one in (RANDOM, FIXED, FIXED_QUESTIONS)}
    return found | {"n_units": 0, "reader_part": None, "case_part": None} | NO_MOVER


def two_parts(off: Array, weight: Array) -> tuple[float, float]:
    """What readers and units add to the variance, from products of cells of two different readers.

    ``off`` and ``weight`` hold sums over the questions of a unit, shape (readers, units). Cells that share neither have
    nothing in common, so that the mean of their products is minus the variance of the mean; of those that share the
    unit alone it is what units add, less that.
    """
    products = dict.fromkeys(("apart", "weight apart", "unit", "weight of unit"), 0.0)
    for one, other in combinations(range(len(off)), 2):
        same, weight_same = float(off[one] @ off[other]), float(weight[one] @ weight[other])
        products["unit"] += 2 * same
        products["weight of unit"] += 2 * weight_same
        products["apart"] += 2 * (float(off[one].sum() * off[other].sum()) - same)
        products["weight apart"] += 2 * (float(weight[one].sum() * weight[other].sum()) - weight_same)
    total = -products["apart"] / products["weight apart"]
    if not products["weight of unit"]:
        return rounded(total), 0.0
    of_unit = products["unit"] / products["weight of unit"] + total
    case = float((weight.sum(axis=0) ** 2).sum()) * of_unit
    return rounded(total - case), rounded(case)


def rounded(number: float) -> float:
    return 0.0 if abs(number) < 1e-14 else number


def by_unit(off: Array, weight: Array, mean: float, constant: bool, fewest: int, *, tested: bool) -> Json:
    """Three inferences from the sums over units."""
    (readers, units), lowest = off.shape, -1.0 if tested else 0.0
    few = ["few_readers"] * (readers < 5)
    found: Json = {"n_units": units, "reader_part": None, "case_part": None} | NO_MOVER
    found |= {FIXED: no_inference("no_variation" if constant or units > 1 else "too_few")}
    fixed = rounded(units / (units - 1) * float((off.sum(axis=0) ** 2).sum())) if units > 1 else 0.0
    if fixed:
        found[FIXED] = inference(mean, fixed, units - 1, [], tested=tested)
    found |= dict.fromkeys((RANDOM, FIXED_QUESTIONS), no_inference("one_rater"))
    if readers > 1:
        none = no_inference("no_variation" if constant else "too_few", few)
        found |= dict.fromkeys((RANDOM, FIXED_QUESTIONS), none)
    if readers > 1 and units > 1:
        reader, case = two_parts(off, weight)
        found |= {"reader_part": reader, "case_part": case}
        total = reader + max(case, 0.0)
        if constant:
            pass
        elif reader <= 0:
            found[RANDOM] = found[FIXED] | {"flags": [*few, "as_fixed_readers"]}
            found[FIXED_QUESTIONS] = no_inference("no_variation", few)
        else:
            found[RANDOM] = inference(mean, total, total**2 / (reader**2 / (readers - 1)), few, tested=tested)
            found[FIXED_QUESTIONS] = inference(mean, reader, readers - 1, few, tested=tested)
            parts = (reader, case, readers)
            for name, level in (("mover_ci95", 0.05), ("mover_ci90", 0.1)):
                half = mover_half(parts, level)
                found[name] = [max(lowest, mean - half), min(1.0, mean + half)]
            found["mover_p"] = mover_p(parts, mean) if tested else None
            if readers < 5 and units >= fewest:
                found[RANDOM] |= dict.fromkeys(("ci95", "ci90", "p"))
    return found if units >= fewest else without_limits(found)


def without_limits(found: Json) -> Json:
    """Of fewer than ten clusters errors alone."""
    for one in (RANDOM, FIXED, FIXED_QUESTIONS):
        if found[one]["se"] is not None:
            none = dict.fromkeys(("ci95", "ci90", "p"))
            found[one] = found[one] | none | {"flags": [*found[one]["flags"], "few_clusters"]}
    return found | NO_MOVER


def shown_inference(unit: Json, name: str) -> tuple[Json, bool]:
    """Of fewer than five random readers with MOVER's limits and p, where there are such."""
    found: Json = unit[name]
    if name != RANDOM or "few_readers" not in found["flags"] or unit["mover_ci95"] is None:
        return found, False
    return found | {one: unit[f"mover_{one}"] for one in ("ci95", "ci90", "p")}, True


@dataclass(frozen=True)
class Design:
    """Cells that count, of shape (readers, questions), and what else there might have been."""

    y: Array
    counted: Array
    answered: Array  # by the model; shape (questions,)
    given: Array  # to the reader
    cluster: Array | None
    absent: int  # readers of the plan without a row
    planned: str  # the inference of the plan
    tested: bool  # a difference, not a mean


def multi_reader(design: Design) -> Json:
    """The mean with each question once, its variance by questions and, where they share exams, by these."""
    counted = design.counted
    busy, used = (np.asarray(counted.any(axis=axis)) for axis in (1, 0))
    missed = (design.given & design.answered & ~counted)[busy]
    cells, missing = int(counted.sum()), int(missed.sum())
    dropped, lost = len(used) - int(used.sum()), design.absent + int((design.given.any(axis=1) & ~busy).sum())
    flags = small(int(used.sum())) + ["readers_dropped"] * (lost > 0)
    flags += ["questions_dropped"] * (dropped > 0.05 * len(used))
    flags += ["answers_missing"] * (missing > 0.05 * (cells + missing))
    found: Json = {
        "n_readers": int(busy.sum()),
        "n_readers_dropped": lost,
        "n_questions": int(used.sum()),
        "n_questions_dropped": dropped,
        "n_cells": cells,
        "n_missing": missing,
        "unit": "by_question" if design.cluster is None else "by_cluster",
        "inference": design.planned,
    }
    mean, reason = None, None if cells else "no_common_questions" if len(counted) else "one_rater"
    found |= {"by_question": None, "by_cluster": None, "complete_rows": None}
    if cells:
        mean, units = weighted_mean(design, busy, used)
        found |= units
    else:
        found["by_question"] = no_unit(str(reason))
        found["by_cluster"] = None if design.cluster is None else no_unit(str(reason))
    if "answers_missing" in flags:
        kept = ~(missed.any(axis=0))
        rows = replace(design, y=design.y * kept, counted=counted & kept, answered=design.answered & kept)
        found["complete_rows"] = figures(multi_reader(rows))
    chosen, by_mover = shown_inference(found[found["unit"]], design.planned)
    flags += [*chosen["flags"], *(["no_variation"] if chosen["reason"] == "no_variation" else [])]
    overall = value(mean, int(used.sum()), chosen["ci95"], list(dict.fromkeys(flags)), reason)
    return found | overall | {"method": f"{found['unit']} {design.planned}{', MOVER' * by_mover}"}


def weighted_mean(design: Design, busy: Array, used: Array) -> tuple[float, Json]:
    """The mean over questions of the mean over their readers, and both units."""
    counted, y = design.counted[busy][:, used], design.y[busy][:, used]
    weight = np.where(counted, 1 / counted.sum(axis=0) / counted.shape[1], 0)
    mean = rounded(float(np.mean([y[own, place].mean() for place, own in enumerate(counted.T)])))
    off, constant = weight * (y - mean), len(set(y[counted].tolist())) == 1
    found: Json = {"by_question": by_unit(off, weight, mean, constant, 0, tested=design.tested)}
    if design.cluster is not None:
        unit = np.unique(design.cluster[used], return_inverse=True)[1]
        off_unit, weight_unit = np.zeros((2, len(off), unit.max() + 1))
        np.add.at(off_unit.T, unit, off.T)
        np.add.at(weight_unit.T, unit, weight.T)
        found["by_cluster"] = by_unit(off_unit, weight_unit, mean, constant, 10, tested=design.tested)
    return mean, found


def mrmc_of(panel: PanelAnswers, shown: Json, analysis: Json) -> Json:
    """``shown``: what was computed of the panel, where each reader's own difference is among the pairs."""
    correct, is_reader, names = panel.correct, panel.ratings.readers, panel.ratings.names
    named = INFERENCES.get(str(analysis["plan"]["inference"]).strip().lower(), RANDOM)
    left = [one for one in analysis["excluded"] if one["kind"] == "reader" and one["reason"] != "replaced"]
    readers, cluster = correct[is_reader], panel.ratings.cluster if panel.clustered else None
    readers_named = [name for name, reads in zip(names, is_reader, strict=True) if reads]
    everything = np.ones(panel.n, dtype=bool)
    of_readers = Design(
        np.where(readers >= 0, readers, 0).astype(float),
        readers >= 0,
        everything,
        panel.ratings.state[is_reader] != "",
        cluster,
        len(left),
        FIXED if is_reader.sum() == 1 else named,
        tested=False,
    )
    missing = panel.ratings.state[is_reader] == "missing"
    ways = {"missing_wrong": 0, "missing_right": 1} if missing.any() else {}
    bounds = {name: np.where(missing, score, readers) for name, score in ways.items()}
    of_bounds = {
        name: figures(multi_reader(replace(of_readers, y=np.where(one >= 0, one, 0).astype(float), counted=one >= 0)))
        for name, one in bounds.items()
    }
    models = {}
    for row in np.flatnonzero(~is_reader):
        mean_of = next(one.get("mean_of_runs") for one in analysis["raters"] if one["name"] == names[row])
        right = share_of_runs(panel, int(row), mean_of) if mean_of else np.where(correct[row] < 0, NAN, correct[row])
        answered = ~np.isnan(right)
        both = (readers >= 0) & answered
        apart = np.where(both, right - readers, 0).astype(float)
        found = multi_reader(replace(of_readers, y=apart, counted=both, answered=answered, tested=True))
        for name, filled in bounds.items():
            counts = (filled >= 0) & answered
            off = np.where(counts, right - filled, 0).astype(float)
            other = multi_reader(replace(of_readers, y=off, counted=counts, answered=answered, tested=True))
            found[name] = figures(other | (method_of_runs(other, len(mean_of)) if mean_of else {}))
        used = both.any(axis=0)
        found["model_accuracy"] = float(right[used].mean()) if used.any() else None
        own = [one for one in shown["pairs"] if one["first"] == names[row] and one["second"] in readers_named]
        found["difference_by_reader"] = [own_difference(one, panel.clustered) for one in own]
        if mean_of:
            pairs_of_share = zip(readers_named, readers, both, strict=True)
            found["difference_by_reader"] = [
                {"reader": name} | mean_apart((right - of)[counts], cluster[counts] if cluster is not None else None)
                for name, of, counts in pairs_of_share
            ]
            found |= method_of_runs(found, len(mean_of))
        models[names[row]] = found
    return {"readers": multi_reader(of_readers) | of_bounds, "models": models}


def figures(found: Json) -> Json:
    """Without what the same would be over other questions."""
    return {name: one for name, one in found.items() if name != "complete_rows"}


def mean_apart(apart: Array, cluster: Array | None) -> Json:
    """A mean with a t interval over questions, or by cluster; none below ten of them or where they do not differ."""
    n, unit = len(apart), np.arange(len(apart)) if cluster is None else cluster
    if n == 0:
        return value(None, 0, reason="no_common_questions")
    mean = float(np.mean(apart))
    sums = np.array([np.sum(apart[unit == one] - mean) for one in np.unique(unit)])
    m = len(sums)
    se = math.sqrt(m / (m - 1) * float(np.sum(sums**2))) / n if m > 1 else 0.0
    flags = ["small_n" if cluster is None else "few_clusters"] * (m < 10) + ["no_variation"] * (se < 1e-12)
    half = t_quantile(m - 1) * se if m > 1 else 0.0
    return value(mean, n, None if flags else (max(-1.0, mean - half), min(1.0, mean + half)), flags)


def method_of_runs(found: Json, n_runs: int) -> Json:
    """What the method says further, of the line over complete rows, too."""
    changed: Json = {"method": f"{found['method']}, mean of {n_runs} runs"}
    rows = found.get("complete_rows")
    return changed | ({"complete_rows": rows | method_of_runs(rows, n_runs)} if rows else {})


def own_difference(pair: Json, clustered: bool) -> Json:
    """As the pair of the model and the reader has it, without the error."""
    found = pair["difference_cluster" if clustered else "difference"]
    return {"reader": pair["second"]} | {name: found[name] for name in ("value", "ci95", "n", "flags", "reason")}


MARGIN_TESTS = ("noninferiority_p", "equivalence_p")


def comparisons_of(mrmc: Json, plan: Json, late: set[str], uncounted: set[str]) -> list[Json]:
    """``late``: the models that are post hoc; they come last, with nothing but their raw p. Some are in no family."""
    planned = plan["primary"] == PLANNED and str(plan["inference"]).strip().lower() in INFERENCES
    planned = planned and not plan.get("own_words")  # of further parts, which nobody can compute by
    planned = planned and not plan.get("seen_before")  # a result over these readings, elsewhere
    every: list[Json] = []
    for task, panel in {ALL: mrmc, **mrmc["tasks"]}.items():
        for name, one in panel["models"].items():
            every.append(comparison(task, name, one, planned and task == ALL and name not in late, plan["margin"]))
    early = [one for one in every if one["first"] not in uncounted]
    families: list[Json] = []
    for of_all, family in ((True, "primary"), (False, "exploratory, by task")):
        members = [one | {"family": family} for one in early if (one["panel"] == ALL) == of_all]
        families += [judged(one) for one in holm(holm(holm(members), "noninferiority_p"), "equivalence_p")]
    return [one for one in families if one["first"] not in late] + [
        {name: one[name] for name in one if name not in MARGIN_TESTS} | {"family": "post hoc"}
        for one in every
        if one["first"] in late
    ]


def comparison(panel: str, name: str, found: Json, planned: bool, margin: float | None) -> Json:
    unit = found[found["unit"]]
    chosen, by_mover = shown_inference(unit, found["inference"])
    flags = list({*found["flags"], *["post_hoc"] * (not planned)})
    tests = dict[str, float | None].fromkeys(MARGIN_TESTS)
    if margin and chosen["ci95"] is not None:
        parts = (unit["reader_part"], unit["case_part"], found["n_readers"])
        below, above = (
            mover_above(parts, one) if by_mover else float(stats.t.sf(one / chosen["se"], chosen["df"]))
            for one in (margin + found["value"], margin - found["value"])
        )
        tests = {"noninferiority_p": below, "equivalence_p": max(below, above)}
    reason = chosen["reason"] or found["reason"] or "few_clusters"
    return {
        "planned": planned,
        "panel": panel,
        "first": name,
        "difference": value(found["value"], found["n"], chosen["ci95"], flags, found["reason"]),
        "p": value(chosen["p"], found["n"], flags=flags, reason=reason),
        "ci90": chosen["ci90"],
        "margin": margin,
    } | {name: value(p, found["n"], flags=flags, reason=reason) if margin else None for name, p in tests.items()}


def judged(one: Json) -> Json:
    ci95, none = one["difference"]["ci95"], not one["margin"] or one["ci90"] is None
    return one | {
        "superior": None if ci95 is None else ci95[0] > 0,
        "non_inferior": None if none else one["noninferiority_p_holm"]["value"] <= 0.025,
        "equivalent": None if none else one["equivalence_p_holm"]["value"] <= 0.05,
    }


def holm(family: list[Json], name: str = "p") -> list[Json]:
    """The i-th smallest of m p values times m - i + 1, never below the one before it, at most 1."""
    tests = [one for one in family if one[name] is not None]
    ranked = sorted((one for one in tests if one[name]["value"] is not None), key=lambda one: float(one[name]["value"]))
    highest = 0.0
    for rank, one in enumerate(ranked):
        highest = max(highest, min(1.0, (len(ranked) - rank) * one[name]["value"]))
        one[f"{name}_holm"] = one[name] | {"value": highest}
    return [{f"{name}_holm": one[name]} | one for one in family]


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
        if "planned_as" in one:
            names, version = list(one["planned_as"]), ""
        if version.strip():
            names += [one["name"] + version, *([one["name"][: -len(version)]] if one["name"].endswith(version) else [])]
        if any(" ".join(name.split()).casefold() == " ".join(word.split()).casefold() for name in names):
            meant.append(one["name"])
    meant = [name for name in meant if name not in uncounted_models(raters)] or meant
    return (meant, "") if len(meant) == 1 else ([], "several_raters" if meant else "no_such_rater")


def late_models(raters: Sequence[Json]) -> set[str]:
    """Those that came or were chosen after unblinding."""
    return {one["name"] for one in raters if one.get("post_hoc")}


def uncounted_models(raters: Sequence[Json]) -> set[str]:
    """Those of them on which no other number depends: what was planned is counted under another name, too."""
    return {one["name"] for one in raters if one.get("post_hoc") and not one.get("was_planned")}


def comparisons_of_pairs(pairs: Sequence[Json], named: list[tuple[list[str], str]], raters: list[Json]) -> list[Json]:
    """``pairs``: those of all tasks. Holm over those that have a p, the post hoc ones apart."""
    late, uncounted = late_models(raters), uncounted_models(raters)
    family: list[Json] = []
    post_hoc: list[Json] = []
    for (first, second), reason in named:
        if reason:
            nothing = value(None, 0, reason=reason)
            family.append({"first": first, "second": second, "table": None, "difference": nothing, "p": nothing})
        else:
            [pair] = [one for one in pairs if {one["first"], one["second"]} == {first, second}]
            known = ("first", "second", "table", "difference", "difference_cluster", "cluster_mcnemar_chi2")
            found = {name: pair[name] for name in known if name in pair} | {"p": pair["mcnemar_exact_p"]}
            if {first, second} & late:
                post_hoc.append(found)
            if not {first, second} & uncounted:
                family.append(dict(found))
    shown = [one for one in holm(family) if one["table"] is None or not {one["first"], one["second"]} & late]
    return [one | {"family": "planned pairs", "planned": True, "panel": ALL} for one in shown] + [
        one | {"family": "post hoc", "planned": False, "panel": ALL} for one in post_hoc
    ]


# --- time per case --------------------------------------------------------------------------------------------------
def time_of(ratings: Ratings) -> Json:
    """Of a case that ended at a limit ``active_ms`` is that limit: it has a place among the times, and no exact one."""
    timed, readers = ~np.isnan(ratings.active_ms), ratings.readers
    ended = (ratings.censored & timed)[readers]
    counted = (np.isin(ratings.state, ("answered", "declined")) & timed)[readers] | ended
    seconds, position = np.where(counted, ratings.active_ms[readers] / 1000, NAN), ratings.position[readers]
    quiet = np.where(ratings.disturbed[readers], NAN, seconds)
    every = seconds[~np.isnan(seconds)]
    fence = np.inf
    if len(every) and not ended.any():
        q1, q3 = np.percentile(np.log(every), [25, 75])
        fence = np.exp(q3 + 3 * (q3 - q1))
    slope, se, df = adjusted_slope(np.where(ended, NAN, seconds), position, int((ended & (position > 0)).sum()))
    return {
        "readers": [
            time_of_reader(ratings, row, seconds[place], ended[place])
            for place, row in enumerate(np.flatnonzero(readers).tolist())
        ],
        "all": {
            **middle(seconds, ended),
            "pooled_log_slope_adjusted": slope | {"se": se, "df": df},
            "percent_per_ten": per_ten(slope),
            "log_time_variance_components": variance_components(np.where(ended, NAN, seconds), int(ended.sum())),
        },
        "sensitivity": {
            "winsorised": middle(np.minimum(seconds, fence), ended),
            "without_quiet_or_blurred": middle(quiet, ended),
        },
    }


def middle(seconds: Array, ended: Array) -> Json:
    """Quantiles of type 7, none from a place at which, or before which, a time ended; geometric mean with t limits."""
    pairs = sorted(zip(seconds[~np.isnan(seconds)].tolist(), ended[~np.isnan(seconds)].tolist(), strict=True))
    n, n_ended = len(pairs), sum(cut for _second, cut in pairs)
    names: Json = {"median": 0.5, "q1": 0.25, "q3": 0.75, "p5": 0.05, "p95": 0.95, "geometric_mean": None}
    if n == 0:
        return {name: value(None, 0, reason="zero_trials") for name in names} | {"n_censored": 0}
    times, found = np.array([second for second, _cut in pairs]), {}
    for name, at in names.items():
        used = n if at is None else math.ceil((n - 1) * at) + 1
        if any(cut for _second, cut in pairs[:used]):
            found[name] = value(None, n, reason="censored")
        elif at is not None:
            found[name] = value(np.quantile(times, at), n)
        else:
            logs, ci = np.log(times), None
            if n > 1:
                half = t_quantile(n - 1) * float(logs.std(ddof=1)) / math.sqrt(n)
                ci = math.exp(logs.mean() - half), math.exp(logs.mean() + half)
            found[name] = value(math.exp(logs.mean()), n, ci)
    return found | {"n_censored": n_ended}


def time_of_reader(ratings: Ratings, row: int, seconds: Array, ended: Array) -> Json:
    placed = ~np.isnan(seconds) & (ratings.position[row] > 0)
    n_ended, placed = int((placed & ended).sum()), placed & ~ended
    logs, position, n = np.log(seconds[placed]), ratings.position[row][placed].astype(float), int(placed.sum())
    many, flags = n_ended > (n + n_ended) / 10, ["censored"] * bool(n_ended)
    slope = value(None, n, reason="too_few" if n < 10 else "censored" if many else "no_variation")
    rank = value(None, n, reason="censored" if many else "no_variation")
    if n >= 10 and not many and np.ptp(position) > 0:
        x, y = position - position.mean(), logs - logs.mean()
        b = float((x * y).sum() / (x**2).sum())
        half = t_quantile(n - 2) * math.sqrt(float(((y - b * x) ** 2).sum() / (n - 2) / (x**2).sum()))
        slope = value(b, n, (b - half, b + half), flags)
    if n >= 2 and not many and np.ptp(position) > 0 and np.ptp(logs) > 0:
        ranks = stats.rankdata(seconds[placed]), stats.rankdata(position)
        rank = value(float(np.corrcoef(*ranks)[0, 1]), n, flags=flags)
    return {
        "name": ratings.names[row],
        **middle(seconds, ended),
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


def adjusted_slope(seconds: Array, position: Array, n_ended: int) -> tuple[Json, float | None, int]:
    """Least squares of log seconds on position, reader and question; the means of questions are taken off first.

    Without the times that ended at a limit, of which there may be a tenth at the most.
    """
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
    many, same = n_ended > (n + n_ended) / 10, df < 1 or float(left @ left) < 1e-9
    if n < 10 or many or same:
        reason = "too_few" if n < 10 else "censored" if many else "no_variation"
        return value(None, n, reason=reason), None, max(df, 0)
    design = np.column_stack([x, others])
    coefficients = np.linalg.lstsq(design, y, rcond=None)[0]
    rest = y - design @ coefficients
    slope, se = float(coefficients[0]), math.sqrt(float(rest @ rest) / df / float(left @ left))
    half = t_quantile(df) * se
    return value(slope, n, (slope - half, slope + half), ["censored"] * bool(n_ended)), se, df


def variance_components(seconds: Array, n_ended: int) -> Json:
    """Balanced two-way analysis of variance of log seconds, over the questions with an exact time of every reader."""
    logs = np.log(seconds[:, ~np.isnan(seconds).any(axis=0)])
    readers, questions = logs.shape
    found: Json = {"n_readers": readers, "n": questions if readers else 0}
    many = n_ended > (int((~np.isnan(seconds)).sum()) + n_ended) / 10
    if many or readers < 2 or questions < 2:
        reason = "censored" if many else "one_rater" if readers < 2 else "too_few"
        return found | {"reader": None, "question": None, "residual": None, "flags": [], "reason": reason}
    of_reader, of_question = logs.mean(axis=1), logs.mean(axis=0)
    rest = logs - of_reader[:, None] - of_question + logs.mean()
    mse = float((rest**2).sum()) / ((readers - 1) * (questions - 1))
    msr, msc = questions * float(of_reader.var(ddof=1)), readers * float(of_question.var(ddof=1))
    return found | {
        "reader": max((msr - mse) / questions, 0.0),
        "question": max((msc - mse) / readers, 0.0),
        "residual": mse,
        "flags": ["censored"] * bool(n_ended),
        "reason": None,
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
        stated, place = ratings.confidence[row], ratings.position[row]
        if stated.any():
            steps = {str(chance): accuracy(sure[row][stated == chance]) for chance in CHANCES}
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
        "calibration": calibration_of(ratings, sure),
        "positions": positions,
    }


def calibration_of(ratings: Ratings, right: Array) -> list[Json]:
    """Of each rater who stated a chance of being right; readers in the steps of their scale, models in tens."""
    found = []
    for row, name in enumerate(ratings.names):
        chances = np.where(ratings.confidence[row] > 0, ratings.confidence[row], NAN).astype(float)
        chances = chances if ratings.readers[row] else ratings.model_confidence[row]
        if np.isnan(chances).all():
            continue
        used = ~np.isnan(chances) & (right[row] >= 0)
        stated, y, cluster = chances[used], right[row][used], ratings.cluster[used]
        n, p = len(y), float(y.mean()) if len(y) else NAN
        nothing = "zero_trials"
        edges = stated if ratings.readers[row] else [min(int(one) // 10, 9) for one in stated]
        bins = [np.array(edges) == one for one in sorted(set(edges))]
        found.append(
            {
                "name": name,
                "kind": "reader" if ratings.readers[row] else "model",
                "n": n,
                "brier_score": brier(mean_by_cluster((stated / 100 - y) ** 2, cluster, 0.0), y),
                "brier_reference": value(p * (1 - p), n, reason=nothing),
                "mean_stated": value(float(stated.mean()) / 100 if n else NAN, n, reason=nothing),
                "mean_right": share(int(y.sum()), n),
                "stated_minus_right": stated_minus_right(stated / 100, y, cluster),
                "reliability_bins": [
                    {"mean_stated": float(stated[one].mean()) / 100, "right": share(int(y[one].sum()), int(one.sum()))}
                    for one in bins
                ],
            }
        )
    return found


def mean_by_cluster(values: Array, cluster: Array, lowest: float) -> Json:
    """A mean with t(m-1) limits and SE = sqrt(m/(m-1) sum e_g^2)/n; none below ten values or clusters."""
    n = len(values)
    if n == 0:
        return value(None, 0, reason="zero_trials", se=None)
    mean = float(values.mean())
    sums = [float((values[cluster == one] - mean).sum()) for one in np.unique(cluster)]
    m, flags = len(sums), small(n)
    flags += ["few_clusters"] * (m < 10 and m < n)
    if m < 2:
        return value(mean, n, flags=flags, se=None)
    se = math.sqrt(m / (m - 1) * sum(one**2 for one in sums)) / n
    if se < 1e-12:
        return value(mean, n, flags=[*flags, "no_variation"], se=0.0)
    half = t_quantile(m - 1) * se
    return value(mean, n, None if flags else (max(lowest, mean - half), min(1.0, mean + half)), flags, se=se)


def brier(found: Json, y: Array) -> Json:
    few = len(y) > 0 and min(int((y == 1).sum()), int((y == 0).sum())) < 5
    return found | {"ci95": None, "flags": [*found["flags"], "few_errors"]} if few else found


def stated_minus_right(c: Array, y: Array, cluster: Array) -> Json:
    """Zou and Donner's combination of t limits of mean c and the limits of the share right."""
    found = mean_by_cluster(c - y, cluster, -1.0)
    found["flags"] = [flag for flag in found["flags"] if flag != "no_variation"]
    found["ci95"] = None
    if len(y) == 0 or found["flags"]:
        return found
    groups = [cluster == one for one in np.unique(cluster)]
    e, f = (np.array([(of[one] - of.mean()).sum() for one in groups]) for of in (c, y))
    m, p, d = len(groups), float(y.mean()), float(np.mean(c - y))
    a = t_quantile(m - 1) * math.sqrt(m / (m - 1) * float(np.sum(e**2))) / len(y)
    below = math.sqrt(float(np.sum(e**2) * np.sum(f**2)))
    r = float(np.sum(e * f)) / below if below >= 1e-12 else 0.0
    low, high = cluster_accuracy(y.astype(int), cluster)["ci95"]
    down, up = (math.sqrt(max(0.0, a**2 + w**2 - 2 * r * a * w)) for w in (high - p, p - low))
    found["ci95"] = [max(-1.0, d - down), min(1.0, d + up)]
    return found


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
    for place, part in unmarked_parts(ratings, analysis):
        if analysis["plan"].get("seen_before"):
            mark(part, "seen_before")
        yield place, part


def unmarked_parts(ratings: Ratings, analysis: Json) -> Iterator[tuple[tuple[str, ...], Any]]:
    settings, plan = analysis["settings"], analysis["plan"]
    named, late = pairs_named(analysis), late_models(analysis["raters"])
    meant = [] if plan.get("seen_before") else named
    two = frozenset(frozenset(names) for names, reason in meant if not reason and not late.intersection(names))
    panels = panels_of(ratings, settings, analysis["strata"], two)
    computed: dict[str, Json] = {}
    for panel in panels:
        computed[panel.name] = panel_of(panel)
        rows = computed[panel.name]["raters"] + computed[panel.name]["pairs"]
        mark([one for one in rows if late & {one.get("name"), one.get("first"), one.get("second")}])
        yield ("panels", panel.name), computed[panel.name]
    first, *others = [mrmc_of(panel, computed[panel.name], analysis) for panel in panels]
    mark([one["models"][name] for one in (first, *others) for name in late])
    mrmc = first | {"tasks": {panel.name: one for panel, one in zip(panels[1:], others, strict=True)}}
    of_pairs = comparisons_of_pairs(computed[ALL]["pairs"], named, analysis["raters"])
    for one in of_pairs if plan.get("seen_before") else []:
        one["planned"] = False
    uncounted = uncounted_models(analysis["raters"])
    comparisons = [*comparisons_of(mrmc, plan, late, uncounted), *of_pairs]
    yield ("mrmc",), mrmc
    yield ("comparisons",), comparisons
    yield ("time",), time_of(ratings)
    tables = tables_of(ratings, panels[0].correct)
    mark([row["accuracy"][name] for name in late for row in tables["categories"] + tables["difficulties"]])
    mark([row for row in tables["calibration"] if row["name"] in late])
    yield ("tables",), tables


def unplanned(part: Any) -> Any:
    """Of a variant that was chosen after results had been seen: nothing of it is planned, adjusted or claimed."""
    for one in part if isinstance(part, list) else []:
        one["planned"] = False
        one |= {name: None for name in ("superior", "non_inferior", "equivalent") if name in one}
        for name in [name for name in one if name.endswith("p_holm") and one[name]]:
            one[name] = one[name] | {"value": None, "reason": "post_hoc"}
    mark(part)
    return part


def mark(part: Any, flag: str = "post_hoc") -> None:
    """Whatever has flags in it, at any depth."""
    if isinstance(part, list):
        for one in part:
            mark(one, flag)
    if isinstance(part, dict):
        if "flags" in part:
            part["flags"] = list({*part["flags"], flag})
        mark(list(part.values()), flag)


def order_of(ratings: Ratings, correct: Array) -> list[str]:
    """Readers, then models by accuracy, then those that are post hoc."""

    found = [accuracy(row)["value"] or 0.0 for row in correct]
    models = sorted(np.flatnonzero(~ratings.readers), key=lambda row: (ratings.post_hoc[row], -found[row]))
    return [ratings.names[row] for row in (*np.flatnonzero(ratings.readers), *models)]


def excluded_of(voided: Ratings, stored: list[Json]) -> list[Json]:
    """The voided cases; readers who are no raters stand in analysis.json only."""
    declared = {one["case"] for one in stored if one.get("decided") == DECLARED}
    columns = zip(voided.case.tolist(), voided.question.tolist(), voided.voided.tolist(), strict=True)
    cases: list[Json] = [
        {"case": case, "question": question, "decided": DECLARED if case in declared and when == BEFORE else when}
        for case, question, when in columns
    ]
    return cases + [one for one in stored if one["kind"] == "reader"]


def everything(ratings: Ratings, analysis: Json) -> Iterator[tuple[tuple[str, ...], Any]]:
    before, after = ratings.voided == "before_unblinding", ratings.voided == "after_unblinding"
    primary = ratings.only(~before)
    counts = {"n_cases": len(before), "n_scored": int((~before).sum())}
    counts |= {"n_voided_before_unblinding": int(before.sum()), "n_voided_after_unblinding": int(after.sum())}
    counts["n_voided_declared"] = sum(one.get("decided") == DECLARED for one in analysis["excluded"])
    yield ("questions",), counts
    elsewhere = [one.get("imported", False) for one in analysis["raters"] if one["kind"] == "reader"]
    yield ("plan", "made_after_readings"), bool(elsewhere) and all(elsewhere)
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
    late = primary.doubted & np.isin(primary.state, ("answered", "unconfirmed", "declined"))
    if late.any():
        variants["doubts_as_late"] = replace(primary, state=np.where(late, "late", primary.state))
    for name, variant in variants.items():
        yield ("variants", name, "n"), len(variant.case)
        for place, part in parts_of(variant, analysis):
            yield ("variants", name, *place), unplanned(part) if name == "without_all_voided" else part


# --- comparing ------------------------------------------------------------------------------------------------------
P_VALUES = {"p", "p_holm", "noninferiority_p", "noninferiority_p_holm", "mcnemar_exact_p", "mcnemar_midp"}
GIVEN = ("settings", "plan", "raters", "strata", "software")  # what the computation starts from


@dataclass
class Tally:
    """What one part came to: numbers compared, and the places where something differs or was not computed."""

    n: int = 0
    different: list[str] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)

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
    words = [
        str(one[name])
        for name in ("panel", "name", "first", "second", "reader")
        if isinstance(one, dict) and name in one
    ]
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
    nothing = 1e-15 if place.endswith(("reader_part", "case_part")) else 1e-12
    return math.isclose(stored, computed, rel_tol=1e-9, abs_tol=nothing)


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


def compared(folder: Path) -> Tally:
    """The whole of analysis.json in a report, number by number."""
    analysis = json.loads((folder / "analysis.json").read_text(encoding="utf-8"))
    ratings, correct = read_ratings(folder / "data" / "ratings.csv", analysis)
    total, reached = Tally(), set[tuple[str, ...]]()
    total.compare(correct.tolist(), correct_of(ratings, analysis["settings"]).tolist(), "correct")
    for place, part in everything(ratings, analysis):
        reached.add(place)
        total.compare(found_at(analysis, place), part, ".".join(place))
    total.not_checked += not_reached(analysis, reached)
    return total


def differences(folder: Path) -> list[str]:
    """What differs, and the numbers of analysis.json that nothing here computes."""
    total = compared(folder)
    return total.different + total.not_checked
