"""What a round sets at the images: tools that it does without, the smallest window, what a double-click does."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.enums import FINAL_STATES, LEAST_WINDOW, MOST_WINDOW, ViewerTool
from annotation.models import ReviewRound, User
from annotation.review.assigning import lock_round
from annotation.review.kernels.transitions import ReviewRefused


class Viewing(Struct, frozen=True):
    hidden_tools: tuple[ViewerTool, ...] = ()
    least_window: tuple[int, int] | None = None  # width and height in CSS pixels
    double_click: bool = False  # on an option submits the blind answer

    def as_columns(self) -> dict[str, Any]:
        """In the order of the vocabulary, so that the same choice is stored the same."""
        width, height = self.least_window or (None, None)
        hidden = [tool.value for tool in ViewerTool if tool in self.hidden_tools]
        return {
            "hidden_tools": hidden,
            "least_width": width,
            "least_height": height,
            "double_click": self.double_click,
        }


ORDINARY = Viewing()


def viewing_of(review_round: ReviewRound) -> Viewing:
    hidden = tuple(tool for tool in ViewerTool if tool in review_round.hidden_tools)
    width, height = review_round.least_width, review_round.least_height
    window = (width, height) if width is not None and height is not None else None
    return Viewing(hidden, window, review_round.double_click)


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
