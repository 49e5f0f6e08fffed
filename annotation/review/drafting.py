"""Drafts: what the form held when it was last saved. They are never judged, never exported, and go with the act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import transaction

from annotation.case.kernels.parsing import NO_TRACE, Trace
from annotation.enums import GradeName
from annotation.models import Assignment, ReviewDraft, User
from annotation.review.answering import stored_answer
from annotation.review.kernels.form import TEXT_LIMIT
from annotation.review.locking import lock_assignment
from annotation.review.submitting import newest_review
from annotation.review.trace_events import store_events

STEP_ONE_FIELDS = frozenset({"best", "defensible", "difficulty"})
STEP_TWO_FIELDS = frozenset(
    {
        *GradeName.values(),
        *("needs_image", "relevant", "flags", "withdrawn_flags", "disagreement", "verdict"),
        *("verdict_reason", "reasoning", "comment", "category"),
    }
)
MANY = frozenset({"defensible", "flags", "withdrawn_flags"})
MOST_VALUES = 16

DraftData = Mapping[str, str | Sequence[str]]


class DraftRefused(Exception):
    """The draft holds something that the form does not have."""


class DraftOutdated(Exception):
    """The form has moved on since this draft was sent: its step was stored in the meantime."""


class DraftOvertaken(Exception):
    """A draft that was typed later is stored already; ``sequence`` is its number."""

    def __init__(self, sequence: int) -> None:
        super().__init__(f"draft {sequence} is stored already")
        self.sequence = sequence


@transaction.atomic
def save_draft(
    assignment: Assignment,
    data: DraftData,
    *,
    actor: User,
    at: datetime,
    based_on: int | None = None,
    sequence: int = 0,
    trace: Trace = NO_TRACE,
) -> None:
    """Keep what the form holds, whole or half done, in place of the last draft.

    ``based_on`` is the number of stored steps that the page knew (see n_stored); when it is given and wrong, the draft
    is late and DraftOutdated is raised. ``sequence`` grows with each change of the form: requests may arrive in another
    order than they were sent in, and DraftOvertaken is raised for one that is older than what is stored. Raises
    DraftRefused, NotTheReviewer, RoundNotOpen.
    """
    kept = _check(data)
    held = lock_assignment(assignment, actor=actor)
    if based_on is not None and based_on != n_stored(held):
        raise DraftOutdated(f"assignment {held.public_id} has moved on")
    store_events(held, trace, at=at)
    drafts = ReviewDraft.objects.filter(assignment=held)
    if drafts.filter(sequence__lte=sequence).update(data=kept, saved_at=at, sequence=sequence):
        return
    newer = drafts.values_list("sequence", flat=True).first()
    if newer is not None:
        raise DraftOvertaken(newer)
    ReviewDraft.objects.create(assignment=held, data=kept, saved_at=at, sequence=sequence)


def n_stored(assignment: Assignment) -> int:
    """How many steps of the assignment are stored: the blind answer, and each version of the review."""
    newest = newest_review(assignment)
    return int(stored_answer(assignment) is not None) + (newest.version if newest is not None else 0)


def _check(data: DraftData) -> dict[str, str | list[str]]:
    kept: dict[str, str | list[str]] = {}
    for name, value in data.items():
        if name not in STEP_ONE_FIELDS | STEP_TWO_FIELDS:
            raise DraftRefused(f"the form has no field {name[:40]!r}")
        values = [value] if isinstance(value, str) else list(value)
        if any(not isinstance(v, str) or len(v) > TEXT_LIMIT * 2 or "\x00" in v for v in values):
            raise DraftRefused(f"{name} is not a text of at most {TEXT_LIMIT * 2} characters")
        if len(values) > MOST_VALUES or (name not in MANY and len(values) > 1):
            raise DraftRefused(f"{name} has too many values")
        kept[name] = values if name in MANY else "".join(values)
    return kept
