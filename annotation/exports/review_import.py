"""Reviews that were made elsewhere into an open round, from the columns of an export. All rows of a file or none."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.enums import AssignmentState, Flag, ImageState, Role, RoundState
from annotation.exports.kernels.review_cells import CellFault, ReviewRow, read_reviews
from annotation.exports.review_placing import Placing
from annotation.exports.reviews import columns_of_reviews
from annotation.ingest.quarantine import quarantine_image
from annotation.ingest.serving import case_images
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
from annotation.review.assigning import lock_round, make_reviewer
from annotation.review.kernels.transitions import ReviewRefused
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
        return {
            "n_reviews": self.n_reviews,
            "n_reviewers": self.n_reviewers,
            "n_questions": self.n_questions,
            "n_assignments": self.n_assignments,
        }


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
    known = {column.name for column in columns_of_reviews(source_ids=True)}
    rows, result.faults = read_reviews(content, known)
    if not rows and not result.faults:
        result.faults = [CellFault(0, "", "The file holds no review: one row for each, below the columns.")]
    placing = Placing(review_round, rows)
    result.faults = sorted([*result.faults, *placing.faults])
    _count(result, placing)
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


def _store(review_round: ReviewRound, placing: Placing, *, actor: User | None, at: datetime) -> None:
    members = Membership.objects.filter(round=review_round, role=Role.REVIEWER).values_list("user", flat=True)
    people = {one.person.pk: one.person for one in placing.placed}
    for person in people.values():
        if person.pk not in set(members):
            make_reviewer(review_round, person, actor=actor, at=at)
    assignments = _assignments(review_round, placing)
    pairs = [(assignments[one.key], one.row) for one in placing.placed]
    BlindAnswer.objects.bulk_create(
        [_blind_answer(assignment, row, at) for assignment, row in pairs if row.blind is not None], batch_size=AT_ONCE
    )
    Review.objects.bulk_create([_review(assignment, row, at) for assignment, row in pairs], batch_size=AT_ONCE)
    identifying = {one.key[1] for one in placing.placed if Flag.IDENTIFIES in one.row.judgement.flags}
    _hide_images(identifying, actor=actor, at=at)


def _assignments(review_round: ReviewRound, placing: Placing) -> dict[tuple[int, int], Assignment]:
    """Those that waited become submitted, others are made behind what the reviewer has already."""
    waited = {one.key: placing.assigned[one.key] for one in placing.placed if one.key in placing.assigned}
    pks = [assignment.pk for assignment in waited.values()]
    for start in range(0, len(pks), AT_ONCE):
        chosen = pks[start : start + AT_ONCE]
        Assignment.objects.filter(pk__in=chosen).update(state=AssignmentState.SUBMITTED)
        ReviewDraft.objects.filter(assignment__in=chosen).delete()
    of_round = Assignment.objects.filter(round=review_round).order_by()
    last: dict[int, int] = defaultdict(int, of_round.values_list("reviewer").annotate(Max("position")))
    made = []
    for one in placing.placed:
        if one.key not in waited:
            last[one.person.pk] += 1
            made.append(
                Assignment(
                    round=review_round,
                    reviewer=one.person,
                    revision_id=one.wording.question.revision_id,
                    position=last[one.person.pk],
                    state=AssignmentState.SUBMITTED,
                )
            )
    stored = Assignment.objects.bulk_create(made, batch_size=AT_ONCE)
    return waited | {(one.reviewer_id, one.revision_id): one for one in stored}


def _blind_answer(assignment: Assignment, row: ReviewRow, at: datetime) -> BlindAnswer:
    assert row.blind is not None
    return BlindAnswer(
        assignment=assignment,
        best=row.blind.best,
        defensible=list(row.blind.defensible),
        difficulty=row.blind.difficulty,
        answered_at=at,
        **_time_of(row),
    )


def _review(assignment: Assignment, row: ReviewRow, at: datetime) -> Review:
    judgement = row.judgement
    return Review(
        assignment=assignment,
        grades=dict(judgement.grades),
        needs_image=judgement.needs_image,
        relevant=judgement.relevant,
        flags=list(judgement.flags),
        withdrawn_flags=sorted(judgement.withdrawn_flags),
        disagreement=judgement.disagreement,
        verdict=judgement.verdict,
        verdict_reason=judgement.verdict_reason,
        reasoning=judgement.reasoning,
        comment=judgement.comment,
        category=judgement.category,
        simulated=row.simulated,
        submitted_at=at,
        **_time_of(row),
    )


def _time_of(row: ReviewRow) -> dict[str, Any]:
    return simulated_time() if row.simulated else dict(TIME_ELSEWHERE)


def _hide_images(revisions: Iterable[int], *, actor: User | None, at: datetime) -> None:
    """As when a reviewer flags identifying text: all images of the case, unless somebody has marked which."""
    for revision in Revision.objects.filter(pk__in=revisions).select_related("question__exam").order_by("pk"):
        images = list(case_images(revision))
        if any(image.state == ImageState.QUARANTINED for image in images):
            continue
        for image in images:
            if image.state == ImageState.AVAILABLE:
                quarantine_image(image, reason="an imported review saw identifying text", actor=actor, at=at)
