"""How the reviewers of a round agree, field by field of the form, from the newest version of each review.

Before any adjudication: the answers of adjudicators belong to another round. Questions with one review enter
nothing.

How difficult reviewers found questions before they saw the key, beside what the bank states.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from django.db.models import F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _
from numpy.typing import NDArray

from annotation.enums import Degree, Difficulty, Flag, GradeName, OptionLetter, Verdict
from annotation.models import AnswerKey, Review, ReviewRound
from annotation.outcomes.kernels.field_agreement import FieldAgreement, FieldRatings, FieldScale, field_agreement
from annotation.review.kernels.form import CANNOT_JUDGE
from annotation.review.kernels.form_design import GRADES
from annotation.review.kernels.settling import DIFFICULTIES
from annotation.review.outcomes import asked_by_forms, newest_reviews, repeated_reviews
from annotation.statistics.kernels import estimate
from annotation.statistics.kernels.bootstrap import Units, generator, percentile_intervals, resampled_totals, units_of
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share
from annotation.statistics.kernels.pairs import cohen_kappa, result_of
from annotation.statistics.kernels.reviewers import PANEL, quadratic_weights

DRAWS = 2_000  # of the bootstrap: limits of 10,000 draws differ in the third decimal
DEGREES = (Degree.YES, Degree.PARTLY, Degree.NO)
NO_OPTION = ""  # the blind answer that no option is acceptable
ANSWERS = (*OptionLetter, NO_OPTION)
SET, NOT_SET = True, False


class ReviewAnswers(NamedTuple):
    """The newest version of one review; ``best`` and ``difficulty`` are None where no blind answer is asked.

    ``asked`` are the fields that its form asked for.
    """

    reviewer: int
    question: int
    exam: str
    patient: str
    grades: dict[str, int | str]
    needs_image: str
    relevant: str
    verdict: str
    flags: list[str]
    best: str | None
    difficulty: str | None
    asked: frozenset[str]

    @property
    def cluster(self) -> str:
        return self.patient or f"exam {self.exam}"


@dataclass(frozen=True)
class FormField:
    """One field of the form: its values in the order of their codes, and what a review says to it.

    A value that is not among them is no rating; None: it was not asked. ``name`` is its column in the files of reviews.
    """

    name: str
    label: str
    scale: FieldScale
    values: Sequence[object]
    value_in: Callable[[ReviewAnswers], object]


@dataclass(frozen=True)
class AgreementRow:
    name: str
    label: str
    found: FieldAgreement
    n_cannot_judge: int  # reviews without a rating for that reason
    notes: list[str]  # cautions of this row that not every row has


@dataclass(frozen=True)
class AgreementTable:
    """The fields of one scale; ``names`` are their statistics, in the order of the cells."""

    scale: FieldScale
    names: list[str]
    rows: list[AgreementRow]
    notes: list[str]  # cautions of every row


@dataclass(frozen=True)
class RoundAgreement:
    n_reviewers: int  # of these questions
    n_questions: int  # with two reviews or more
    n_single: int  # with one review: they enter nothing
    n_pairs: int  # of reviews of one question
    n_clusters: int | None  # patients or exams, where one holds several of the questions
    draws: int
    tables: list[AgreementTable]
    n_people: int = 0  # who are compared with themselves


def round_agreement(review_round: ReviewRound, draws: int = DRAWS) -> RoundAgreement:
    """The agreement so far, in one query; the same reviews give the same limits."""
    return _agreement(_answers_in(newest_reviews(review_round)), abs(review_round.seed), draws)


def _agreement(answers: Sequence[ReviewAnswers], seed: int, draws: int) -> RoundAgreement:
    of_question: dict[int, list[ReviewAnswers]] = defaultdict(list)
    for row in answers:
        of_question[row.question].append(row)
    several = {question: rows for question, rows in sorted(of_question.items()) if len(rows) > 1}
    reviews = [row for rows in several.values() for row in rows]
    reviewers = sorted({row.reviewer for row in reviews})
    _names, clusters = np.unique([rows[0].cluster for rows in several.values()], return_inverse=True)
    units = units_of(clusters)
    rows = _agreement_rows(reviews, list(several), reviewers, units, seed, draws) if several else []
    return RoundAgreement(
        n_reviewers=len(reviewers),
        n_questions=len(several),
        n_single=len(of_question) - len(several),
        n_pairs=sum(len(rows) * (len(rows) - 1) // 2 for rows in several.values()),
        n_clusters=units.m if units.clustered else None,
        draws=draws,
        tables=[_table(scale, [row for of, row in rows if of is scale]) for scale in FieldScale] if several else [],
    )


def own_agreement(review_round: ReviewRound, draws: int = DRAWS) -> RoundAgreement:
    """How reviewers agree with themselves: each hidden repeat beside its first review, all reviewers together.

    Its two raters are the first reviews and the repeats; ``n_people`` is the number of reviewers.
    """
    repeated = repeated_reviews(review_round)
    firsts = newest_reviews(review_round).filter(assignment__in=repeated.values("assignment__repeats"))
    first = {row.question: row for row in _answers_in(firsts, question="assignment")}
    again = [row for row in _answers_in(repeated, question="assignment__repeats") if row.question in first]
    pairs = [first[row.question]._replace(reviewer=0) for row in again] + [row._replace(reviewer=1) for row in again]
    people = {first[row.question].reviewer for row in again}
    return replace(_agreement(pairs, abs(review_round.seed), draws), n_people=len(people))


def _answers_in(reviews: QuerySet[Review], question: str = "assignment__revision") -> list[ReviewAnswers]:
    rows = reviews.order_by("assignment__reviewer", "pk")
    columns = {
        "reviewer": F("assignment__reviewer"),
        "question": F(question),
        "exam": F("assignment__revision__question__exam__pseudonym"),
        "patient": F("assignment__revision__question__exam__patient_pseudonym"),
        "best": F("assignment__blind_answer__best"),
        "difficulty": F("assignment__blind_answer__difficulty"),
    }
    asked = asked_by_forms()
    values = rows.annotate(**columns).values_list("form", *ReviewAnswers._fields[:-1])
    found = [(form, ReviewAnswers._make([*row, frozenset()])) for form, *row in values]
    return [row._replace(asked=asked(form, row.best, row.flags)) for form, row in found]


def _fields() -> list[FormField]:
    """In the order of the page; grades and difficulty from the lowest."""

    def grade(name: GradeName) -> FormField:
        key = name.value  # once: asking an enumeration for it takes long
        return FormField(f"grade_{key}", _(name.label), FieldScale.GRADES, GRADES, lambda row: row.grades.get(key))

    def flag(one: Flag) -> FormField:
        value, name = one.value, f"flag_{one.value}"
        return FormField(
            *(name, _(one.label), FieldScale.FLAG, (SET, NOT_SET)),
            lambda row: value in row.flags if name in row.asked else None,
        )

    choice = FieldScale.CHOICE
    return [
        *map(grade, GradeName),
        FormField(
            "blind_difficulty",
            _("Difficulty, before the key"),
            FieldScale.GRADES,
            DIFFICULTIES,
            lambda row: row.difficulty,
        ),
        FormField("blind_best", _("Best answer, before the key"), choice, ANSWERS, lambda row: row.best),
        FormField("verdict", _("Verdict"), choice, tuple(Verdict), lambda row: row.verdict),
        FormField("needs_image", _("Image needed"), choice, DEGREES, lambda row: row.needs_image or None),
        FormField("relevant", _("Clinically relevant"), choice, DEGREES, lambda row: row.relevant or None),
        *map(flag, Flag),
    ]


def _agreement_rows(
    reviews: Sequence[ReviewAnswers],
    questions: Sequence[int],
    reviewers: Sequence[int],
    units: Units,
    seed: int,
    draws: int,
) -> list[tuple[FieldScale, AgreementRow]]:
    """A row for each field that anybody was asked for."""
    of_reviewer, of_question = (dict(zip(known, range(len(known)), strict=True)) for known in (reviewers, questions))
    cells = [of_reviewer[one.reviewer] for one in reviews], [of_question[one.question] for one in reviews]
    answered = [(one, [one.value_in(row) for row in reviews]) for one in _fields()]
    asked = [(one, values) for one, values in answered if any(value is not None for value in values)]
    coded = []
    for one, values in asked:
        code = {value: number for number, value in enumerate(one.values)}
        codes = np.full((len(reviewers), len(questions)), -1, dtype=np.int64)
        codes[cells] = [code.get(value, -1) for value in values]
        coded.append(FieldRatings(one.scale, codes, len(one.values)))
    found = field_agreement(coded, units, seed=seed, draws=draws)
    return [
        (one.scale, AgreementRow(one.name, one.label, agreement, values.count(CANNOT_JUDGE), []))
        for (one, values), agreement in zip(asked, found, strict=True)
    ]


def _table(scale: FieldScale, rows: Sequence[AgreementRow]) -> AgreementTable:
    notes = [_notes(row.found) for row in rows]
    rated = [of_row for row, of_row in zip(rows, notes, strict=True) if row.found.n_questions]
    everywhere = [note for note in rated[0] if all(note in of_row for of_row in rated)] if len(rated) > 1 else []
    shown = [
        AgreementRow(
            row.name, row.label, row.found, row.n_cannot_judge, [note for note in of_row if note not in everywhere]
        )
        for row, of_row in zip(rows, notes, strict=True)
    ]
    return AgreementTable(scale, list(rows[0].found.results) if rows else [], shown, everywhere)


def _notes(found: FieldAgreement) -> list[str]:
    """The cautions of all cells of a row, each once; cells without a value say why themselves."""
    if 0 < found.n_questions < estimate.FEWEST_FOR_INTERVAL:
        return [_("fewer than 10 questions: no intervals")]
    if found.results["percent_agreement"].value == 1:
        return [_("all agree: nothing varies that an interval could be made of")]
    words = {
        estimate.SMALL_N: _("fewer than 30 questions: intervals may be too narrow"),
        estimate.FEW_DISAGREEMENTS: _("fewer than 5 disagreements: intervals may be too narrow"),
        estimate.FEW_CLUSTERS: _("fewer than 10 patients or exams: no intervals"),
        estimate.CLUSTERS_IGNORED: _("AC2 and ICC take questions of one patient or exam as independent"),
        estimate.CONSTANT_RATER: _("one reviewer always gave the same answer"),
        estimate.NO_VARIATION: _("no interval where no draw differs"),
        estimate.UNSTABLE_BOOTSTRAP: _("no interval where over 5 % of the draws have no value"),
    }
    with_interval = {flag for one in found.results.values() if one.ci95 for flag in one.flags}
    without = {flag for one in found.results.values() if one.value is not None and not one.ci95 for flag in one.flags}
    of_width = {estimate.SMALL_N, estimate.FEW_DISAGREEMENTS}
    flags = with_interval | (without - of_width)
    return [text for flag, text in words.items() if flag in flags]


# --- How difficult reviewers found questions before they saw the key, beside what the -------------
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
