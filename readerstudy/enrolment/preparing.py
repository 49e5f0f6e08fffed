"""What a reader does between the consent and the first case, and after the last one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.statistics.kernels.estimate import Estimate
from readerstudy.design.kernels.rules import Rules, read_rules
from readerstudy.enrolment.kernels.display import Corner, Screen, corners_of, is_large_enough
from readerstudy.enrolment.kernels.reader_facts import ReaderFacts
from readerstudy.models import Enrolment, ReaderStudy
from readerstudy.study.locking import StudyRefused, lock_reader
from readerstudy.study.tallies import accuracy_of
from readerstudy.unblinding.looks import is_over, unblind

TRIES = 2  # of the display check, before a reader may go on without a patch


def rules_of(study: ReaderStudy) -> Rules:
    return read_rules(study.rules)


@transaction.atomic
def store_facts(enrolment: Enrolment, facts: ReaderFacts, *, at: datetime) -> None:
    """Store them; they can be corrected until the main block is finished."""
    lock_reader(enrolment)
    if enrolment.finished_at is not None or enrolment.facts == facts.as_json():
        return
    was_there = bool(enrolment.facts)
    enrolment.facts = facts.as_json()
    enrolment.save(update_fields=["facts"])
    act = "reader.facts_corrected" if was_there else "reader.facts_told"
    record(act, actor=enrolment.reader, at=at, subject=enrolment)


@transaction.atomic
def instruct(enrolment: Enrolment, *, at: datetime) -> None:
    """The reader says that the instructions are read. Twice changes nothing."""
    lock_reader(enrolment)
    if enrolment.instructed_at is None:
        enrolment.instructed_at = at
        enrolment.save(update_fields=["instructed_at"])
        record("reader.instructed", actor=enrolment.reader, at=at, subject=enrolment)


def corners_now(enrolment: Enrolment) -> tuple[Corner, Corner]:
    """Where the two patches stand on the page of this reader now."""
    return corners_of(enrolment.public_id, int(enrolment.display.get("n_failed", 0)))


def may_go_on_unseen(enrolment: Enrolment) -> bool:
    """Whether a reader who does not find the patches is offered to go on all the same, which is flagged."""
    return int(enrolment.display.get("n_failed", 0)) >= TRIES


def check_display(
    enrolment: Enrolment, screen: Screen, said: Sequence[Corner], *, at: datetime, goes_on: bool = False
) -> None:
    """Store the screen, and which of the two steps were found.

    Refused in a window that is too small, and where a step was not found: the try is counted and the patches move. The
    check may be done anew on another screen: the newest one is stored, the others stay in the audit log. ``goes_on``:
    after two tries a reader may go on without having found a patch; coordinators see that, and exports say it.
    """
    least = rules_of(enrolment.study).least_window
    if least is not None and not is_large_enough(screen, least):
        sizes: dict[str, Any] = {
            "width": screen.width,
            "height": screen.height,
            "least_width": least[0],
            "least_height": least[1],
        }
        sentence = _(
            "Your window shows %(width)s × %(height)s pixels; this study needs at least %(least_width)s × "
            "%(least_height)s. Make the window larger or zoom out, then check again."
        )
        raise StudyRefused("window_too_small", sentence % sizes, **sizes)
    if not _store_check(enrolment, screen, said, at, goes_on=goes_on):
        sentence = _(
            "At least one answer is not right. Darken the room, set the display to full brightness, and look again: "
            "the patches have moved."
        )
        raise StudyRefused("steps_not_seen", sentence)


@transaction.atomic
def _store_check(enrolment: Enrolment, screen: Screen, said: Sequence[Corner], at: datetime, *, goes_on: bool) -> bool:
    lock_reader(enrolment)
    passes = goes_on and may_go_on_unseen(enrolment)
    seen = tuple(said) == corners_now(enrolment)
    n_failed = int(enrolment.display.get("n_failed", 0)) + (not seen)
    enrolment.display = {
        **screen.as_json(),
        "dark_step": said[0] == corners_now(enrolment)[0],
        "light_step": said[1] == corners_now(enrolment)[1],
        "n_failed": n_failed,
    }
    if seen or passes:
        enrolment.display_checked_at = at
    enrolment.save(update_fields=["display", "display_checked_at"])
    act = "reader.display_checked" if seen else "reader.display_not_seen"
    record(act, actor=enrolment.reader, at=at, subject=enrolment, facts=enrolment.display)
    return seen or passes


@transaction.atomic
def declare(enrolment: Enrolment, *, at: datetime) -> None:
    """ "No other source was used." Twice changes nothing. Refused before the last case."""
    lock_reader(enrolment)
    if enrolment.finished_at is None:
        raise StudyRefused("not_finished", _("Cases of the main block have no answer yet."))
    if enrolment.declared_at is None:
        enrolment.declared_at = at
        enrolment.save(update_fields=["declared_at"])
        record("reader.declared", actor=enrolment.reader, at=at, subject=enrolment)


def may_see_results(enrolment: Enrolment) -> bool:
    """After closing, where the rules of the study say so, for readers who declared that they used no other source."""
    return is_over(enrolment.study) and rules_of(enrolment.study).show_results and enrolment.declared_at is not None


@transaction.atomic
def see_own_results(enrolment: Enrolment, *, at: datetime) -> Estimate:
    """Right answers of the cases that count, with Wilson's interval. Seeing it unblinds the study."""
    unblind(enrolment.study, actor=enrolment.reader, at=at, because="a reader's own results")
    return accuracy_of(enrolment)
