"""Calibration: before a round its reviewers judge questions whose answers are shared, and learn how they compare.

The shared answers are the reviews of a closed round. What a reviewer says to its questions belongs to the row of
ReviewRound that ``calibrates`` the round; once nothing of it is left to do, it is final, compared and shown.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import EXPLANATIONS, AssignmentState, GradeName, RoundState
from annotation.models import (
    Assignment,
    CalibrationResult,
    Question,
    Review,
    ReviewRound,
    SamplingPlan,
    Settlement,
    User,
)
from annotation.models.fields import AsRead
from annotation.review.assigning import listed, lock_round, reviewers_of
from annotation.review.kernels.settling import (
    BEST,
    CALIBRATION_RULE,
    VERDICT,
    Compared,
    Opinion,
    compare,
    has_passed,
    shared_opinion,
)
from annotation.review.kernels.transitions import GONE, UNFINISHED, ReviewRefused
from annotation.review.outcomes import newest_reviews
from annotation.review.viewing import viewing_of
from annotation.site.sentences import free_slug
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

MOST_QUESTIONS = 30
FIELD_LABELS = {
    BEST: gettext_lazy("Best answer"),
    **{name.value: gettext_lazy(name.label) for name in GradeName},
    VERDICT: gettext_lazy("Verdict"),
}
REASON_LIMIT = 1000


def possible_calibrations() -> QuerySet[ReviewRound]:
    """Closed rounds whose reviews can be shared answers: few questions, some reviewed."""
    reviewed = Count("assignments__revision", filter=Q(assignments__state=AssignmentState.SUBMITTED), distinct=True)
    rows = ReviewRound.objects.filter(state=RoundState.CLOSED, archived_at=None).annotate(n_reviewed=reviewed)
    rows = rows.exclude(plan__rule=EXPLANATIONS)
    return rows.filter(n_reviewed__gte=1, n_reviewed__lte=MOST_QUESTIONS).order_by("-closed_at")


def check_calibration(plan: SamplingPlan, shared: ReviewRound | None, pass_mark: int | None) -> None:
    """Raises ReviewRefused where the reviews of ``shared`` cannot be the shared answers of a round on this sample."""
    if shared is None:
        return
    if pass_mark is None or not 1 <= pass_mark <= 100:
        sentence = _("The pass mark is a whole number from 1 to 100 percent.")
        raise ReviewRefused("pass_mark", sentence, status=422, field="pass_mark")
    if not possible_calibrations().filter(pk=shared.pk).exists():
        sentence = _("The shared answers are the reviews of a closed round with 1 to %(n)s reviewed questions.")
        sentence %= {"n": MOST_QUESTIONS}
        raise ReviewRefused("no_shared_answers", sentence, status=422, field="shared_answers")
    of_both = Question.objects.filter(pk__in=_shared_questions(shared)).filter(
        revisions__in=plan.questions.values("revision")
    )
    if numbers := sorted(set(of_both.values_list("number", flat=True))):
        sentence = ngettext(
            "Question %(numbers)s of the sample is also a calibration question: its answer would be known.",
            "Questions %(numbers)s of the sample are also calibration questions: their answers would be known.",
            len(numbers),
        )
        sentence %= {"numbers": listed(numbers)}
        raise ReviewRefused("calibration_in_sample", sentence, status=422, field="shared_answers")


def _shared_questions(shared: ReviewRound) -> QuerySet[Assignment, int]:
    submitted = Assignment.objects.filter(round=shared, state=AssignmentState.SUBMITTED)
    return submitted.values_list("revision__question", flat=True)


def must_calibrate(review_round: ReviewRound, person_id: int) -> bool:
    """Whether this reviewer has still to pass the calibration of the round.

    Nobody has to who gave a shared answer, or whom a coordinator let in.
    """
    if review_round.shared_answers_id is None:
        return False
    cleared = _cleared(review_round).filter(reviewer=person_id)
    return not cleared.exists() and not _authors(review_round).filter(reviewer=person_id).exists()


def _cleared(review_round: ReviewRound) -> QuerySet[CalibrationResult]:
    rows = CalibrationResult.objects.filter(round=review_round.pk)
    return rows.filter(Q(passed=True) | Q(let_in_at__isnull=False))


def _authors(review_round: ReviewRound) -> QuerySet[Assignment]:
    return Assignment.objects.filter(round=review_round.shared_answers_id, state=AssignmentState.SUBMITTED)


def uncalibrated(review_round: ReviewRound) -> list[User]:
    """Who has questions to do in the round and has still to pass its calibration, by name."""
    if review_round.shared_answers_id is None:
        return []
    waiting = Assignment.objects.filter(round=review_round, state__in=UNFINISHED)
    people = User.objects.filter(pk__in=waiting.values("reviewer"))
    people = people.exclude(pk__in=_cleared(review_round).values("reviewer"))
    return list(people.exclude(pk__in=_authors(review_round).values("reviewer")).order_by(AsRead("name"), "email"))


def calibration_first() -> ReviewRefused:
    return ReviewRefused("calibration_first", _("Pass the calibration of this round first."))


@transaction.atomic
def begin_calibration(review_round: ReviewRound, person: User, *, at: datetime) -> ReviewRound:
    """The round of the calibration cases, with those of this reviewer. Beginning again changes nothing.

    Raises ReviewRefused for a round that is not open, for somebody who does not review in it, and where there is
    nothing to calibrate.
    """
    lock_round(review_round)
    if review_round.state != RoundState.OPEN:
        raise ReviewRefused("round_not_open", _("The round is not open."))
    if person.pk not in {one.pk for one in reviewers_of(review_round)}:
        raise ReviewRefused("no_reviewer", _("%(name)s does not review in this round.") % {"name": person})
    if not must_calibrate(review_round, person.pk):
        raise ReviewRefused("calibrated", _("You have passed the calibration of this round."))
    shared = review_round.shared_answers
    assert shared is not None
    cases = ReviewRound.everywhere.filter(calibrates=review_round).first() or _cases_of(review_round, shared, at=at)
    if not Assignment.objects.filter(round=cases, reviewer=person).exists():
        reviewed = Assignment.objects.filter(round=shared, state=AssignmentState.SUBMITTED).values("revision")
        revisions = shared.plan.questions.filter(revision__in=reviewed).values_list("revision", flat=True)
        rows = [
            Assignment(round=cases, reviewer=person, revision_id=revision, position=position)
            for position, revision in enumerate(revisions.order_by("position"), 1)
        ]
        Assignment.objects.bulk_create(rows)
        record("calibration.begun", actor=person, at=at, subject=review_round, facts={"questions": len(rows)})
    return cases


def _cases_of(review_round: ReviewRound, shared: ReviewRound, *, at: datetime) -> ReviewRound:
    return ReviewRound.everywhere.create(
        name=_("Calibration for %(name)s") % {"name": review_round.name[:170]},
        slug=free_slug(f"calibration {review_round.pk}", among=ReviewRound.everywhere.all(), otherwise="calibration"),
        plan_id=shared.plan_id,
        state=RoundState.OPEN,
        steps=review_round.steps,
        form_id=review_round.form_id,
        **viewing_of(review_round).as_columns(),
        simulated=review_round.simulated,
        calibrates=review_round,
        created_at=at,
        opened_at=at,
    )


@transaction.atomic
def finish_calibration(cases: ReviewRound, person: User, *, at: datetime) -> CalibrationResult | None:
    """Compare the answers of this reviewer, once nothing is left to do; None before. The first result stays."""
    if Assignment.objects.filter(round=cases, reviewer=person, state__in=UNFINISHED).exists():
        return None
    review_round = cases.calibrates
    assert review_round is not None
    stored = CalibrationResult.objects.filter(round=review_round, reviewer=person).first()
    if stored is not None and stored.finished_at is not None:
        return stored
    compared = [one for of_one in compared_with_shared(review_round, person) for one in of_one.compared]
    values = {
        "rule": CALIBRATION_RULE,
        "n_compared": len(compared),
        "n_agreed": sum(one.agrees for one in compared),
        "passed": has_passed(compared, review_round.pass_mark or 100),
        "finished_at": at,
    }
    result, _is_new = CalibrationResult.objects.update_or_create(round=review_round, reviewer=person, defaults=values)
    facts = {name: values[name] for name in ("n_compared", "n_agreed", "passed")}
    record("calibration.finished", actor=person, at=at, subject=review_round, facts=facts)
    return result


def is_calibrated(cases: ReviewRound, person_id: int) -> bool:
    """Whether the calibration of this reviewer is compared: the shared answers are shown from then on."""
    rows = CalibrationResult.objects.filter(round=cases.calibrates_id, reviewer=person_id)
    return rows.filter(finished_at__isnull=False).exists()


@transaction.atomic
def let_in(review_round: ReviewRound, person: User, reason: str, *, actor: User, at: datetime) -> CalibrationResult:
    """A coordinator lets somebody review who has not passed. Raises ReviewRefused without a reason, or without need."""
    lock_round(review_round)
    text = reason.replace("\x00", "").strip()
    if not text or len(text) > REASON_LIMIT:
        raise ReviewRefused("no_reason", _("Give a reason, of at most 1,000 characters."), status=422, field="reason")
    if review_round.state != RoundState.OPEN or not must_calibrate(review_round, person.pk):
        raise ReviewRefused("calibrated", _("%(name)s needs no leave to review in this round.") % {"name": person})
    values = {"let_in_by": actor, "let_in_at": at, "let_in_reason": text}
    result, _is_new = CalibrationResult.objects.update_or_create(
        round=review_round, reviewer=person, defaults=values, create_defaults={**values, "rule": CALIBRATION_RULE}
    )
    record("calibration.let_in", actor=actor, at=at, subject=review_round, facts={"person": person.pk, "reason": text})
    return result


class ComparedQuestion(Struct, frozen=True):
    """One calibration question as a reviewer judged it, beside the shared answer."""

    assignment: Assignment
    compared: list[Compared]
    own: Opinion
    shared: Opinion
    comments: list[str]  # of the shared reviews, without names

    @property
    def n_agreed(self) -> int:
        return sum(one.agrees for one in self.compared)


def compared_with_shared(review_round: ReviewRound, person: User | None = None) -> list[ComparedQuestion]:
    """The calibration questions that this reviewer submitted, or everybody, in their order; three queries."""
    cases = newest_reviews_of_cases(review_round, person)
    own = [(one.assignment, _opinion(one)) for one in cases]
    shared, comments = _shared(review_round)
    return [
        ComparedQuestion(assignment, compare(opinion, shared[pk]), opinion, shared[pk], comments.get(pk, []))
        for assignment, opinion in own
        if (pk := assignment.revision_id) in shared
    ]


def newest_reviews_of_cases(review_round: ReviewRound, person: User | None) -> QuerySet[Review]:
    cases = ReviewRound.everywhere.filter(calibrates=review_round).first()
    if cases is None:
        return Review.objects.none()
    rows = newest_reviews(cases).select_related("assignment__blind_answer", "assignment__revision")
    if person is not None:
        rows = rows.filter(assignment__reviewer=person)
    return rows.order_by("assignment__reviewer", "assignment__position")


def _shared(review_round: ReviewRound) -> tuple[dict[int, Opinion], dict[int, list[str]]]:
    """The shared answer to each wording, and what its reviewers wrote."""
    shared = review_round.shared_answers
    if shared is None:
        return {}, {}
    opinions: dict[int, list[Opinion]] = defaultdict(list)
    comments: dict[int, list[str]] = defaultdict(list)
    for one in newest_reviews(shared).select_related("assignment__blind_answer").order_by("assignment__public_id"):
        revision = one.assignment.revision_id
        opinions[revision].append(_opinion(one))
        comments[revision] += [text for text in (one.reasoning, one.comment) if text]
    decided = Settlement.objects.filter(round=shared).exclude(decision="")
    verdicts = dict(decided.values_list("revision_id", "decision"))
    return {pk: shared_opinion(of_one, verdicts.get(pk, "")) for pk, of_one in opinions.items()}, comments


def _opinion(review: Review) -> Opinion:
    answer = getattr(review.assignment, "blind_answer", None)
    return Opinion(
        best=answer.best if answer is not None else None,
        verdict=review.verdict,
        flags=frozenset(review.flags),
        grades=review.grades,
    )


class Calibrated(Struct, frozen=True):
    """One reviewer in the calibration of a round. ``share`` is of the judgements that agree."""

    person: User
    n_done: int
    n_cases: int
    result: CalibrationResult | None
    is_author: bool  # of the shared answers
    share: Estimate | None

    @property
    def is_in(self) -> bool:
        return self.is_author or (self.result is not None and (self.result.passed or self.result.let_in_at is not None))


class FieldDistance(Struct, frozen=True):
    """One field of the form over all reviewers: how often it agrees, and how many grades are 0, 1, 2, 3, 4 away."""

    field: str
    agreed: Estimate
    n_away: list[int]  # empty: no grade

    @property
    def label(self) -> str:
        return str(FIELD_LABELS[self.field])


def calibration_of(review_round: ReviewRound, people: Sequence[User]) -> list[Calibrated]:
    """These reviewers in the calibration, in their order; three queries."""
    results = {one.reviewer_id: one for one in CalibrationResult.objects.filter(round=review_round)}
    cases = Assignment.objects.filter(round__calibrates=review_round).exclude(state__in=GONE).order_by()
    counts = {
        row["reviewer"]: (row["n_done"], row["n_cases"])
        for row in cases.values("reviewer").annotate(
            n_cases=Count("pk"), n_done=Count("pk", filter=Q(state=AssignmentState.SUBMITTED))
        )
    }
    authors = set(_authors(review_round).values_list("reviewer", flat=True))
    return [
        Calibrated(
            person,
            *counts.get(person.pk, (0, 0)),
            result=(result := results.get(person.pk)),
            is_author=person.pk in authors,
            share=share(result.n_agreed, result.n_compared) if result is not None and result.n_compared else None,
        )
        for person in people
    ]


def distances_of(review_round: ReviewRound) -> list[FieldDistance]:
    """How far the finished calibrations are from the shared answers, field by field of the form."""
    finished = CalibrationResult.objects.filter(round=review_round, finished_at__isnull=False)
    people = set(finished.values_list("reviewer", flat=True))
    lines: dict[str, list[Compared]] = defaultdict(list)
    for one in compared_with_shared(review_round):
        for line in one.compared if one.assignment.reviewer_id in people else ():
            lines[line.field].append(line)
    found = []
    for name in FIELD_LABELS:
        if of_field := lines[name]:
            away = Counter(line.distance for line in of_field if line.distance is not None)
            agreed = share(sum(line.agrees for line in of_field), len(of_field))
            found.append(FieldDistance(name, agreed, [away[n] for n in range(5)] if away else []))
    return found
