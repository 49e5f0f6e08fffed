"""A bank with vectors of an embedding, and pairs of it that two people judge."""

from __future__ import annotations

import numpy as np

from annotation.management.base import ShownProgress
from annotation.models import Embedding, PairJudgement, PairTrial, QuestionBank, QuestionVector, Revision, User
from annotation.validators.judging_pairs import draw_pairs
from tests.annotation.model_calls.simulated_calls import NOON


def with_vectors(bank: QuestionBank, *, model: str = "embedding", seed: int = 4) -> Embedding:
    """Vectors of 8 numbers, drawn; most are somewhat similar."""
    made = Embedding.objects.create(endpoint="stand-in", model=model, dimension=8, created_at=NOON)
    drawn = np.random.default_rng(seed)
    for revision in Revision.objects.in_bank(bank).current().order_by("question__number"):
        vector = drawn.standard_normal(8) + 0.5
        vector /= np.linalg.norm(vector)
        QuestionVector.objects.create(
            embedding=made, revision=revision, text_sha256="0" * 64, vector=vector.astype("<f4").tobytes()
        )
    return made


def trial_of(bank: QuestionBank, embedding: Embedding, first: User, second: User) -> PairTrial:
    trial = PairTrial.objects.create(
        bank=bank,
        embedding=embedding,
        seed=1,
        first_judge=first,
        second_judge=second,
        created_by=first,
        created_at=NOON,
    )
    draw_pairs(trial, ShownProgress(None))
    return trial


def judge_all(trial: PairTrial, person: User, *, same_from: float) -> None:
    """As ``judge_pair`` stores it, of all pairs at once and unlogged."""
    rows = (
        PairJudgement(pair=pair, judge=person, is_same=pair.similarity >= same_from, judged_at=NOON)
        for pair in trial.pairs.all()
    )
    PairJudgement.objects.bulk_create(rows, ignore_conflicts=True)  # the first word stays
