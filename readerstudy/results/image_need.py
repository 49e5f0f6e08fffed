"""What a model answers right without the image, beside how far reviewers say that the question needs it.

Of several reviews of a question the lowest word counts: "no" before "partly" before "yes". So "yes" means that nobody
who could judge it answered less. Whoever judges in a round learns nothing of it here, and nothing of a question that
they review.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import QuerySet

from annotation.call_enums import OF_SERVER
from annotation.enums import EXPLANATIONS, Degree, RoundState
from annotation.models import ModelCall, ReviewRound, User
from annotation.review.onlookers import rounds_in_sight, rounds_with_outcomes_for
from annotation.review.outcomes import newest_reviews
from annotation.statistics.kernels.estimate import Value
from annotation.statistics.kernels.proportions import accuracy, clustered_accuracy
from readerstudy.analysis.kernels.result import LETTERS
from readerstudy.model_runs.asked_questions import hidden_from
from readerstudy.models import ModelRun
from readerstudy.results.variants import RunFamily, questions_asked

LOWEST_FIRST = (Degree.NO, Degree.PARTLY, Degree.YES)


@dataclass(frozen=True)
class JudgedQuestion:
    revision_id: int
    number: int  # in the bank
    cluster: int
    need: Degree  # the lowest word of its reviewers
    n_reviews: int  # that judged it
    is_right: bool  # the model, without the image


@dataclass(frozen=True)
class NeedRow:
    """``need`` None: all of these questions."""

    need: Degree | None
    right: Value  # share that the model has right without the image

    @property
    def label(self) -> str:
        return self.need.label if self.need else ""


@dataclass(frozen=True)
class ImageNeed:
    """``n_rounds_hidden``: rounds that this person judges in, of which nothing is counted."""

    run: ModelRun
    questions: list[JudgedQuestion]
    n_cannot_judge: int = 0  # questions that were reviewed, and of which nobody could say it
    n_questions_hidden: int = 0
    n_rounds_hidden: int = 0
    reviews_per_question: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def is_clustered(self) -> bool:
        return len({one.cluster for one in self.questions}) < len(self.questions)

    @property
    def rows(self) -> list[NeedRow]:
        """From "yes" down, then all; by cluster where questions share exams or patients."""
        of: list[Degree | None] = [*reversed(LOWEST_FIRST), None]
        return [NeedRow(need, self._right(one for one in self.questions if need in (None, one.need))) for need in of]

    def _right(self, questions: Iterable[JudgedQuestion]) -> Value:
        some = list(questions)
        right = np.array([one.is_right for one in some], dtype=np.int8)
        if not self.is_clustered:
            return accuracy(right).as_json()
        return clustered_accuracy(right, np.array([one.cluster for one in some], dtype=np.int32)).accuracy.as_json()

    @property
    def right_without(self) -> list[JudgedQuestion]:
        """Right without the image, although reviewers say that it is needed; by number."""
        return [one for one in self.questions if one.is_right and one.need == Degree.YES]

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run.batch.public_id,
            "rule": "the lowest word of the reviewers of a question",
            "reviews_per_question": self.reviews_per_question,
            "cannot_judge": self.n_cannot_judge,
            "hidden_rounds": self.n_rounds_hidden,
            "needs_image": [{"needs_image": row.need or "all", "right_without_image": row.right} for row in self.rows],
            "right_although_needed": [one.number for one in self.right_without],
        }


def image_need(family: RunFamily, person: User | None) -> ImageNeed | None:
    """By the newest run without images; None where there is none. On the command line (None) of closed rounds alone."""
    run = family.text_only
    if run is None:
        return None
    rounds, n_rounds_hidden = _rounds(run, person)
    reviews = newest_reviews(*rounds).exclude(needs_image="").order_by()
    reviewed = reviews.values("assignment__revision")
    words: dict[int, list[str]] = defaultdict(list)
    for revision, word in reviews.values_list("assignment__revision", "needs_image"):
        words[revision].append(word)
    questions = questions_asked([run], reviewed)
    hidden = hidden_from(person) if person else set()
    found, counts = [], Counter[str]()
    for revision, question, number, option in _answers(run, reviewed):
        column, need = questions.column_of.get(revision), _lowest(words[revision])
        if column is None:
            continue
        if question in hidden:
            counts["hidden"] += 1
        elif need is None:
            counts["cannot judge"] += 1
        else:
            is_right = option == LETTERS[questions.key[column]]
            n_reviews = sum(word in LOWEST_FIRST for word in words[revision])
            found.append(JudgedQuestion(revision, number, int(questions.cluster[column]), need, n_reviews, is_right))
    return ImageNeed(
        run,
        found,
        n_cannot_judge=counts["cannot judge"],
        n_questions_hidden=counts["hidden"],
        n_rounds_hidden=n_rounds_hidden,
        reviews_per_question=sorted(Counter(one.n_reviews for one in found).items()),
    )


def _answers(run: ModelRun, among: QuerySet[Any, Any]) -> Iterator[tuple[int, int, int, str]]:
    """Revision, question, its number and the option, by number."""
    calls = ModelCall.objects.filter(batch=run.batch_id, rotation=0, repeat=0, revision__in=among).exclude(
        outcome__in=OF_SERVER
    )
    columns = ("revision_id", "revision__question_id", "revision__question__number", "option")
    return calls.order_by("revision__question__number", "revision").values_list(*columns).iterator()


def _rounds(run: ModelRun, person: User | None) -> tuple[list[ReviewRound], int]:
    if person is not None:
        return rounds_in_sight(person, run.batch.bank)
    begun = ReviewRound.objects.filter(plan__bank=run.batch.bank_id).exclude(state=RoundState.DRAFT)
    begun = begun.exclude(plan__rule=EXPLANATIONS)
    seen = rounds_with_outcomes_for(None, begun)
    rounds = list(begun)
    return [one for one in rounds if one.pk in seen], len(rounds) - len(seen)


def _lowest(words: Iterable[str]) -> Degree | None:
    return next((one for one in LOWEST_FIRST if one in set(words)), None)
