"""Reviews that were made elsewhere into an open round, from the columns of an export. All rows of a file or none."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import AssignmentState, Flag, KeySource, Role, RoundState
from annotation.exports.kernels.review_cells import CellFault, ReviewRow, read_reviews
from annotation.exports.review_placing import Placing
from annotation.exports.reviews import columns_of_reviews
from annotation.models import (
    Assignment,
    BlindAnswer,
    Membership,
    Review,
    ReviewDraft,
    ReviewRound,
    Revision,
    User,
)
from annotation.questionbank.answers import note_seen_keys
from annotation.review.answering import make_answer
from annotation.review.assigning import lock_round, make_reviewer
from annotation.review.kernels.transitions import UNREVIEWED, ReviewRefused
from annotation.review.reassigning import give_questions
from annotation.review.submitting import hide_case, make_review
from annotation.review.trace_events import simulated_time

AT_ONCE = 500
TIME_ELSEWHERE: dict[str, Any] = {"time_rule": "elsewhere"}  # no clock of ours ran, so there is no time


@dataclass
class ReviewsImported:
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
    review_round: ReviewRound,
    *,
    name: str,
    content: bytes,
    actor: User | None,
    at: datetime,
    dry_run: bool = False,
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
            answers.append(make_answer(assignment, row.blind, at=at, **time))
        reviews.append(make_review(assignment, one.judgement, one.ground, simulated=row.simulated, at=at, **time))
    BlindAnswer.objects.bulk_create(answers, batch_size=AT_ONCE)
    Review.objects.bulk_create(reviews, batch_size=AT_ONCE)
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
