"""The questions of a reviewer: loaded, locked for an act, listed in their order, and which ones come next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from django.db import connection
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, When
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.enums import AssignmentState, RoundState, RoundSteps
from annotation.models import Assignment, BlindAnswer, Review, ReviewDraft, ReviewRound, Revision, SeenKey, User
from annotation.review.assigning import shown_keys
from annotation.review.calibrating import calibration_first, is_calibrated, must_calibrate
from annotation.review.kernels.form import Blind, make_blind
from annotation.review.kernels.form_design import FormDesign, stored_design
from annotation.review.kernels.transitions import GONE, IN_TURN, UNFINISHED, ReviewRefused
from annotation.site.internals import note_missing
from annotation.site.sorted_tables import KeptQuery, KeptSQL

# What acts and the case page need of an assignment, in one row. Built once: building costs more than asking.
_COLUMNS = (
    *("public_id", "reviewer_id", "position", "state", "skip_reason", "opened_at", "report_opened_at"),
    *("round__name", "round__slug", "round__state", "round__steps", "round__simulated"),
    *("round__adjudicates", "round__calibrates", "round__shared_answers", "repeats"),
    *("round__hidden_tools", "round__least_width", "round__least_height", "round__double_click"),
    "round__display_check",
    *("round__form__name", "round__form__version", "round__form__design", "round__plan__rule"),
    *("revision__stem", "revision__options", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__bank_id", "revision__question__exam__age_years", "revision__question__exam__sex"),
    *("revision__images_left_out", "revision__question__exam__prior"),
    *("blind_answer__best", "blind_answer__defensible", "blind_answer__difficulty", "blind_answer__unreadable"),
    *("blind_answer__time_flags", "blind_answer__meant"),
    *("draft__data", "draft__sequence", "draft__page"),
)
_QUESTION = OuterRef("revision__question")
_SEEN = SeenKey.objects.filter(person=OuterRef("reviewer"), question=_QUESTION)
_ITS_REVISIONS = Revision.objects.filter(question=OuterRef(_QUESTION)).values("pk")  # an index for each of two steps
_JUDGED = shown_keys().filter(reviewer=OuterRef("reviewer"), revision__in=_ITS_REVISIONS).exclude(pk=OuterRef("pk"))
_JUDGED = _JUDGED.exclude(repeats=OuterRef("pk")).exclude(pk=OuterRef("repeats"))  # a hidden repeat is blind again
CASES = (
    Assignment.objects.select_related("round__form", "round__plan", "revision__question__exam", "blind_answer", "draft")
    .only(*_COLUMNS)
    .order_by()
    .annotate(is_key_known=Exists(_SEEN) | Exists(_JUDGED))
)
_LOCKED = KeptQuery(lambda pk: CASES.filter(pk=pk).select_for_update(of=("self",)), int)

_NAMES = Assignment.objects.select_related("round").only(
    "public_id", "reviewer_id", "state", "round__slug", "round__state", "round__adjudicates"
)
_OWN: KeptQuery[Assignment] = KeptQuery(lambda user, name: CASES.filter(reviewer=user, public_id=name), int, str)
_NAMED = KeptQuery(lambda user, name: _NAMES.filter(reviewer=user, public_id=name), int, str)
_NEWEST = KeptQuery(lambda pk: Review.objects.filter(assignment=pk).order_by("-version")[:1], int)
_DROP = f"DELETE FROM {ReviewDraft._meta.db_table} WHERE assignment_id = %s"  # noqa: S608 - a table of ours


def own_assignment(user: User, public_id: str) -> Assignment:
    """The assignment by its name in addresses, if it is this person's. Raises Assignment.DoesNotExist.

    ReviewRefused before the calibration of its round is passed.
    """
    found = named_assignment(user, public_id, rows=_OWN)
    if found.state in GONE:
        raise Assignment.DoesNotExist(f"assignment {public_id} is not shown")
    if must_calibrate(found.round, user.pk):
        raise calibration_first()
    return found


def named_assignment(user: User, public_id: str, *, rows: KeptQuery[Assignment] = _NAMED) -> Assignment:
    """The same for an act, which locks the stored row itself: what was taken away is refused there."""
    found = rows.first(user.pk, public_id)
    if found is None or found.round.state == RoundState.DRAFT:
        raise Assignment.DoesNotExist(f"assignment {public_id} is not shown")
    return found


def lock_assignment(assignment: Assignment, *, actor: User) -> Assignment:
    """The assignment as stored now, locked until the transaction ends.

    Raises ReviewRefused: ``not_the_reviewer`` where the question is not, or no longer, with this person, and
    ``round_not_open``. Whatever the caller's row says about its state is not believed.
    """
    locked = _LOCKED.first(assignment.pk)
    if locked is None:
        raise Assignment.DoesNotExist(f"assignment {assignment.pk} is gone")
    if locked.reviewer_id != actor.pk or locked.state in GONE:
        sentence = _("This question has been removed from your list in the meantime.")
        raise ReviewRefused("not_the_reviewer", sentence)
    if is_final(locked):
        sentence = _("Your own review is final: the answers of others to this question are shown to you now.")
        raise ReviewRefused("round_not_open", sentence)
    if locked.round.state != RoundState.OPEN:
        raise ReviewRefused("round_not_open", _("The round is closed. What you had submitted stays as it is."))
    if must_calibrate(locked.round, actor.pk):
        raise calibration_first()
    return locked


def is_final(assignment: Assignment) -> bool:
    """Whether the answers of others are shown to its reviewer from now on: to an adjudicator who has submitted, and to
    everybody after the calibration.
    """
    if assignment.round.calibrates_id is not None:
        return is_calibrated(assignment.round, assignment.reviewer_id)
    return assignment.round.adjudicates_id is not None and assignment.state == AssignmentState.SUBMITTED


def knows_key(assignment: Assignment) -> bool:
    """Whether the reviewer has seen the key elsewhere and cannot answer blind. The assignment is one of CASES."""
    is_blind = assignment.round.steps == RoundSteps.FULL and getattr(assignment, "blind_answer", None) is None
    return is_blind and bool(getattr(assignment, "is_key_known", False))


def drop_draft(locked: Assignment) -> None:
    """The step that the draft was for is stored. Also a draft that came while this transaction waited for the lock."""
    with connection.cursor() as cursor:
        cursor.execute(_DROP, [locked.pk])
    note_missing(locked, ReviewDraft, "assignment")


def design_of(assignment: Assignment) -> FormDesign:
    """What the form of its round asks."""
    return form_design_of(assignment.round)


def form_design_of(review_round: ReviewRound) -> FormDesign:
    return stored_design(review_round.form.design if review_round.form is not None else None)


def stored_answer(assignment: Assignment) -> BlindAnswer | None:
    """The blind answer, or None while there is none."""
    answer: BlindAnswer | None = getattr(assignment, "blind_answer", None)
    return answer


def stored_blind(answer: BlindAnswer) -> Blind:
    return make_blind(answer.best, answer.defensible, answer.difficulty)


def newest_review(assignment: Assignment) -> Review | None:
    """None until the assignment is submitted: the first version and that state are stored together."""
    if assignment.state != AssignmentState.SUBMITTED:
        return None
    return _NEWEST.first(assignment.pk)


N_AHEAD = 2  # cases that a page fetches and decodes before they are needed

Row = TypeVar("Row")


def _in_order(rows: QuerySet[Assignment, Row], user: int, review_round: int) -> QuerySet[Assignment, Row]:
    mine = Assignment.objects.filter(state__in=IN_TURN, reviewer=user, round=review_round)
    return rows.filter(pk__in=mine.order_by("position").values("pk")[:_AT_MOST]).order_by("position")


def _skipped(rows: QuerySet[Assignment, Row], user: int, review_round: int) -> QuerySet[Assignment, Row]:
    mine = Assignment.objects.filter(state=AssignmentState.SKIPPED, reviewer=user, round=review_round)
    first = mine.order_by("skipped_at", "position").values("pk")[:_AT_MOST]
    return rows.filter(pk__in=first).order_by("skipped_at", "position")


_AT_MOST = N_AHEAD + 2  # the one to open, those to prepare, and the one that is left, which may come first
_CASES_IN_ORDER: KeptQuery[Assignment] = KeptQuery(lambda *mine: _in_order(CASES, *mine), int, int)
_CASES_SKIPPED: KeptQuery[Assignment] = KeptQuery(lambda *mine: _skipped(CASES, *mine), int, int)
_EXAMS = Assignment.objects.values_list(
    *("pk", "revision__question__exam_id", "revision__question__exam__prior_id", "revision__images_left_out")
)
_ExamRow = tuple[int, int, int | None, list[str] | None]
_EXAMS_IN_ORDER: KeptQuery[_ExamRow] = KeptQuery(lambda *mine: _in_order(_EXAMS, *mine), int, int)
_EXAMS_SKIPPED: KeptQuery[_ExamRow] = KeptQuery(lambda *mine: _skipped(_EXAMS, *mine), int, int)
# By hand: the database needs a tenth of the time that it takes to build this query from models.
GONE_WORDS = ", ".join(f"'{state}'" for state in GONE)
_PROGRESS = KeptSQL(f"""
    SELECT SUM(CASE WHEN position <= %s THEN 1 ELSE 0 END),
           SUM(CASE WHEN state = '{AssignmentState.SUBMITTED}' THEN 1 ELSE 0 END),
           COUNT(*),
           NOT EXISTS (
               SELECT 1 FROM {BlindAnswer._meta.db_table} answer
               JOIN {Assignment._meta.db_table} own ON own.id = answer.assignment_id
               WHERE own.reviewer_id = %s
           )
    FROM {Assignment._meta.db_table}
    WHERE reviewer_id = %s AND round_id = %s AND state NOT IN ({GONE_WORDS})
""")  # noqa: S608 - words and a table of ours


class RoundProgress(Struct, frozen=True):
    """How far a reviewer is in a round. ``place`` is the place of one question in the reviewer's own order."""

    place: int
    n_submitted: int
    n_all: int
    is_new: bool  # the reviewer has not answered a question in any round yet


def own_assignments(user: User, review_round: ReviewRound) -> QuerySet[Assignment]:
    """One person's assignments in a round, in their order, without those withdrawn or handed back."""
    return Assignment.objects.filter(reviewer=user, round=review_round).exclude(state__in=GONE).order_by("position")


def next_assignment(user: User, review_round: ReviewRound, *, leaving: Assignment | None = None) -> Assignment | None:
    """The next unfinished question in this person's order, the skipped ones last; None when all is submitted.

    ``leaving`` is the question that is on screen now: it does not come next, though it may be first in the order.
    """
    return next(iter(next_assignments(user, review_round, leaving=leaving, most=1)), None)


def next_assignments(
    user: User, review_round: ReviewRound, *, leaving: Assignment | None = None, most: int
) -> list[Assignment]:
    """The next unfinished questions in this person's order, the skipped ones last. The rows are as CASES loads them.

    There are never more than one and N_AHEAD.
    """
    found: list[Assignment] = []
    for rows in (_CASES_IN_ORDER, _CASES_SKIPPED):
        if len(found) < most:
            first = rows(user.pk, review_round.pk)
            found += [assignment for assignment in first if leaving is None or assignment.pk != leaving.pk]
    return found[:most]


class CaseExams(NamedTuple):
    """What a case shows: its exam, the prior where it has one, and which images do not count for its question."""

    exam: int
    prior: int | None
    left_out: frozenset[str]

    @property
    def ids(self) -> list[int]:
        return [self.exam] if self.prior is None else [self.exam, self.prior]


def exams_of(assignment: Assignment) -> CaseExams:
    exam = assignment.revision.question.exam
    return CaseExams(exam.pk, exam.prior_id, assignment.revision.left_out)


def next_exams(user: User, review_round: ReviewRound, *, leaving: Assignment, most: int) -> list[CaseExams]:
    """What the questions that come next show, in their order; they may share an exam. Never more than N_AHEAD."""
    found: list[CaseExams] = []
    for rows in (_EXAMS_IN_ORDER, _EXAMS_SKIPPED):
        if len(found) < most:
            mine = [row for row in rows(user.pk, review_round.pk) if row[0] != leaving.pk]
            found += [CaseExams(exam, prior, frozenset(left_out or ())) for _pk, exam, prior, left_out in mine]
    return found[:most]


def progress_at(assignment: Assignment) -> RoundProgress:
    """Place and counts in the reviewer's own list, in one query."""
    reviewer = assignment.reviewer_id
    ((place, n_submitted, n_all, is_new),) = _PROGRESS(assignment.position, reviewer, reviewer, assignment.round_id)
    return RoundProgress(place=place or 0, n_submitted=n_submitted or 0, n_all=n_all, is_new=bool(is_new))


def rounds_of(user: User) -> QuerySet[ReviewRound]:
    """The rounds in which this person has questions, open ones first, with counts per state."""
    mine = Q(assignments__reviewer=user, assignments__state__in=(*UNFINISHED, AssignmentState.SUBMITTED))
    return (
        ReviewRound.objects.filter(mine)
        .exclude(state=RoundState.DRAFT)
        .filter(archived_at__isnull=True)
        .annotate(
            n_all=Count("assignments", filter=mine),
            n_submitted=Count("assignments", filter=mine & Q(assignments__state=AssignmentState.SUBMITTED)),
            n_skipped=Count("assignments", filter=mine & Q(assignments__state=AssignmentState.SKIPPED)),
        )
        .order_by(Case(When(state=RoundState.OPEN, then=0), default=1), "-opened_at")
    )


def counts_by_state(user: User, review_round: ReviewRound) -> Mapping[str, int]:
    rows = own_assignments(user, review_round).order_by().values_list("state").annotate(n=Count("pk"))
    return dict(rows)
