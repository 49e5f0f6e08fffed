"""A case is answered, step by step; and what its page tells of the clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from msgspec import Struct

from annotation.audit.recording import record
from annotation.case.kernels.durations import RULE, TimeFlag, durations, flags_of_page
from annotation.case.kernels.traces import (
    NO_TRACE,
    ROW,
    SERVER,
    CaseRefused,
    Row,
    SentEvent,
    Trace,
    TraceSoFar,
    check_all_seen,
    event_columns,
    is_room_for,
    new_events,
    row_of,
    time_columns,
    trace_so_far,
)
from annotation.enums import EventKind, GradeName, ImageState, RoundSteps
from annotation.models import Assignment, BlindAnswer, Image, ReviewDraft, ReviewEvent, User
from annotation.review.assignments import (
    drop_draft,
    knows_key,
    lock_assignment,
    newest_review,
    stored_answer,
    stored_blind,
)
from annotation.review.kernels.form import TEXT_LIMIT, Blind, check_blind, could_mean, incomplete, make_blind
from annotation.review.kernels.transitions import ReviewAct, ReviewRefused, changed_meanwhile, state_after
from annotation.review.kernels.visibility import Step
from annotation.review.showing import values_of
from annotation.site.sorted_tables import KeptQuery

_IS_SHOWN = Q(state=ImageState.AVAILABLE, display__isnull=False)
_IMAGES: KeptQuery[tuple[str, bool, int]] = KeptQuery(
    lambda exam, prior: (
        Image.objects.filter(exam_id__in=(exam, prior))
        .annotate(is_shown=_IS_SHOWN)
        .values_list("public_id", "is_shown", "exam_id")
    ),
    *(int, int),
)
_STORED: KeptQuery[Row] = KeptQuery(lambda pk: ReviewEvent.objects.filter(assignment=pk).values_list(*ROW), int)


@transaction.atomic
def record_events(assignment: Assignment, trace: Trace, *, actor: User, at: datetime) -> int:
    """Store the events of a request of their own, and return how many came. Raises ReviewRefused."""
    locked = lock_assignment(assignment, actor=actor)
    if not store_events(locked, trace, at=at):
        sentence = _("Too many timing events were sent for this case; further ones are not stored.")
        raise ReviewRefused("too_many_events", sentence, status=422)
    return len(trace.events)


def store_events(locked: Assignment, trace: Trace, *, at: datetime) -> bool:
    """Store events that came beside something else; False, and nothing stored, when the log is full."""
    if not trace.events:
        return True
    if not is_room_for(ReviewEvent.objects.filter(assignment=locked).count(), trace.events):
        return False
    _insert(locked, trace.page, trace.events, at=at)
    return True


def add_trace(locked: Assignment, trace: Trace, *, at: datetime) -> TraceSoFar:
    """Store the events that came with a step, and return all that there are."""
    stored = [row for row in _STORED(locked.pk) if row[0] != SERVER]
    new = new_events(trace, {(page, sequence) for page, sequence, *_rest in stored})
    _insert(locked, trace.page, new, at=at)
    rows = [*stored, *(row_of(trace.page, event, at=at) for event in new)]
    return trace_so_far(rows, is_damaged=trace.is_damaged or _was_damaged(locked))


def check_seen(locked: Assignment, seen: TraceSoFar, unreadable: Iterable[str], *, step: str) -> None:
    """Every available image of the case, those of a prior among them, was on screen, or is marked as unreadable. Raises
    ReviewRefused, and CaseRefused for an image of another case.

    What cannot be shown need not be seen, but a blind answer is one to images: without any of the exam it is refused.
    Where a part of the clock could not be read, nobody knows what was seen: the step is stored and its time says
    "malformed".
    """
    exam = locked.revision.question.exam
    rows = _IMAGES(exam.shown_ids[0], exam.shown_ids[-1])
    rows = [row for row in rows if row[0] not in locked.revision.left_out]
    images = {name: is_shown for name, is_shown, _exam in rows}
    if step == Step.BLIND and not any(is_shown and of_exam == exam.pk for _name, is_shown, of_exam in rows):
        raise ReviewRefused("no_images", _("No image can be shown, so nothing can be answered. Skip it (K)."))
    try:
        check_all_seen(images, images if seen.is_damaged else seen.painted, unreadable)
    except CaseRefused as refusal:
        if refusal.code != "not_seen":
            raise
        raise ReviewRefused("not_seen", _unseen(len(refusal.facts["images"])), **refusal.facts) from None


def time_of(locked: Assignment, seen: TraceSoFar, *, step: str, at: datetime) -> dict[str, Any]:
    """The columns of Timed: the time from first painted to the commit of this step; none from a malformed clock."""
    if seen.is_damaged:
        flags = (TimeFlag.MALFORMED, *flags_of_page(seen.events))
        return {"time_rule": RULE, "time_flags": [flag.value for flag in flags]}
    commits = {key for key, committed in seen.steps.items() if committed in (step, "")}
    server = (at - locked.opened_at).total_seconds() * 1000 if locked.opened_at is not None else None
    return time_columns(durations(seen.events, commits=commits, server_elapsed_ms=server))


def _unseen(n: int) -> str:
    return ngettext(
        "An image of this case has not been on screen yet. Wait for it, try it again, or mark it as unreadable.",
        "Images of this case have not been on screen yet. Wait for them, try again, or mark them as unreadable.",
        n,
    )


def simulated_time() -> dict[str, Any]:
    """Nobody sat there, so there is no time."""
    return {"time_rule": RULE, "time_flags": [TimeFlag.SIMULATED.value]}


def _was_damaged(locked: Assignment) -> bool:
    answer = stored_answer(locked)
    return answer is not None and TimeFlag.MALFORMED in answer.time_flags


def _insert(locked: Assignment, page: str, events: Sequence[SentEvent], *, at: datetime) -> None:
    """One statement; an event that is there already stays as it is."""
    if events:
        rows = [ReviewEvent(assignment=locked, **event_columns(page, event, at=at)) for event in events]
        ReviewEvent.objects.bulk_create(rows, ignore_conflicts=True)


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


class Basis(Struct, frozen=True):
    """What a page knew of its case when the person filled in the form. None: it does not say."""

    n_stored: int | None = None  # steps, see n_stored()
    draft: int | None = None  # the sequence of the newest draft that it showed
    page: str = ""  # how it names itself

    @property
    def drafts(self) -> Q:
        """Those that the person has seen: of this page, or shown by it."""
        return Q() if self.draft is None else Q(page=self.page) | Q(sequence__lte=self.draft)


NO_BASIS = Basis()


def mark_opened(assignment: Assignment, *, at: datetime) -> None:
    """Store the first time that the reviewer saw the case, with an event of the server; later times change nothing."""
    if assignment.opened_at is None:
        with transaction.atomic(savepoint=False):
            if Assignment.objects.filter(pk=assignment.pk, opened_at__isnull=True).update(opened_at=at):
                _insert(assignment, SERVER, [SentEvent(0, EventKind.OPENED, 0.0)], at=at)
        assignment.opened_at = at


@transaction.atomic
def answer_blind(
    assignment: Assignment,
    *,
    best: str,
    defensible: Iterable[str],
    difficulty: str,
    actor: User,
    at: datetime,
    trace: Trace = NO_TRACE,
    simulated: bool = False,
) -> BlindAnswer:
    """Store step 1; from now on key and explanation may be shown, as on the ``assignment`` of what is returned.

    ``best`` is a letter, or empty when no option is defensible. The same answer again returns the stored one; another
    is refused as ``final``. A ``simulated`` answer has no time, and no images need be seen for it. An answer that is
    not complete is refused with its ``problems``.
    """
    blind = make_blind(best, defensible, difficulty)
    if problems := check_blind(blind):
        raise incomplete(problems)
    locked = lock_assignment(assignment, actor=actor)
    if locked.round.steps == RoundSteps.OPEN:
        raise changed_meanwhile()  # the round asks for the judgement only
    stored = stored_answer(locked)
    if stored is not None:
        if stored_blind(stored) != blind:
            raise ReviewRefused("final", _("Your blind answer is already stored and final."))
        store_events(locked, trace, at=at)
        return stored
    if knows_key(locked):
        raise ReviewRefused("key_known", _("You have seen the key of this question: hand it back."))
    seen = add_trace(locked, trace, at=at)
    if not simulated:
        check_seen(locked, seen, trace.unreadable, step=Step.BLIND)
    time = simulated_time() if simulated else time_of(locked, seen, step=Step.BLIND, at=at)
    locked.state = state_after(locked.state, ReviewAct.ANSWER, steps=locked.round.steps)
    locked.opened_at = locked.opened_at or at
    locked.save(update_fields=["state", "opened_at"])
    stored = make_answer(locked, blind, at=at, unreadable=sorted(trace.unreadable), viewport=trace.viewport, **time)
    stored.save(force_insert=True)
    drop_draft(locked)  # it contained step 1
    record("review.answered", actor=actor, at=at, subject=locked)
    assignment.state = locked.state
    return stored


def make_answer(assignment: Assignment, blind: Blind, *, at: datetime, **measured: Any) -> BlindAnswer:
    """The row of a blind answer that was checked, here and of a file alike; not stored yet."""
    return BlindAnswer(
        assignment=assignment,
        best=blind.best,
        defensible=list(blind.defensible),
        difficulty=blind.difficulty,
        answered_at=at,
        **measured,
    )


@transaction.atomic
def report_slip(assignment: Assignment, meant: str, *, actor: User, at: datetime) -> BlindAnswer:
    """Store beside the blind answer that ``meant``, a letter or "none", was meant; the answer itself stays as it is.

    The last report counts. Raises ReviewRefused before the answer, after the first submission, and for the same option.
    """
    locked = lock_assignment(assignment, actor=actor)
    answer = stored_answer(locked)
    if answer is None:
        raise answer_first()
    if newest_review(locked) is not None:
        raise ReviewRefused("submitted", _("The review is submitted: an input error is reported before that."))
    if meant not in could_mean(answer.best):
        raise ReviewRefused("bad_option", _("Choose the option that you meant."), status=422)
    answer.meant = meant
    answer.save(update_fields=["meant"])
    record("review.slip_reported", actor=actor, at=at, subject=locked)
    return answer


@transaction.atomic
def open_report(assignment: Assignment, *, actor: User, at: datetime) -> datetime:
    """Store the moment of step 3 and return it; opening again returns the first moment.

    Raises ReviewRefused before the blind answer of a round that asks for it.
    """
    locked = lock_assignment(assignment, actor=actor)
    if locked.round.steps == RoundSteps.FULL and stored_answer(locked) is None:
        raise answer_first()
    if locked.report_opened_at is None:
        locked.report_opened_at = at
        locked.save(update_fields=["report_opened_at"])
        record("review.report_opened", actor=actor, at=at, subject=locked)
    assignment.report_opened_at = locked.report_opened_at
    return locked.report_opened_at


def answer_first() -> ReviewRefused:
    """Key and report are shown after the blind answer."""
    return ReviewRefused("answer_first", _("Answer the question blind first."))


@transaction.atomic
def save_draft(
    assignment: Assignment,
    data: DraftData,
    *,
    actor: User,
    at: datetime,
    basis: Basis = NO_BASIS,
    sequence: int = 0,
    trace: Trace = NO_TRACE,
) -> None:
    """Store what the form holds, whole or half done, in place of the last draft.

    A draft of a step that was stored in the meantime is refused, and so is one over another page's draft that its own
    page did not show. ``sequence`` grows with each change of the form: requests may arrive in another order than they
    were sent in, and one that is older than what is stored is refused with the ``sequence`` of that. Raises
    ReviewRefused.
    """
    checked = _checked(data)
    locked = lock_assignment(assignment, actor=actor)
    check_steps(locked, basis, "draft_outdated")
    store_events(locked, trace, at=at)
    drafts = ReviewDraft.objects.filter(assignment=locked)
    values = {"data": checked, "saved_at": at, "sequence": sequence, "page": basis.page}
    if drafts.filter(basis.drafts, sequence__lte=sequence).update(**values):
        return
    if drafts.filter(data=checked).exists():  # entered there as well: nothing to choose from
        return
    check_drafts(locked, basis)
    newer = drafts.values_list("sequence", flat=True).first()
    if newer is not None:
        raise ReviewRefused("draft_overtaken", _("A newer draft is already stored."), sequence=newer)
    ReviewDraft.objects.create(assignment=locked, **values)


def check_steps(locked: Assignment, basis: Basis, code: str) -> None:
    """Raises ReviewRefused where a step was stored since, with the ``stored`` review where there is one."""
    if basis.n_stored in (None, n_stored(locked)):
        return
    newest = newest_review(locked)
    if newest is None:
        raise ReviewRefused(code, _("This step is already stored."))
    sentence = _("This review was submitted on another page after this one was opened. Choose which of the two counts.")
    raise ReviewRefused(code, sentence, stored=values_of(newest), n_stored=n_stored(locked))


def check_drafts(locked: Assignment, basis: Basis) -> None:
    """Raises ReviewRefused where another page entered something that the person did not see on this one."""
    unseen = (
        ReviewDraft.objects.filter(assignment=locked).exclude(basis.drafts).first() if basis.draft is not None else None
    )
    if unseen is not None:
        sentence = _("Something else was entered for this question on another page. Choose which of the two is kept.")
        raise ReviewRefused("draft_overtaken", sentence, stored=unseen.data, sequence=unseen.sequence)


def n_stored(assignment: Assignment) -> int:
    """How many steps of the assignment are stored: the blind answer, and each version of the review."""
    newest = newest_review(assignment)
    return int(stored_answer(assignment) is not None) + (newest.version if newest is not None else 0)


def _checked(data: DraftData) -> dict[str, str | list[str]]:
    """Only fields that the form has, and as many values of each. Raises ReviewRefused."""
    checked: dict[str, str | list[str]] = {}
    for name, value in data.items():
        values = [value] if isinstance(value, str) else list(value)
        are_texts = all(isinstance(v, str) and len(v) <= TEXT_LIMIT * 2 and "\x00" not in v for v in values)
        is_known = name in STEP_ONE_FIELDS | STEP_TWO_FIELDS
        if not (is_known and are_texts and len(values) <= (MOST_VALUES if name in MANY else 1)):
            sentence = _("The draft could not be read and was not saved.")
            raise ReviewRefused("draft_unreadable", sentence, status=400, field=name[:40])
        checked[name] = values if name in MANY else "".join(values)
    return checked
