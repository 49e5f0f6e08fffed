"""Every table of the report of a round computed again from its data, by other code than that of the program: an oracle.

Given are seed, number of draws, rules of counting and of times (report.json), and which flags count for an issue
(tables/outcomes.csv). Everything else is computed and compared: numbers to 1e-9 of their size.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from scipy import stats

from tests.readerstudy.report.oracle import NAN, Array, beyond_chance, divided, wilson

Number = float | int | None
Numbers = dict[str, Number]
Table = dict[tuple[str, ...], Numbers]  # the numbers of each row by what it is about
Question = tuple[str, str]  # number and wording
Flags = tuple[frozenset[str], frozenset[str]]  # those set, and those asked for

GRADES = ("clinical_quality", "factual_correctness", "explanation_clarity", "image_alignment")
LEVELS = ("easy", "medium", "hard")
VERDICTS = ("accept", "revise", "reject", "cannot_judge")
DEGREES = ("yes", "partly", "no")
AGAINST_KEY = {"key_wrong", "no_valid_option"}  # a review with one of these accepts nothing
ABOUT = {  # the columns that say what a row of a table is about
    "outcomes": ("rule", "issue"),
    "outcomes_by": ("by", "group", "issue"),
    "shares": ("name",),
    "choices": ("field", "value"),
    "grades": ("grade",),
    "agreement": ("field", "statistic"),
    "difficulty": ("name", "stated", "judged"),
    "times": ("name",),
}


# --- the files ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class SubmittedReview:
    """One row of data/reviews.csv. ``best`` is None where no blind answer was asked, "" for no option."""

    question: Question
    cells: Mapping[str, str]
    flags: frozenset[str]
    asked: frozenset[str]  # flags that the form of the review asked for: their cells are not empty
    best: str | None

    def answer_in(self, field: str) -> str | None:
        """What the review says in a field of the form; None: nothing was asked."""
        if field.startswith("blind_"):
            return None if self.best is None else self.cells[field]
        if field.startswith("grade_"):
            name = field.removeprefix("grade_")
            return "cannot_judge" if self.cells[f"cannot_judge_{name}"] == "true" else self.cells[field] or None
        return self.cells[field] or None

    @property
    def is_key(self) -> bool:
        return self.best == self.cells["key"]

    @property
    def grades(self) -> list[int]:
        return [int(self.cells[f"grade_{name}"]) for name in GRADES if self.cells[f"grade_{name}"]]


@dataclass(frozen=True)
class ReportFiles:
    """``cluster`` and ``imported`` by question, in the order of data/questions.csv."""

    facts: Mapping[str, Any]
    reviews: list[SubmittedReview]
    cluster: dict[Question, int]
    imported: dict[Question, str]
    decided: dict[Question, Flags]  # flags that are left after adjudication
    flags_of: dict[str, frozenset[str]]  # of each issue

    @property
    def of_question(self) -> dict[Question, list[SubmittedReview]]:
        found: dict[Question, list[SubmittedReview]] = {question: [] for question in self.cluster}
        for one in self.reviews:
            found[one.question].append(one)
        return found

    def generator(self, family: str) -> np.random.Generator:
        """PCG64, seeded with the seed of the round and SHA-256 of the names of what is drawn for."""
        words = int.from_bytes(hashlib.sha256(f"reviews\n{family}".encode()).digest(), "big")
        return np.random.Generator(np.random.PCG64([self.facts["seed"], words]))

    def drawn(self, family: str, m: int) -> Array:
        """How often each of m units was drawn in each draw, shape (draws, m)."""
        rng = self.generator(family)
        counts = [np.bincount(rng.integers(m, size=m), minlength=m) for _draw in range(self.facts["draws"])]
        return np.array(counts, dtype=float)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return [{name: text.removeprefix("'") for name, text in row.items()} for row in csv.DictReader(file)]


def question_of(row: Mapping[str, str]) -> Question:
    return row["question"], row["revision"]


def joined(cell: str) -> frozenset[str]:
    return frozenset(filter(None, cell.split("|")))


def read_report(folder: Path) -> ReportFiles:
    questions, settlements = rows_of(folder / "data" / "questions.csv"), folder / "data" / "settlements.csv"
    reviews = []
    for row in rows_of(folder / "data" / "reviews.csv"):
        cells = {name.removeprefix("flag_"): cell for name, cell in row.items() if name.startswith("flag_") and cell}
        flags = frozenset(name for name, cell in cells.items() if cell == "true")
        best = row["blind_best"] if row["blind_answered_at"] else None
        reviews.append(SubmittedReview(question_of(row), row, flags, frozenset(cells), best))
    settled = rows_of(settlements) if settlements.is_file() else []
    return ReportFiles(
        json.loads((folder / "report.json").read_text(encoding="utf-8")),
        reviews,
        {question_of(row): int(row["cluster"]) for row in questions},
        {question_of(row): row["import"] for row in questions},
        {
            question_of(row): (joined(row["adjudicator_flags"]), joined(row["adjudicator_asked"]))
            for row in settled
            if row["outcome"] != "disputed"
        },
        {row["issue"]: frozenset(row["flags"].split("|")) for row in rows_of(folder / "tables" / "outcomes.csv")},
    )


# --- shares ---------------------------------------------------------------------------------------------------------
def share(holds: Iterable[bool]) -> Numbers:
    found = list(holds)
    k, n = sum(found), len(found)
    low, high = wilson(k / n, n) if n else (None, None)
    return {"count": k if n else None, "n": n, "share": k / n if n else None, "low": low, "high": high}


def by_cluster(holds: Sequence[bool], clusters: Sequence[int]) -> Numbers:
    """Limits of a share whose trials come in clusters; empty where none holds two."""
    trials, hits = Counter(clusters), Counter(c for c, one in zip(clusters, holds, strict=True) if one)
    m, n, k = len(trials), len(holds), sum(holds)
    nothing: Numbers = {"cluster_low": None, "cluster_high": None}
    if m == n or m < 10:
        return nothing
    p = k / n
    if k in (0, n):
        low, high = wilson(p, m)
        return {"cluster_low": low, "cluster_high": high}
    squares = sum((n * hits[one] - k * size) ** 2 for one, size in trials.items())
    effect = m / (m - 1) * squares / n**4 / (p * (1 - p) / n)
    low, high = wilson(p, n / max(effect, 1.0), float(stats.t.ppf(0.975, m - 1)))
    return {"cluster_low": low, "cluster_high": high}


def has_issue(judged: Sequence[Flags], wanted: frozenset[str], rule: str) -> bool | None:
    """None where nobody was asked for it, or for the rule "all" one reviewer alone."""
    hits = [bool(flags & wanted) for flags, asked in judged if asked & wanted]
    if len(hits) <= (rule == "all"):
        return None
    return {"majority": 2 * sum(hits) > len(hits), "all": all(hits)}.get(rule, any(hits))


def outcomes(report: ReportFiles) -> Table:
    found: Table = {}
    for rule in report.facts["rules"]:
        judged = {one: [(r.flags, r.asked) for r in reviews] for one, reviews in report.of_question.items()}
        if rule == "adjudicated":
            asked = {one: frozenset[str]().union(*(of for _flags, of in flags)) for one, flags in judged.items()}
            decided = {one: report.decided[one] for one in judged if one in report.decided}
            judged = {one: [(flags, of or asked[one])] for one, (flags, of) in decided.items()}
        for issue, wanted in report.flags_of.items():
            answers = {one: has_issue(flags, wanted, rule) for one, flags in judged.items()}
            holds = {one: holds for one, holds in answers.items() if holds is not None}
            clusters = [report.cluster[one] for one in holds]
            found[rule, issue] = share(holds.values()) | by_cluster([*holds.values()], clusters)
    return found


def outcomes_by(report: ReportFiles) -> Table:
    issues = [name for name in report.flags_of if not name.startswith("flag_")]
    groups: dict[tuple[str, str], dict[Question, list[Flags]]] = defaultdict(lambda: defaultdict(list))
    for one in report.reviews:
        of = {name: one.cells[name] for name in ("task", "category", "difficulty", "reviewer")}
        for by, value in (of | {"import": report.imported[one.question]}).items():
            groups[by, value][one.question].append((one.flags, one.asked))
    found: Table = {}
    for (by, value), judged in groups.items():
        n_reviews = sum(map(len, judged.values()))
        for issue in issues:
            answers = (has_issue(flags, report.flags_of[issue], "any") for flags in judged.values())
            found[by, value, issue] = share(one for one in answers if one is not None) | {"reviews": n_reviews}
    return found


def settles(reviews: Sequence[SubmittedReview]) -> bool:
    """Every verdict accept, every blind answer the key, no flag, no grade below 3."""
    return all(
        one.cells["verdict"] == "accept" and one.is_key and not one.flags and min(one.grades, default=3) >= 3
        for one in reviews
    )


def as_meant(one: SubmittedReview) -> SubmittedReview:
    """The reported input error in place of the blind answer."""
    said = one.cells["blind_meant"]
    return replace(one, best="" if said == "none" else said) if said else one


def shares(report: ReportFiles) -> Table:
    def accepts(one: SubmittedReview) -> bool:
        return one.cells["verdict"] == "accept" and not one.flags & AGAINST_KEY

    blind = [one for one in report.reviews if one.best is not None]
    judged, right = list(report.of_question.values()), [one.is_key for one in blind]
    clustered = by_cluster(right, [report.cluster[one.question] for one in blind])
    found: Table = {
        ("expert_ceiling",): share(right) | clustered,
        ("accepted",): share(all(map(accepts, of_one)) for of_one in judged),
        ("settled",): share(map(settles, judged)),
        ("category_corrected",): share(any(one.cells["corrected_category"] for one in of_one) for of_one in judged),
    }
    if any(one.cells["blind_meant"] for one in blind):
        meant = [as_meant(one) for one in report.reviews]
        found["expert_ceiling_meant",] = share(one.is_key for one in meant if one.best is not None)
        found["settled_meant",] = share(
            settles([one for one in meant if one.question == question]) for question in report.of_question
        )
    if any(known_difficulty(one) for one in blind):
        for level in LEVELS:
            found[f"key_where_{level}",] = share(
                one.is_key for one in blind if one.answer_in("blind_difficulty") == level
            )
    return found


# --- counts, grades, times ------------------------------------------------------------------------------------------
def choices(report: ReportFiles) -> Table:
    values = {"verdict": VERDICTS, "needs_image": (*DEGREES, "cannot_judge"), "relevant": (*DEGREES, "cannot_judge")}
    found: Table = {}
    for name, of in values.items():
        counts = Counter(one.cells[name] for one in report.reviews)
        n = sum(counts[value] for value in of)
        found |= {(name, value): {"count": counts[value] if n else None, "n": n} for value in of}
    return found


def grades(report: ReportFiles) -> Table:
    found: Table = {}
    for name in GRADES:
        answers = [one.answer_in(f"grade_{name}") for one in report.reviews]
        given = [int(one) for one in answers if one and one.isdigit()]
        numbers: Numbers = {f"n_{grade}": given.count(grade) for grade in range(1, 6)}
        numbers["n_cannot_judge"] = answers.count("cannot_judge")
        if not any(one.cells[f"cannot_judge_{name}"] for one in report.reviews):  # it was not asked
            numbers = dict.fromkeys(numbers)
        found[name,] = numbers | {"n": len(given), "median": float(median(given)) if given else None}
    return found


def times(report: ReportFiles) -> Table:
    left_out, n = set(report.facts["times_left_out"]), len(report.reviews)
    flags = [set(filter(None, one.cells["time_flags"].split("|"))) for one in report.reviews]
    counted = sorted(
        int(one.cells["active_ms"])
        for one, of_one in zip(report.reviews, flags, strict=True)
        if one.cells["active_ms"] and one.cells["time_rule"] in report.facts["clock_rules"] and not of_one & left_out
    )
    rank = int(stats.binom.ppf(0.025, len(counted), 0.5)) if counted else 0
    while rank and stats.binom.cdf(rank - 1, len(counted), 0.5) > 0.025:
        rank -= 1
    found: Table = {
        ("active_ms_median",): {
            "value": float(median(counted)) if counted else None,
            "low": counted[rank - 1] if rank else None,
            "high": counted[-rank] if rank else None,
            "n": len(counted),
        },
        ("without_time",): {"value": sum(not one.cells["active_ms"] for one in report.reviews), "n": n},
        ("with_unreadable_image",): {"value": sum(bool(one.cells["unreadable"]) for one in report.reviews), "n": n},
    }
    for flag in left_out:
        if k := sum(flag in of_one for of_one in flags):
            found[f"left_out_{flag}",] = {"value": k, "n": n}
    return found


# --- agreement ------------------------------------------------------------------------------------------------------
def quadratic(q: int) -> Array:
    place = np.arange(q) / (q - 1)
    return 1 - (place[:, None] - place) ** 2


def kappa(tables: Array, weights: Array) -> Array:
    p = divided(tables, tables.sum(axis=(-2, -1), keepdims=True))
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    expected = (rows[..., :, None] * columns[..., None, :] * weights).sum(axis=(-2, -1))
    return beyond_chance((p * weights).sum(axis=(-2, -1)), expected)


def ordinal_alpha(together: Array) -> Array:
    """Krippendorff's alpha of coincidences, shape (..., q, q)."""
    used = together.sum(axis=-1)
    place = np.cumsum(used, axis=-1) - used / 2
    apart = (place[..., :, None] - place[..., None, :]) ** 2
    n = used.sum(axis=-1)
    chance = (used[..., :, None] * used[..., None, :] * apart).sum(axis=(-2, -1))
    found = 1 - (n - 1) * divided((together * apart).sum(axis=(-2, -1)), chance)
    return np.where(((used > 1e-9).sum(axis=-1) > 1) & (chance > 0), found, NAN)


def nominal_alpha(matched: Array, used: Array) -> Array:
    n = used.sum(axis=-1)
    chance = n**2 - (used**2).sum(axis=-1)
    return np.where(chance > 0, 1 - (n - 1) * divided(n - matched, chance), NAN)


def specific(tables: Array, cell: int) -> Array:
    both = 2 * tables[..., cell, cell]
    return divided(both, both + tables[..., 0, 1] + tables[..., 1, 0])


def of_two(sums: Array, scale: str, q: int) -> dict[str, Array]:
    """``sums``: tables of two reviewers, flat."""
    tables = sums.reshape(*sums.shape[:-1], q, q)
    n, agreed = tables.sum(axis=(-2, -1)), np.trace(tables, axis1=-2, axis2=-1)
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    po, mean = divided(agreed, n), divided(rows + columns, 2 * n[..., None])
    both = tables + np.swapaxes(tables, -1, -2)
    found = {"percent_agreement": po}
    if scale == "grades":
        return found | {
            "cohen_kappa_quadratic": kappa(tables, quadratic(q)),
            "krippendorff_alpha_ordinal": ordinal_alpha(both),
        }
    found |= {
        "cohen_kappa": kappa(tables, np.eye(q)),
        "gwet_ac1": beyond_chance(po, (mean * (1 - mean)).sum(axis=-1) / (q - 1)),
        "brennan_prediger": beyond_chance(po, np.full_like(po, 1 / q)),
    }
    if scale == "choice":
        return found | {"krippendorff_alpha_nominal": nominal_alpha(2 * agreed, both.sum(axis=-1))}
    names = ("specific_agreement_positive", "specific_agreement_negative")
    return found | {name: specific(tables, cell) for cell, name in enumerate(names)}


def of_more(sums: Array, scale: str, q: int) -> dict[str, Array]:
    """``sums``: of questions, their agreement, their shares, how often each value was chosen, coincidences, pairs."""
    n, agreed, rest = sums[..., 0], sums[..., 1], sums[..., 2:]
    chosen, used = rest[..., :q], rest[..., q : 2 * q]
    together = rest[..., 2 * q : 2 * q + q * q].reshape(*rest.shape[:-1], q, q)
    tables = rest[..., 2 * q + q * q :].reshape(*rest.shape[:-1], q, q)
    po, mean = divided(agreed, n), divided(chosen, n[..., None])
    found = {"percent_agreement": po}
    if scale == "grades":
        return found | {"krippendorff_alpha_ordinal": ordinal_alpha(together)}
    found |= {
        "fleiss_kappa": beyond_chance(po, (mean**2).sum(axis=-1)),
        "gwet_ac1": beyond_chance(po, (mean * (1 - mean)).sum(axis=-1) / (q - 1)),
        "brennan_prediger": beyond_chance(po, np.full_like(po, 1 / q)),
    }
    if scale == "choice":
        alpha = nominal_alpha(np.trace(together, axis1=-2, axis2=-1), used)
        return found | {"krippendorff_alpha_nominal": alpha}
    names = ("specific_agreement_positive", "specific_agreement_negative")
    return found | {name: specific(tables, cell) for cell, name in enumerate(names)}


def columns_of_more(counts: Array) -> Array:
    """What each question adds to ``of_more``; 0 below two ratings."""
    r, q = counts.sum(axis=1), counts.shape[1]
    is_paired = (r > 1)[:, None]
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(q)
    agreed = divided((counts * (counts - 1)).sum(axis=1), r * (r - 1))[:, None]
    together = divided(pairs, (r - 1)[:, None, None]).reshape(len(r), -1)
    parts = (np.ones((len(r), 1)), agreed, divided(counts, r[:, None]), counts, together, pairs.reshape(len(r), -1))
    return np.where(is_paired, np.concatenate(parts, axis=1), 0.0)


def limits(replicates: Array, n: int, n_clusters: int | None) -> tuple[Number, Number]:
    """Percentile limits over the draws in which the statistic is defined."""
    defined = replicates[~np.isnan(replicates)]
    if n < 10 or (n_clusters is not None and n_clusters < 10) or not len(defined):
        return None, None
    if len(defined) < 0.95 * len(replicates) or np.ptp(defined) < 1e-12:
        return None, None
    low, high = np.percentile(defined, [2.5, 97.5]).tolist()
    return low, high


def units_of(clusters: Sequence[int]) -> tuple[Array, bool]:
    present, number = np.unique(clusters, return_inverse=True)
    return (number, True) if len(present) < len(clusters) else (np.arange(len(clusters)), False)


def ac2(codes: Array, q: int) -> tuple[Numbers, Numbers]:
    """Weighted share of pairs that agree, and Gwet's AC2 with quadratic weights and its linearised error."""
    grades = [one[one >= 0] for one in codes.T]
    grades = [one for one in grades if len(one) > 1]
    if not grades:
        return {"value": None}, {"value": None}
    weight = 1 - (np.subtract.outer(range(q), range(q)) / (q - 1)) ** 2
    shares = np.array([np.bincount(one, minlength=q) / len(one) for one in grades])
    agreed = []
    for one in grades:
        pairs = [weight[a, b] for i, a in enumerate(one) for j, b in enumerate(one) if i != j]
        agreed.append(float(np.mean(pairs)))
    chance = weight.sum() / (q * (q - 1)) * (shares @ (1 - shares.mean(axis=0)))
    po, pe, n = float(np.mean(agreed)), float(np.mean(chance)), len(grades)
    plain: Numbers = {"value": po, "low": None, "high": None}
    if 1 - pe < 1e-12:
        return plain, {"value": None}
    value = (po - pe) / (1 - pe)
    off = (np.array(agreed) - pe) / (1 - pe) - 2 * (1 - value) * (chance - pe) / (1 - pe) - value
    error = float(np.sqrt(off @ off / (n * (n - 1)))) if n > 1 else 0.0
    found: Numbers = {"value": value, "low": None, "high": None}
    if error >= 1e-12 and n >= 10:
        half = float(stats.t.ppf(0.975, n - 1)) * error
        found |= {"low": max(-1.0, value - half), "high": min(1.0, value + half)}
    return plain, found


def icc(codes: Array) -> Numbers:
    """ICC(2,1) of the questions that every reviewer graded, and its limits after Shrout and Fleiss."""
    table = codes[:, (codes >= 0).all(axis=0)].T.astype(float)
    nothing: Numbers = {"value": None, "low": None, "high": None}
    n, k = table.shape
    if n < 2 or k < 2:
        return nothing
    rows, columns = table.mean(axis=1) - table.mean(), table.mean(axis=0) - table.mean()
    ms_rows, ms_columns = k * (rows @ rows) / (n - 1), n * (columns @ columns) / (k - 1)
    rest = float(((table - table.mean() - rows[:, None] - columns) ** 2).sum() / ((n - 1) * (k - 1)))
    above, below = ms_rows - rest, ms_rows + (k - 1) * rest + k * (ms_columns - rest) / n
    if below <= 1e-12 or above < -below * (1 + 1e-12):
        return nothing
    rho = above / below
    found = nothing | {"value": float(rho)}
    if rest <= 1e-12:
        return found
    part, other = k * rho * ms_columns / rest, n * (1 + (k - 1) * rho) - k * rho
    spread = (n - 1) * part**2 + other**2
    df = (k - 1) * (n - 1) * (part + other) ** 2 / spread if spread > 1e-12 else 0.0
    if not df > 0:
        return found
    f_low, f_high = float(stats.f.ppf(0.975, n - 1, df)), float(stats.f.ppf(0.975, df, n - 1))
    judges = k * ms_columns + (k * n - k - n) * rest
    below_low, below_high = f_low * judges + n * ms_rows, judges + n * f_high * ms_rows
    if min(below_low, below_high) <= 1e-12:
        return found
    low, high = n * (ms_rows - f_low * rest) / below_low, n * (f_high * ms_rows - rest) / below_high
    return found | {"low": max(-1.0, low), "high": min(1.0, high)} if low <= high else found


def fields(reviews: Sequence[SubmittedReview]) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Every field that was asked, its scale and its values in order."""
    numbers = tuple(str(grade) for grade in range(1, 6))
    found: list[tuple[str, str, Sequence[str]]] = [
        *((f"grade_{name}", "grades", numbers) for name in GRADES),
        ("blind_difficulty", "grades", LEVELS),
        ("blind_best", "choice", ("A", "B", "C", "D", "")),
        ("verdict", "choice", VERDICTS),
        ("needs_image", "choice", DEGREES),
        ("relevant", "choice", DEGREES),
        *((name, "flag", ("true", "false")) for name in reviews[0].cells if name.startswith("flag_")),
    ]
    yield from (one for one in found if any(review.answer_in(one[0]) is not None for review in reviews))


def agreement(report: ReportFiles) -> Table:
    several = {one: reviews for one, reviews in report.of_question.items() if len(reviews) > 1}
    if not several:
        return {}
    reviews = [one for of_one in several.values() for one in of_one]
    reviewers = sorted({one.cells["reviewer"] for one in reviews})
    row, column = ({one: place for place, one in enumerate(known)} for known in (reviewers, several))
    number, clustered = units_of([report.cluster[one] for one in several])
    drawn = report.drawn("fields", int(number.max()) + 1)
    found: Table = {}
    for name, scale, values in fields(reviews):
        codes = np.full((len(reviewers), len(several)), -1)
        for one in reviews:
            answer = one.answer_in(name)
            codes[row[one.cells["reviewer"]], column[one.question]] = values.index(answer) if answer in values else -1
        q, is_two = len(values), len(reviewers) == 2
        counts = np.stack([(codes == value).sum(axis=0) for value in range(q)], axis=1)
        r = counts.sum(axis=1)
        of_questions = np.eye(q * q)[codes[0] * q + codes[1]] * (r > 1)[:, None] if is_two else columns_of_more(counts)
        of_units = np.zeros((drawn.shape[1], of_questions.shape[1]))
        np.add.at(of_units, number, of_questions)
        statistics = of_two if is_two else of_more
        sums = of_questions.sum(axis=0)
        replicates, n = statistics(drawn @ of_units, scale, q), int((r > 1).sum())
        n_clusters = len(np.unique(number[r > 1])) if clustered else None
        about: Numbers = {
            "n_questions": n,
            "n_pairs": int((r * (r - 1) // 2).sum()),
            "n_cannot_judge": sum(one.answer_in(name) == "cannot_judge" for one in reviews),
        }
        agreed = int((counts * (counts - 1)).sum() // 2) if is_two else -1
        for statistic, value in statistics(sums, scale, q).items():
            low, high = limits(replicates[statistic], n, n_clusters)
            if is_two and agreed in (0, n):
                low = high = None
            if is_two and not clustered and n >= 10 and statistic in ("percent_agreement", "brennan_prediger"):
                low, high = wilson(agreed / n, n)
                if statistic == "brennan_prediger":
                    low, high = ((limit - 1 / q) / (1 - 1 / q) for limit in (low, high))
            is_number = bool(np.isfinite(value))
            numbers: Numbers = {"value": float(value), "low": low, "high": high} if is_number else {"value": None}
            found[name, statistic] = numbers | about
        if scale == "grades":
            found[name, "icc2_1"] = icc(codes) | about
            found[name, "percent_agreement_weighted"], found[name, "gwet_ac2_quadratic"] = (
                one | about for one in ac2(codes, q)
            )
    return found


def known_difficulty(one: SubmittedReview) -> bool:
    return one.best is not None and one.cells["difficulty"] in LEVELS and one.cells["blind_difficulty"] in LEVELS


def difficulty(report: ReportFiles) -> Table:
    known = [one for of_one in report.of_question.values() for one in of_one if known_difficulty(one)]
    if not known:
        return {}
    cells = [(LEVELS.index(one.cells["difficulty"]), LEVELS.index(one.cells["blind_difficulty"])) for one in known]
    tables = np.zeros((len(known), 3, 3))
    for row, cell in enumerate(cells):
        tables[(row, *cell)] = 1
    table, n = tables.sum(axis=0), len(known)
    number, clustered = units_of([report.cluster[one.question] for one in known])
    of_units = np.zeros((int(number.max()) + 1, 9))
    np.add.at(of_units, number, tables.reshape(n, 9))
    drawn = report.drawn("stated_difficulty", len(of_units)) @ of_units
    value = float(kappa(table, quadratic(3)))
    low, high = limits(kappa(drawn.reshape(-1, 3, 3), quadratic(3)), n, len(of_units) if clustered else None)
    if np.trace(table) in (0, n):
        low = high = None
    is_number = math.isfinite(value)
    found: Table = {("cohen_kappa_quadratic", "", ""): {"value": value if is_number else None, "n": n}}
    if is_number:
        found["cohen_kappa_quadratic", "", ""] |= {"low": low, "high": high}
    for name, sign in (("same", 0), ("easier", -1), ("harder", 1)):
        one = share(np.sign(judged - stated) == sign for stated, judged in cells)
        found[name, "", ""] = {"value": one["share"], "low": one["low"], "high": one["high"], "n": n}
    for (stated, judged), count in np.ndenumerate(table):
        found["answers", LEVELS[stated], LEVELS[judged]] = {"value": int(count), "n": n}
    return found


# --- comparing ------------------------------------------------------------------------------------------------------
COMPUTED = {
    "outcomes": outcomes,
    "outcomes_by": outcomes_by,
    "shares": shares,
    "choices": choices,
    "grades": grades,
    "agreement": agreement,
    "difficulty": difficulty,
    "times": times,
}
NUMBERS = {  # the columns that are compared
    *("count", "n", "share", "low", "high", "cluster_low", "cluster_high", "reviews", "value", "median"),
    *("n_questions", "n_pairs", "n_cannot_judge", *(f"n_{grade}" for grade in range(1, 6))),
}


def is_equal(stored: str, computed: Number) -> bool:
    if not stored or computed is None:
        return not stored and computed is None
    try:
        return math.isclose(float(stored), computed, rel_tol=1e-9, abs_tol=1e-12)
    except ValueError:
        return False


def compare(name: str, rows: Sequence[Mapping[str, str]], computed: Table) -> list[str]:
    stored = {tuple(row[column] for column in ABOUT[name]): row for row in rows}
    different = [f"{name}: a row is there twice"] if len(stored) < len(rows) else []
    different += [f"{name}, {', '.join(one)}: not computed" for one in stored.keys() - computed.keys()]
    different += [f"{name}, {', '.join(one)}: the row is missing" for one in computed.keys() - stored.keys()]
    for about in stored.keys() & computed.keys():
        for column in NUMBERS & stored[about].keys() - {*ABOUT[name]}:
            found, number = stored[about][column], computed[about].get(column)
            if not is_equal(found, number):
                different.append(f"{name}, {', '.join(about)}, {column}: {found or 'empty'}, computed {number}")
    return sorted(different)


def differences(folder: Path) -> list[str]:
    """What differs in the tables of a report, and the tables that nothing here computes."""
    report = read_report(folder)
    tables = {path.stem: rows_of(path) for path in sorted((folder / "tables").glob("*.csv"))}
    tables.pop("codebook", None)
    unknown = [f"not checked: {name}" for name in sorted(tables.keys() - COMPUTED.keys())]
    return unknown + [
        one for name, make in COMPUTED.items() for one in compare(name, tables.get(name, []), make(report))
    ]
