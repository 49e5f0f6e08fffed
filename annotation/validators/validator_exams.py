"""How validators do on questions whose truth is known, and how hard they find questions.

What is stated in the bank is the generator's own rating where a model wrote the question. Only agreement is shown, and
no rating of any one question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.contributions import contributed
from annotation.enums import EXPLANATIONS, Difficulty, RoundState
from annotation.models import Finding, PromptVersion, Question, QuestionBank, Review, ReviewRound, Revision
from annotation.questionbank.kernels.question_checks import BY_VERDICT, RATING, STATED
from annotation.questionbank.validity import count_parts, gate_of
from annotation.review.kernels.settling import panel_difficulty
from annotation.review.outcomes import ASKED_BY, blind_answers, flags_asked_by_forms, newest_reviews
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.sampling import RatedBy
from annotation.validators.kernels.validator_exam import JudgedTwice, ReviewerExam, examine, has_fault, says_fault

DRAWS = 2_000


class RatingPair(Struct, frozen=True):
    """Two sources over the wordings that both rate; kappa has quadratic weights."""

    first: RatedBy
    second: RatedBy
    same: int  # how many both rate alike
    kappa: Estimate
    table: list[list[int]]  # wordings by the level of the first (rows) and of the second (columns)

    @property
    def labels(self) -> tuple[str, str]:
        return _(self.first.label), _(self.second.label)

    @property
    def rows(self) -> list[tuple[str, list[int]]]:
        """The table with the words of its levels."""
        return [(_(level.label), row) for level, row in zip(STATED, self.table, strict=True)]


class DifficultySources(Struct, frozen=True):
    counts: dict[RatedBy, dict[str, int]]  # by source: how many wordings are easy, medium, hard
    pairs: list[RatingPair]

    def as_json(self) -> dict[str, Any]:
        pairs = [
            {"between": [p.first.value, p.second.value], "same": p.same, "kappa": p.kappa.as_json(), "table": p.table}
            for p in self.pairs
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
    import numpy as np  # not at every start

    from annotation.statistics.kernels.bootstrap import units_of
    from annotation.statistics.kernels.reviewers import grade_agreement

    both = sorted(rated[first].keys() & rated[second].keys())
    place = {level.value: number for number, level in enumerate(STATED)}
    codes = np.array([[place[rated[name][pk]] for pk in both] for name in (first, second)], dtype=np.int64)
    units = units_of(np.unique([clusters[pk] for pk in both], return_inverse=True)[1])
    found = grade_agreement(codes.reshape(2, -1), 3, units, seed=seed, panel=f"{first} {second}", draws=DRAWS)
    table = np.zeros((3, 3), dtype=np.int64)
    np.add.at(table, tuple(codes.reshape(2, -1)), 1)
    return RatingPair(first, second, int(np.trace(table)), found["cohen_kappa_quadratic"], table.tolist())


Asked = tuple[int, str]  # prompt version and model: whoever changes one of them has another validator


class ExamByReviewers(Struct, frozen=True):
    prompt: PromptVersion
    model: str
    exam: ReviewerExam


def exams_by_reviewers(bank: QuestionBank, validator: str, hidden: QuerySet[Question]) -> list[ExamByReviewers]:
    """For each prompt version and model whose verdicts meet reviews; without questions hidden from who asks."""
    opinions = _opinions(bank, validator, hidden)
    groups: dict[Asked, dict[int, str]] = defaultdict(dict)
    reviewed = Review.objects.filter(assignment__revision=OuterRef("revision"), assignment__round__in=_closed(bank))
    made = Finding.objects.filter(Exists(reviewed), bank=bank, rule=validator).exclude(call=None)
    columns = ("call__batch__prompt", "call__batch__model", "revision", "verdict")
    for prompt, model, revision, verdict in made.order_by("found_at", "pk").values_list(*columns):
        if revision in opinions:
            groups[prompt, model][revision] = verdict  # the newest one is last
    prompts = PromptVersion.objects.in_bulk({prompt for prompt, _model in groups})
    return [
        ExamByReviewers(prompts[prompt], model, examine(_judged(verdicts, opinions), validator=validator))
        for (prompt, model), verdicts in sorted(groups.items())
    ]


Opinion = tuple[bool, str]  # whether its reviewers say that it has the fault; its cluster


def _judged(verdicts: dict[int, str], opinions: dict[int, Opinion]) -> list[JudgedTwice]:
    return [JudgedTwice(verdict, *opinions[revision]) for revision, verdict in sorted(verdicts.items())]


def _closed(bank: QuestionBank | None = None) -> QuerySet[ReviewRound]:
    """Rounds whose reviews are final, without calibration, adjudication and explanations of models."""
    rounds = ReviewRound.objects.filter(state=RoundState.CLOSED, calibrates=None, adjudicates=None)
    rounds = rounds.exclude(plan__rule=EXPLANATIONS)
    return rounds if bank is None else rounds.filter(plan__bank=bank)


def _opinions(bank: QuestionBank, validator: str, hidden: QuerySet[Question]) -> dict[int, Opinion]:
    """By wording, where its reviewers say something of this fault."""
    reviews = newest_reviews(*_closed(bank)).exclude(assignment__revision__question__in=hidden)
    columns: dict[str, Any] = {
        "wording": F("assignment__revision"),
        "exam": F("assignment__revision__question__exam__pseudonym"),
        "patient": F("assignment__revision__question__exam__patient_pseudonym"),
    }
    rows = reviews.order_by("pk").annotate(**columns).values_list(*columns, "needs_image", "grades", *ASKED_BY)
    asked = flags_asked_by_forms()
    by_wording: dict[int, list[bool | None]] = defaultdict(list)
    clusters: dict[int, str] = {}
    for wording, exam, patient, needs_image, grades, form, answered_at, flags in rows:
        of = asked(form, answered_at, flags)
        opinion = says_fault(validator, needs_image=needs_image, grades=grades, flags=flags, asked=of)
        by_wording[wording].append(opinion)
        clusters[wording] = patient or f"exam {exam}"
    found = {wording: has_fault(opinions) for wording, opinions in by_wording.items()}
    return {wording: (fault, clusters[wording]) for wording, fault in found.items() if fault is not None}


def examined(bank: QuestionBank, verdicts: Iterable[Finding]) -> set[int]:
    """Ids of those verdicts whose prompt version and model meet reviews in this bank; one query.

    ``verdicts`` with call and batch loaded. Every other one is marked "not examined".
    """
    asked = {one.pk: (one.rule, one.call.batch.prompt_id, one.call.batch.model) for one in verdicts if one.call}
    if not asked:
        return set()
    reviewed = Review.objects.filter(assignment__revision=OuterRef("revision"), assignment__round__in=_closed(bank))
    made = Finding.objects.filter(Q(rule__in=BY_VERDICT), Exists(reviewed), bank=bank).exclude(call=None).order_by()
    known = set(made.values_list("rule", "call__batch__prompt", "call__batch__model").distinct())
    return {pk for pk, validator in asked.items() if validator in known}


def results_as_json(bank: QuestionBank) -> dict[str, Any]:
    """The verdicts of validators on the bank so far, and how good they are; for the command line, which sees all."""
    nobody = Question.objects.none()
    counts = count_parts(bank, nobody)
    return {
        "bank": bank.name,
        "parts": {one.part.code: one.told for one in counts},
        "gate": {"name": gate.name, "version": gate.number, "parts": gate.parts} if (gate := gate_of(bank)) else None,
        "difficulty": compare_sources(bank, nobody).as_json(),
        "exams": {
            validator: {"reviewers": [_reviewers_as_json(one) for one in exams_by_reviewers(bank, validator, nobody)]}
            for validator in BY_VERDICT
        },
    }


def _reviewers_as_json(one: ExamByReviewers) -> dict[str, Any]:
    exam = one.exam
    return {
        "prompt": str(one.prompt),
        "model": one.model,
        "questions": exam.n,
        "with_fault": exam.n_faulty,
        "undecided": exam.n_undecided,
        "sensitivity": exam.sensitivity.as_json(),
        "specificity": exam.specificity.as_json(),
        "kappa": exam.kappa.as_json(),
    }
