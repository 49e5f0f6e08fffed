"""How difficult reviewers found questions before they saw the key, beside what the bank states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from django.db.models import F, OuterRef, Subquery
from numpy.typing import NDArray

from annotation.enums import Difficulty
from annotation.models import AnswerKey, ReviewRound
from annotation.outcomes.agreement import DIFFICULTIES, DRAWS
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.bootstrap import generator, percentile_intervals, resampled_totals, units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.pairs import cohen_kappa, result_of
from annotation.statistics.kernels.reviewers import PANEL, quadratic_weights

FAMILY = "stated_difficulty"  # of draws


@dataclass(frozen=True)
class JudgedDifficulty:
    """One blind answer; ``stated`` may be unknown."""

    question: int  # its wording
    cluster: str  # patient, or exam where no patient is known
    stated: str
    judged: str
    is_key: bool  # the answer was the key


@dataclass(frozen=True)
class DifficultyTable:
    """Blind answers by stated (rows) and judged difficulty (columns), and their agreement.

    The interval of ``kappa`` is drawn over questions, or over patients or exams where one holds several: the answers to
    one question go together.
    """

    counts: list[tuple[Difficulty, list[int]]]
    n_questions: int
    n_unknown: int  # answers to questions without a stated difficulty: they enter nothing
    kappa: Estimate
    same: Estimate  # judged as stated
    easier: Estimate
    harder: Estimate
    ceiling: list[tuple[Difficulty, Estimate]]  # of the answers with this judged difficulty, how many are the key


def judged_difficulties(rounds: Sequence[ReviewRound]) -> list[JudgedDifficulty]:
    """Of every blind answer of a submitted review, in one query."""
    rows = newest_reviews(*rounds).filter(assignment__blind_answer__isnull=False)
    columns = {
        "question": F("assignment__revision"),
        "exam": F("assignment__revision__question__exam__pseudonym"),
        "patient": F("assignment__revision__question__exam__patient_pseudonym"),
        "stated": F("assignment__revision__difficulty"),
        "judged": F("assignment__blind_answer__difficulty"),
        "best": F("assignment__blind_answer__best"),
        "key": Subquery(AnswerKey.objects.filter(pk=OuterRef("assignment__revision")).values("key")),
    }
    found = rows.order_by("assignment__revision", "pk").annotate(**columns).values_list(*columns)
    return [
        JudgedDifficulty(question, patient or f"exam {exam}", stated, judged, best == key)
        for question, exam, patient, stated, judged, best, key in found
    ]


def difficulty_table(answers: Sequence[JudgedDifficulty], *, seed: int, draws: int = DRAWS) -> DifficultyTable | None:
    """None where nobody rated a question of stated difficulty."""
    known = [one for one in answers if one.stated in DIFFICULTIES and one.judged in DIFFICULTIES]
    if not known:
        return None
    place = {level.value: number for number, level in enumerate(DIFFICULTIES)}
    tables = np.zeros((len(known), 3, 3), dtype=np.int64)
    for row, one in enumerate(known):
        tables[row, place[one.stated], place[one.judged]] = 1
    table = tables.sum(axis=0)
    n = len(known)
    below = int(np.tril(table, -1).sum())  # judged easier than stated
    of_level: dict[str, list[bool]] = defaultdict(list)
    for one in answers:
        of_level[one.judged].append(one.is_key)
    return DifficultyTable(
        counts=[(level, row) for level, row in zip(DIFFICULTIES, table.tolist(), strict=True)],
        n_questions=len({one.question for one in known}),
        n_unknown=len(answers) - n,
        kappa=_kappa(known, tables, table, seed, draws),
        same=share(int(np.trace(table)), n),
        easier=share(below, n),
        harder=share(n - below - int(np.trace(table)), n),
        ceiling=[(level, share(sum(of_level[level]), len(of_level[level]))) for level in DIFFICULTIES],
    )


def _kappa(
    known: Sequence[JudgedDifficulty], tables: NDArray[np.int64], table: NDArray[np.int64], seed: int, draws: int
) -> Estimate:
    units = units_of(np.unique([one.cluster for one in known], return_inverse=True)[1])
    weights = quadratic_weights(3)
    drawn = resampled_totals(units.sums(tables), generator(seed, PANEL, FAMILY), draws)
    replicates = cohen_kappa(drawn, weights)[:, np.newaxis]
    [interval] = percentile_intervals(replicates, len(known), units.m if units.clustered else None)
    value = float(cohen_kappa(table, weights))
    return result_of(value, table, ci95=interval.ci95, method=units.method, flags=interval.flags)


def panel_difficulty(judged: Iterable[str]) -> Difficulty:
    """What the reviewers of a question say together: the median, the harder of the two in the middle."""
    place = sorted(DIFFICULTIES.index(Difficulty(one)) for one in judged)
    return DIFFICULTIES[place[len(place) // 2]]
