"""What a section of the home page is, and the step that comes next; rooms above fill them."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from annotation.enums import AssignmentState, RoundState
from annotation.models import Assignment, User

SHOWN = 8  # rounds, banks, studies and jobs named on the home page; the rest is on their own pages


class NextStep(Struct, frozen=True):
    """The one thing to do next. Home says what it is about; on the page of that thing the sentence stands alone."""

    label: str
    sentence: str
    url: str
    about: str = ""  # the name of the thing
    is_act: bool = False  # asked for by POST, and confirmed there
    is_due: bool = True  # up to who reads it; otherwise it says whom or what everything waits for


def first_due(steps: Iterable[NextStep | None]) -> NextStep | None:
    """The first that is up to the person, otherwise the first that says what everything waits for."""
    return min(filter(None, steps), key=lambda step: not step.is_due, default=None)


class WorkItem(Struct, frozen=True):
    """One line of a section; ``words`` are shown in place of "3 of 12", ``tone`` is that of the tag with the state."""

    name: str
    url: str
    n_done: int = 0
    n_total: int = 0
    words: str = ""
    state: str = ""
    tone: str = ""


class WorkSection(Struct, frozen=True):
    """Work of one kind. ``is_own``: this person's own cases, which come before what they look after."""

    title: str
    items: list[WorkItem]
    step: NextStep | None = None
    is_own: bool = False
    empty: str = ""  # what to say without an item; a section that has neither is not shown
    url: str = ""  # of the page that lists them all


def n_open_assignments(person: User) -> int:
    """Questions in open rounds that wait for this person."""
    rows = Assignment.objects.filter(reviewer=person, round__state=RoundState.OPEN)
    over = (AssignmentState.SUBMITTED, AssignmentState.RETURNED, AssignmentState.WITHDRAWN)
    return rows.exclude(state__in=over).count()
