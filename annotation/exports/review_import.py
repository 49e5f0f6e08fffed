"""Reviews that were made elsewhere into an open round, from the columns of an export. All rows of a file or none.

The rows of a file of reviews beside a round: whose review of which wording each is, or why it is refused.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct, field

from annotation.audit.recording import record
from annotation.enums import AssignmentState, Flag, KeySource, Role, RoundState, RoundSteps
from annotation.exports.kernels.review_cells import CellFault, ReviewRow, hold_to_form, read_reviews
from annotation.exports.reviews import columns_of_reviews, reviewer_pseudonym
from annotation.models import (
    AnswerKey,
    Assignment,
    BlindAnswer,
    Membership,
    Question,
    Review,
    ReviewDraft,
    ReviewRound,
    Revision,
    SampledQuestion,
    User,
)
from annotation.people.roles import check_no_role_conflict
from annotation.people.tokens import PeopleRefused
from annotation.questionbank.answers import note_seen_keys
from annotation.review.answering import make_answer, simulated_time
from annotation.review.assigning import SampleQuestion, ineligible, lock_round, make_reviewer, sentences
from annotation.review.assignments import form_design_of
from annotation.review.calibrating import must_calibrate
from annotation.review.kernels.form import Ground, Judgement
from annotation.review.kernels.transitions import UNREVIEWED, ReviewRefused
from annotation.review.reassigning import give_questions, open_rows
from annotation.review.submitting import hide_case, make_review
from annotation.site.sorted_tables import analyze

TAKES_REVIEW = frozenset({AssignmentState.WAITING, AssignmentState.SKIPPED})
WHY_NOT = {
    AssignmentState.SUBMITTED: "A review of this question by this reviewer is stored. Leave the row out.",
    AssignmentState.ANSWERED: "This reviewer has answered the question here and is to finish it. Leave the row out.",
    AssignmentState.RETURNED: "This reviewer handed the question back. Leave the row out.",
}
CALIBRATE = "This reviewer has to pass the calibration of the round first, or to be let in on its page."


class PlacedWording(Struct, frozen=True):
    """A question of the sample, in the wording that the round reviews."""

    question: SampleQuestion
    public_id: str
    revision: int
    key: str


class PlacedReview(Struct, frozen=True):
    """A row beside the round: whose review of which wording it is, and what of it is stored."""

    row: ReviewRow
    person: User
    wording: PlacedWording
    judgement: Judgement
    ground: Ground

    @property
    def key(self) -> tuple[int, int]:
        return self.person.pk, self.wording.question.revision_id


class Placing:
    """The rows of a file beside the round: what each is, or why it is refused."""

    def __init__(self, review_round: ReviewRound, rows: Sequence[ReviewRow]) -> None:
        self.review_round = review_round
        self.faults: list[CellFault] = []
        self.people = _people_of({row.reviewer for row in rows})
        self.by_number, self.by_id = _wordings(review_round)
        self.design = form_design_of(review_round)
        found = [one for row in rows if (one := self._placed(row)) is not None]
        people = {one.person.pk: one.person for one in found}
        self.assigned = _assigned(review_round, people)
        self._check_once(found)
        self._check_people(found, list(people.values()))
        blind = {one.wording.question.question_id for one in found if one.row.blind is not None}
        self.compared = Question.objects.filter(pk__in=blind)
        refused = {fault.row for fault in self.faults}
        self.placed = [one for one in found if one.row.row not in refused]
        self.taken_over = self._taken_over()

    def _fault(self, row: ReviewRow, column: str, message: str) -> None:
        self.faults.append(CellFault(row.row, column, message))

    def _placed(self, row: ReviewRow) -> PlacedReview | None:
        person, wording = self.people.get(row.reviewer.lower()), self._wording(row)
        if person is None:
            sentence = "has no account here. Invite this reviewer first, or correct the address or pseudonym."
            self._fault(row, "reviewer", f"{row.reviewer[:80]!r} {sentence}")
        is_asked = self.review_round.steps == RoundSteps.FULL
        if is_asked and row.blind is None:
            self._fault(row, "blind_difficulty", "The blind answer is missing, and the round asks for it.")
        elif not is_asked and row.blind is not None:
            self._fault(row, "blind_best", "The round asks for no blind answer: leave its columns empty.")
        elif person is not None and wording is not None:
            ground = Ground(blind=row.blind, key=wording.key, report_opened=True, design=self.design)
            judgement, faults = hold_to_form(row, ground)
            self.faults += faults
            return PlacedReview(row, person, wording, judgement, ground)
        return None

    def _wording(self, row: ReviewRow) -> PlacedWording | None:
        bank = self.review_round.plan.bank.slug
        if row.bank and row.bank != bank:
            self._fault(row, "bank", f"The round is on the bank {bank}: correct it, or leave the column out.")
            return None
        by_number = self.by_number.get(row.number) if row.number is not None else None
        found = by_number or (self.by_id.get(row.question_id) if row.number is None else None)
        if found is None:
            asked = row.number if row.number is not None else repr(row.question_id[:40])
            column = "question" if row.number is not None else "question_id"
            self._fault(row, column, f"The round has no question {asked}. Leave the row out, or correct it.")
        elif row.question_id and found.public_id != row.question_id:
            self._fault(row, "question_id", f"Question {row.number} has another id here: leave the column out.")
        elif found.revision != row.revision:
            sentence = f"The round reviews wording {found.revision} of this question, not {row.revision}."
            self._fault(row, "revision", f"{sentence} Import into a round on that wording.")
        else:
            return found
        return None

    def _check_once(self, found: Iterable[PlacedReview]) -> None:
        first: dict[tuple[int, int], int] = {}
        for one in found:
            row = first.setdefault(one.key, one.row.row)
            stored = self.assigned.get(one.key)
            if row != one.row.row:
                sentence = f"Row {row} has a review of this question by this reviewer. Leave one of them out."
                self._fault(one.row, "reviewer", sentence)
            elif stored is not None and stored.state not in TAKES_REVIEW:
                self._fault(one.row, "reviewer", WHY_NOT[AssignmentState(stored.state)])

    def _taken_over(self) -> dict[tuple[int, int], Assignment]:
        """Assignments in whose place the reviews of others come: handed back, or begun by nobody."""
        own, free = {one.key for one in self.placed}, defaultdict[int, list[Assignment]](list)
        for row in open_rows(self.review_round).select_for_update(of=("self",)):
            is_left = row.state == AssignmentState.RETURNED
            if (is_left or row.opened_at is None) and (row.reviewer_id, row.revision_id) not in own:
                free[row.revision_id].insert(0 if is_left else len(free[row.revision_id]), row)
        new = [one.key for one in self.placed if one.key not in self.assigned]
        return {key: free[key[1]].pop(0) for key in new if free[key[1]]}

    def _check_people(self, found: Sequence[PlacedReview], people: Sequence[User]) -> None:
        """As for any assignment: whoever knows a key or must not review at all is refused, with the reason."""
        roles: dict[int, str] = {}
        for person in people:
            if must_calibrate(self.review_round, person.pk):
                roles[person.pk] = CALIBRATE
            try:
                check_no_role_conflict(person, Role.REVIEWER, self.review_round)
            except PeopleRefused as refusal:
                roles[person.pk] = refusal.sentence
        number_of = {one.wording.question.question_id: one.wording.question.number for one in found}
        conflicts = ineligible(people, number_of, self.review_round.steps, self.review_round)
        place = {person.pk: index for index, person in enumerate(people)}
        for one in found:
            reasons = conflicts.get((place[one.person.pk], one.wording.question.number), set())
            if one.person.pk in roles:
                self._fault(one.row, "reviewer", roles[one.person.pk])
            elif reasons:
                self._fault(one.row, "reviewer", f"{sentences([reasons])} Leave the row out.")


def _people_of(named: set[str]) -> dict[str, User]:
    """By what the file calls them, in lower case."""
    wanted = {name.lower() for name in named}
    people = list(User.objects.all())
    found = {person.email.lower(): person for person in people}
    if wanted - found.keys():
        names = {reviewer_pseudonym(person.pk): person for person in people}
        found |= names | {name[1:]: person for name, person in names.items()}  # without the letter in older exports
    return {name: found[name] for name in wanted & found.keys()}


def _wordings(review_round: ReviewRound) -> tuple[dict[int, PlacedWording], dict[str, PlacedWording]]:
    columns = ("revision_id", *(f"revision__question__{name}" for name in ("id", "number", "exam_id", "public_id")))
    rows = SampledQuestion.objects.filter(plan=review_round.plan_id).values_list(*columns, "revision__number")
    keys = dict(AnswerKey.objects.filter(revision__in=rows.values("revision")).values_list("revision_id", "key"))
    found = [
        PlacedWording(SampleQuestion(revision_id, question_id, number, exam_id), public_id, revision, keys[revision_id])
        for revision_id, question_id, number, exam_id, public_id, revision in rows
    ]
    return {one.question.number: one for one in found}, {one.public_id: one for one in found}


def _assigned(review_round: ReviewRound, people: Iterable[int]) -> dict[tuple[int, int], Assignment]:
    rows = Assignment.objects.filter(round=review_round, reviewer__in=people, repeats=None)
    rows = rows.select_for_update(of=("self",))
    return {(one.reviewer_id, one.revision_id): one for one in rows.exclude(state=AssignmentState.WITHDRAWN)}


# --- Reviews that were made elsewhere into an open round, from the columns of an export. ----------
AT_ONCE = 500
TIME_ELSEWHERE: dict[str, Any] = {"time_rule": "elsewhere"}  # no clock of ours ran, so there is no time


class ReviewsImported(Struct):
    """What an import did, or would do. One fault and nothing is stored."""

    review_round: str
    file: str
    sha256: str
    dry_run: bool
    n_reviews: int = 0
    n_reviewers: int = 0
    n_questions: int = 0
    n_assignments: int = 0  # made for it, beside those that waited
    n_taken_over: int = 0  # of these, in the place of one of somebody else who had not begun it
    faults: list[CellFault] = field(default_factory=list)
    stored: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "round": self.review_round,
            "file": self.file,
            "sha256": self.sha256,
            "dry_run": self.dry_run,
            **self.counts(),
            "errors": [fault._asdict() for fault in self.faults],
            "stored": self.stored,
        }

    def counts(self) -> dict[str, int]:
        names = ("n_reviews", "n_reviewers", "n_questions", "n_assignments", "n_taken_over")
        return {name: getattr(self, name) for name in names}


@transaction.atomic
def import_reviews(
    review_round: ReviewRound, *, name: str, content: bytes, actor: User | None, at: datetime, dry_run: bool = False
) -> ReviewsImported:
    """Store each row as a submitted review, with its blind answer and, where it is missing, its assignment.

    They have no times. ``faults`` name every row that is refused: question or wording not in the round, reviewer
    without an account or who may not judge it, a second review, a cell that the form could not hold, a blind answer
    that is missing or not asked for. Images are hidden where a row flags identifying text. Raises ReviewRefused unless
    the round is open, and BankRefused for a file that cannot be read.
    """
    lock_round(review_round)
    if review_round.state != RoundState.OPEN:
        raise ReviewRefused("round_not_open", _("Reviews are imported into an open round only."))
    result = ReviewsImported(review_round.slug, name, hashlib.sha256(content).hexdigest(), dry_run)
    known = {column.name for column in columns_of_reviews(review_round, source_ids=True)}
    rows, result.faults = read_reviews(content, known)
    if not rows and not result.faults:
        result.faults = [CellFault(0, "", "The file holds no review: one row for each, below the columns.")]
    placing = Placing(review_round, rows)
    result.faults = sorted([*result.faults, *placing.faults])
    _count(result, placing)
    if actor is not None:  # what is refused beside a blind answer tells the key
        note_seen_keys(actor, placing.compared, source=KeySource.REVIEWS, subject=review_round, at=at)
    if result.faults or dry_run:
        return result
    _store(review_round, placing, actor=actor, at=at)
    facts = {"file": name[:100], "sha256": result.sha256, **result.counts()}
    record("reviews.imported", actor=actor, at=at, subject=review_round, facts=facts)
    result.stored = True
    return result


def _count(result: ReviewsImported, placing: Placing) -> None:
    result.n_reviews = len(placing.placed)
    result.n_reviewers = len({one.person.pk for one in placing.placed})
    result.n_questions = len({one.wording.question.revision_id for one in placing.placed})
    result.n_assignments = sum(one.key not in placing.assigned for one in placing.placed)
    result.n_taken_over = len(placing.taken_over)


def _store(review_round: ReviewRound, placing: Placing, *, actor: User | None, at: datetime) -> None:
    members = Membership.objects.filter(round=review_round, role=Role.REVIEWER).values_list("user", flat=True)
    people = {one.person.pk: one.person for one in placing.placed}
    for person in people.values():
        if person.pk not in set(members):
            make_reviewer(review_round, person, actor=actor, at=at)
    assignments = _assignments(review_round, placing)
    wordings = Revision.objects.only("category").in_bulk({one.wording.question.revision_id for one in placing.placed})
    answers, reviews = [], []
    for one in placing.placed:
        assignment, row, time = assignments[one.key], one.row, _time_of(one.row)
        assignment.round, assignment.revision = review_round, wordings[assignment.revision_id]
        if row.blind is not None:
            answers.append(make_answer(assignment, row.blind, meant=row.meant, at=at, **time))
        reviews.append(make_review(assignment, one.judgement, one.ground, simulated=row.simulated, at=at, **time))
    BlindAnswer.objects.bulk_create(answers, batch_size=AT_ONCE)
    Review.objects.bulk_create(reviews, batch_size=AT_ONCE)
    analyze(len(reviews), Assignment, BlindAnswer, Review)
    identifying = {one.key[1] for one in placing.placed if Flag.IDENTIFIES in one.judgement.flags}
    for revision in Revision.objects.filter(pk__in=identifying).select_related("question__exam").order_by("pk"):
        hide_case(revision, actor=actor, at=at)


def _assignments(review_round: ReviewRound, placing: Placing) -> dict[tuple[int, int], Assignment]:
    """Those that waited become submitted, and their hidden repeats wait for nobody; others are made behind what the
    reviewer has already.
    """
    waited = {one.key: placing.assigned[one.key] for one in placing.placed if one.key in placing.assigned}
    pks = [assignment.pk for assignment in waited.values()]
    for start in range(0, len(pks), AT_ONCE):
        chosen = pks[start : start + AT_ONCE]
        Assignment.objects.filter(pk__in=chosen).update(state=AssignmentState.SUBMITTED)
        again = Assignment.objects.filter(repeats__in=chosen, state__in=UNREVIEWED, opened_at=None)
        again.update(state=AssignmentState.WITHDRAWN)
        ReviewDraft.objects.filter(assignment__in=chosen).delete()
    new = [one for one in placing.placed if one.key not in waited]
    moves = [(one.key[1], one.person, placing.taken_over.get(one.key)) for one in new]
    made = give_questions(review_round, moves, state=AssignmentState.SUBMITTED)
    return waited | {(one.reviewer_id, one.revision_id): one for one in made}


def _time_of(row: ReviewRow) -> dict[str, Any]:
    return simulated_time() if row.simulated else dict(TIME_ELSEWHERE)
