"""The practice block: what its cases show after their final answer, and when it is done.

The only module of this room that reads a key or an explanation.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.models import AnswerKey, User
from readerstudy.enums import Block, ResponseState
from readerstudy.models import Enrolment, PresentedCase, Response
from readerstudy.reading.kernels.visibility import CaseProgress, Part, visible_parts
from readerstudy.reading.prefetched import counts_of
from readerstudy.reading.write_checks import rules_of
from readerstudy.study.locking import StudyRefused


@dataclass(frozen=True)
class Feedback:
    correct: bool
    key: str
    explanation: str


def feedback_of(response: Response) -> Feedback | None:
    """Key and explanation of the practice case that a stored answer is to; None for everything else.

    The table of keys is not asked before it is known that the answer is final and the case one of the practice block.
    """
    presented = response.reading.presented
    if presented is None or presented.block != Block.PRACTICE:
        return None
    is_final = Response.objects.filter(pk=response.pk, is_confirmed=True).exists()
    progress = CaseProgress(may_read=True, block=presented.block, is_prefetched=False, is_last=True, answered=is_final)
    if Part.FEEDBACK not in visible_parts(progress):
        return None
    truth = _truth(presented)
    is_right = response.state == ResponseState.ANSWERED and response.option == truth.key
    return Feedback(is_right, truth.key, truth.explanation)


def settle_block(locked: Enrolment, *, at: datetime) -> None:
    """Note the end of a block with its last case: of practice if it was passed or need not be, of the main block."""
    counts = counts_of(locked)
    if locked.practised_at is None and Block.PRACTICE in counts:
        n, done = counts[Block.PRACTICE]
        if done >= n and is_passed(locked):
            locked.practised_at = at
            locked.save(update_fields=["practised_at"])
        return
    n, done = counts.get(Block.MAIN, (0, 0))
    if locked.finished_at is None and n > 0 and done >= n:
        locked.finished_at = at
        locked.save(update_fields=["finished_at"])


def is_passed(locked: Enrolment) -> bool:
    """Whether enough answers of the practice block are right, where the study asks for some."""
    needed = rules_of(locked).practice_pass
    return needed is None or n_right(locked) >= needed


def n_right(enrolment: Enrolment) -> int:
    """Right answers in the practice block."""
    practised = Response.objects.filter(
        reading__enrolment=enrolment,
        reading__case__block=Block.PRACTICE,
        is_confirmed=True,
        state=ResponseState.ANSWERED,
    )
    chosen = dict(practised.values_list("reading__case__revision_id", "option"))
    keys = AnswerKey.objects.filter(revision__in=chosen).values_list("revision_id", "key")
    return sum(chosen[revision] == key for revision, key in keys)


@transaction.atomic
def let_pass(enrolment: Enrolment, reason: str, *, actor: User, at: datetime) -> None:
    """A coordinator lets a reader go on who did not pass the practice block. Twice changes nothing.

    Raises StudyRefused while practice cases are left.
    """
    locked = Enrolment.objects.select_for_update(of=("self",)).select_related("study").get(pk=enrolment.pk)
    n, done = counts_of(locked).get(Block.PRACTICE, (0, 0))
    if done < n:
        raise StudyRefused("practice_left", _("%(reader)s has practice cases left.") % {"reader": locked.pseudonym})
    if locked.practised_at is not None:
        return
    locked.practised_at = at
    locked.save(update_fields=["practised_at"])
    record("enrolment.practice_let_pass", actor=actor, at=at, subject=locked, facts={"reason": reason})


def _truth(presented: PresentedCase) -> AnswerKey:
    return AnswerKey.objects.only("key", "explanation").get(revision=presented.case.revision_id)
