"""What a round sets at the images: tools that it does without, the smallest window, what a double-click does; and the
check of the display, where it asks its reviewers for one. The audit log keeps each try; the newest one counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import lock_log, record
from annotation.case.kernels.display import NOT_READ, Pattern, checked_screen, next_pattern, tried
from annotation.enums import FINAL_STATES, LEAST_WINDOW, MOST_WINDOW, RoundState, ViewerTool
from annotation.models import AuditEvent, ReviewRound, User
from annotation.review.assigning import lock_round
from annotation.review.kernels.transitions import ReviewRefused


class Viewing(Struct, frozen=True):
    hidden_tools: tuple[ViewerTool, ...] = ()
    least_window: tuple[int, int] | None = None  # width and height in CSS pixels
    double_click: bool = False  # on an option submits the blind answer
    display_check: bool = False  # reviewers are asked for it before their first case, and on another screen

    def as_columns(self) -> dict[str, Any]:
        """In the order of the vocabulary, so that the same choice is stored the same."""
        width, height = self.least_window or (None, None)
        hidden = [tool.value for tool in ViewerTool if tool in self.hidden_tools]
        return {
            "hidden_tools": hidden,
            "least_width": width,
            "least_height": height,
            "double_click": self.double_click,
            "display_check": self.display_check,
        }


ORDINARY = Viewing()


def viewing_of(review_round: ReviewRound) -> Viewing:
    hidden = tuple(tool for tool in ViewerTool if tool in review_round.hidden_tools)
    width, height = review_round.least_width, review_round.least_height
    window = (width, height) if width is not None and height is not None else None
    return Viewing(hidden, window, review_round.double_click, review_round.display_check)


def check_viewing(viewing: Viewing) -> None:
    """Raises ReviewRefused for a window that says nothing or that no ordinary screen has."""
    if viewing.least_window is None:
        return
    bounds = zip(viewing.least_window, LEAST_WINDOW, MOST_WINDOW, strict=True)
    if not all(least <= side <= most for side, least, most in bounds):
        sentence = _("The smallest window can be %(least)s to %(most)s pixels.")
        facts = {"least": size_text(LEAST_WINDOW), "most": size_text(MOST_WINDOW)}
        raise ReviewRefused("window_out_of_range", sentence % facts)


@transaction.atomic
def set_viewing(review_round: ReviewRound, viewing: Viewing, *, actor: User, at: datetime) -> None:
    """For everybody from their next page on. What it was before stays in the audit log; no change, no entry.

    Raises ReviewRefused for a closed round: what was reviewed was seen under the conditions that are stored there.
    """
    check_viewing(viewing)
    lock_round(review_round)
    if review_round.state in FINAL_STATES:
        raise ReviewRefused(
            "round_closed", _("The reviews of the round are final: its tools and window stay as they were.")
        )
    before = viewing_of(review_round)
    if viewing.as_columns() == before.as_columns():
        return
    for name, value in viewing.as_columns().items():
        setattr(review_round, name, value)
    review_round.save(update_fields=list(viewing.as_columns()))
    facts = {"before": before.as_columns(), "after": viewing.as_columns()}
    record("round.viewing_changed", actor=actor, at=at, subject=review_round, facts=facts)


def size_text(size: tuple[int, int] | None) -> str:
    """Width and height as people write them; empty for no size."""
    return f"{size[0]} × {size[1]}" if size else ""


# --- the check of the display -----------------------------------------------------------------------
CHECKED, NOT_PASSED = "round.display_checked", "round.display_not_passed"


def _asking(review_round: ReviewRound) -> ReviewRound:
    """The round of which an adjudication or a calibration is a part, by its number alone."""
    return ReviewRound(pk=review_round.adjudicates_id or review_round.calibrates_id or review_round.pk)


def checks_of(review_round: ReviewRound) -> QuerySet[AuditEvent]:
    """Every try in the round and its parts, in time; ``facts`` as annotation.case.kernels.display.tried makes them."""
    one = {"subject_type": "reviewround", "subject_id": str(_asking(review_round).pk)}
    return AuditEvent.objects.filter(**one, act__in=(CHECKED, NOT_PASSED)).order_by("pk")


def newest_check(review_round: ReviewRound, person: User) -> dict[str, Any]:
    """Empty: none yet."""
    newest = checks_of(review_round).filter(actor=person).last()
    return newest.facts if newest is not None else {}


def newest_checks(review_round: ReviewRound) -> dict[int, dict[str, Any]]:
    """By reviewer, of those who were let in."""
    return {one.actor_id: one.facts for one in checks_of(review_round) if one.actor_id and one.facts["lets_in"]}


def asked_screen(review_round: ReviewRound, person: User) -> str:
    """For the script of a case: on which screen this reviewer has been let in, as JSON; empty: nothing is asked."""
    if not review_round.display_check or review_round.state != RoundState.OPEN:
        return ""
    newest = newest_check(review_round, person)
    return checked_screen(newest or {"lets_in": False})


def pattern_now(review_round: ReviewRound, person: User, before: Mapping[str, Any]) -> Pattern:
    """For the try of this reviewer after the one ``before``."""
    return next_pattern(settings.PSEUDONYM_KEY.encode(), f"{_asking(review_round).pk} {person.pk}", before)


@transaction.atomic
def check_display(
    review_round: ReviewRound, told: Mapping[str, Any], *, attempt: int, goes_on: bool, actor: User, at: datetime
) -> str:
    """Keep what was read of the pattern of this attempt; empty, or the sentence that says what to do.

    What comes from a page that shows an earlier pattern stores nothing.
    """
    lock_log()
    before = newest_check(review_round, actor)
    if attempt != before.get("n_attempts", 0):
        return "" if checked_screen(told) == checked_screen(before) else _(NOT_READ)  # sent twice, or from elsewhere
    found = tried(before, pattern_now(review_round, actor, before), told, on=timezone.localdate(at), goes_on=goes_on)
    act = CHECKED if found["passed"] else NOT_PASSED
    record(act, actor=actor, at=at, subject=_asking(review_round), facts=found)
    return "" if found["lets_in"] else _(NOT_READ)
