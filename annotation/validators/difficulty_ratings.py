"""Who says how difficult the questions of a bank are, and how each two agree: the bank, a model, reviewers, readers.

What is stated in the bank is the generator's own rating where a model wrote the question. Only agreement is shown, and
no rating of any one question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.contributions import contributed
from annotation.enums import Difficulty, RoundState
from annotation.models import Finding, Question, QuestionBank, Revision
from annotation.outcomes.agreement import panel_difficulty
from annotation.quality.kernels.validity_parts import RATING, STATED
from annotation.review.kernels.sampling import RatedBy
from annotation.review.outcomes import blind_answers
from annotation.statistics.kernels.bootstrap import units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.reviewers import grade_agreement

DRAWS = 2_000


@dataclass(frozen=True)
class RatingPair:
    """Two sources over the wordings that both rate; kappa has quadratic weights."""

    first: RatedBy
    second: RatedBy
    same: int  # how many both rate alike
    kappa: Estimate

    @property
    def labels(self) -> tuple[str, str]:
        return _(self.first.label), _(self.second.label)


@dataclass(frozen=True)
class DifficultySources:
    counts: dict[RatedBy, dict[str, int]]  # by source: how many wordings are easy, medium, hard
    pairs: list[RatingPair]

    def as_json(self) -> dict[str, Any]:
        pairs = [
            {"between": [p.first.value, p.second.value], "same": p.same, "kappa": p.kappa.as_json()} for p in self.pairs
        ]
        return {"counts": {source.value: found for source, found in self.counts.items()}, "pairs": pairs}


def compare_sources(bank: QuestionBank, hidden: QuerySet[Question], *, seed: int = 1) -> DifficultySources:
    """Over the current wordings, without questions hidden from who asks."""
    current = Revision.objects.in_bank(bank).current().exclude(question__in=hidden)
    columns = ("pk", "difficulty", "question__exam__pseudonym", "question__exam__patient_pseudonym")
    rows = list(current.order_by("pk").values_list(*columns))
    clusters = {pk: patient or f"exam {exam}" for pk, _stated, exam, patient in rows}
    sources: dict[RatedBy, dict[int, str]] = {
        RatedBy.STATED: {pk: stated for pk, stated, _exam, _patient in rows},
        RatedBy.MODEL: by_model(bank),
        RatedBy.REVIEWERS: by_reviewers(bank),
        RatedBy.READERS: by_readers(bank),
    }
    rated = {
        name: {pk: level for pk, level in found.items() if pk in clusters and level in STATED}
        for name, found in sources.items()
    }
    counts = {
        name: {level.value: sum(one == level for one in found.values()) for level in STATED}
        for name, found in rated.items()
    }
    pairs = [_pair(first, second, rated, clusters, seed) for first, second in combinations(rated, 2)]
    return DifficultySources(counts, pairs)


def by_model(bank: QuestionBank) -> dict[int, str]:
    """The newest rating of each wording, of whichever model."""
    found = Finding.objects.filter(bank=bank, rule=RATING, superseded_at=None).exclude(call=None)
    return dict(found.order_by("pk").values_list("revision", "verdict"))


def by_reviewers(bank: QuestionBank) -> dict[int, str]:
    """The median of the blind answers of closed rounds, the harder of two in the middle."""
    answers = blind_answers(Revision.objects.in_bank(bank).order_by().values("pk")).filter(
        round__state=RoundState.CLOSED
    )
    judged: dict[int, list[str]] = defaultdict(list)
    for revision, level in answers.values_list("revision", "blind_answer__difficulty"):
        judged[revision].append(level)
    return {revision: panel_difficulty(levels).value for revision, levels in judged.items()}


def by_readers(bank: QuestionBank) -> dict[int, str]:
    found: dict[int, str] = {}
    for source in contributed().readers_right:
        found |= {revision: difficulty_of_share(k, n).value for revision, (k, n) in source(bank).items() if n}
    return found


def difficulty_of_share(n_right: int, n_readers: int) -> Difficulty:
    """Of a question that one reader or more answered, on the scale whose anchors reviewers see.

    Rule ``readers-1``: of ten, 9 or 10 right is easy, 6 to 8 medium, 5 or fewer hard; shares in between go to the
    nearer.
    """
    if 20 * n_right >= 17 * n_readers:
        return Difficulty.EASY
    return Difficulty.MEDIUM if 20 * n_right >= 11 * n_readers else Difficulty.HARD


def _pair(
    first: RatedBy, second: RatedBy, rated: Mapping[RatedBy, Mapping[int, str]], clusters: Mapping[int, str], seed: int
) -> RatingPair:
    both = sorted(rated[first].keys() & rated[second].keys())
    place = {level.value: number for number, level in enumerate(STATED)}
    codes = np.array([[place[rated[name][pk]] for pk in both] for name in (first, second)], dtype=np.int64)
    units = units_of(np.unique([clusters[pk] for pk in both], return_inverse=True)[1])
    found = grade_agreement(codes.reshape(2, -1), 3, units, seed=seed, panel=f"{first} {second}", draws=DRAWS)
    same = sum(rated[first][pk] == rated[second][pk] for pk in both)
    return RatingPair(first, second, same, found["cohen_kappa_quadratic"])
