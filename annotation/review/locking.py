"""Taking hold of one assignment inside a transaction, and the checks that every act of a reviewer makes first."""

from __future__ import annotations

from django.db import connection
from django.db.models import Exists, OuterRef

from annotation.enums import RoundState, RoundSteps
from annotation.models import Assignment, ReviewDraft, Revision, SeenKey, User
from annotation.review.eligibility import shown_keys
from annotation.review.kernels.transitions import GONE
from annotation.site.kept_queries import KeptQuery

# What acts and the case page need of an assignment, in one row. Built once: building costs more than asking.
_COLUMNS = (
    *("public_id", "reviewer_id", "position", "state", "skip_reason", "opened_at", "report_opened_at"),
    *("round__name", "round__slug", "round__state", "round__steps", "round__simulated"),
    *("round__hidden_tools", "round__least_width", "round__least_height", "round__double_click"),
    *("revision__stem", "revision__options", "revision__task", "revision__category", "revision__difficulty"),
    *("revision__bank_id", "revision__question__exam__age_years", "revision__question__exam__sex"),
    "revision__question__exam__prior",
    *("blind_answer__best", "blind_answer__defensible", "blind_answer__difficulty", "blind_answer__unreadable"),
    "blind_answer__time_flags",
    *("draft__data", "draft__sequence"),
)
_QUESTION = OuterRef("revision__question")
_SEEN = SeenKey.objects.filter(person=OuterRef("reviewer"), question=_QUESTION)
_ITS_REVISIONS = Revision.objects.filter(question=OuterRef(_QUESTION)).values("pk")  # an index for each of two steps
_JUDGED = shown_keys().filter(reviewer=OuterRef("reviewer"), revision__in=_ITS_REVISIONS).exclude(pk=OuterRef("pk"))
CASES = (
    Assignment.objects.select_related("round", "revision__question__exam", "blind_answer", "draft")
    .only(*_COLUMNS)
    .order_by()
    .annotate(is_key_known=Exists(_SEEN) | Exists(_JUDGED))
)
_HELD = KeptQuery(lambda pk: CASES.filter(pk=pk).select_for_update(of=("self",)), int)

_DROP = f"DELETE FROM {ReviewDraft._meta.db_table} WHERE assignment_id = %s"  # noqa: S608 - a table of ours


class NotTheReviewer(Exception):
    """The question is not, or no longer, assigned to this person."""


class RoundNotOpen(Exception):
    """The round has not opened yet or is closed; what is stored stays as it is."""


def lock_assignment(assignment: Assignment, *, actor: User) -> Assignment:
    """The assignment as stored now, locked until the transaction ends.

    Raises NotTheReviewer and RoundNotOpen. Must run inside a transaction; whatever the caller's row says about its
    state is not believed.
    """
    held = _HELD.first(assignment.pk)
    if held is None:
        raise Assignment.DoesNotExist(f"assignment {assignment.pk} is gone")
    if held.reviewer_id != actor.pk or held.state in GONE:
        raise NotTheReviewer(f"assignment {held.public_id} is not with this person")
    if held.round.state != RoundState.OPEN:
        raise RoundNotOpen(f"round {held.round.slug} is {held.round.state}")
    return held


def knows_key(assignment: Assignment) -> bool:
    """Whether the reviewer has seen the key elsewhere and cannot answer blind. The assignment is one of CASES."""
    is_blind = assignment.round.steps == RoundSteps.FULL and getattr(assignment, "blind_answer", None) is None
    return is_blind and bool(getattr(assignment, "is_key_known", False))


def drop_draft(held: Assignment) -> None:
    """The step that the draft was for is stored. Also a draft that came while this transaction waited its turn."""
    with connection.cursor() as cursor:
        cursor.execute(_DROP, [held.pk])
    ReviewDraft._meta.get_field("assignment").remote_field.set_cached_value(held, None)
