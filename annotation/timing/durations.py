"""From the events of a case to its active time, by one versioned rule. Pure; reviews and readings share it.

The clock is a list of events, some from each load of the page. Inside a page the monotonic clock counts; from page to
page, and for a sleep that stops the monotonic clock, the client's wall clock does. See docs/decisions/0008-time.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from annotation.enums import EventKind, Word

RULE = "active-1"
GAP_US = 15_000_000  # heartbeats come every 5 s; a longer gap is absence

Key = tuple[str, int]  # page, sequence: the name of an event
Span = tuple[int, int]  # from, to, in microseconds


def _(label: str) -> str:
    """Mark a label for translation; pages translate it where it is shown."""
    return label


class TimeFlag(Word):
    """What is to be known about a time, and why there is none."""

    NOT_PAINTED = "not_painted", _("was not on screen before the commit")
    NOT_COMMITTED = "not_committed", _("the page told no commit")
    MALFORMED = "malformed", _("what the page told of its clock could not be read")
    NO_WALL_CLOCK = "no_wall_clock", _("several loads of the page, and one without a time of day")
    SIMULATED = "simulated", _("simulated")
    CLOCK_BACKWARDS = "clock_backwards", _("a clock of the device went backwards")
    ABOVE_SERVER = "above_server", _("longer than the server's own elapsed time")
    RESUMED = "resumed", _("taken up again in another sitting")
    RELOADED = "reloaded", _("the page was loaded again, or in two tabs")
    HIDDEN = "hidden", _("was hidden for a time")
    PAUSED = "paused", _("was paused or left for a time")
    ABSENT = "absent", _("the page told nothing for a time")
    QUIET = "quiet", _("a minute without input")
    BLURRED = "blurred", _("the window lost focus")


# The stated rule of exclusion: such a time is stored and shown, and left out of every summary of times.
EXCLUDING = frozenset({TimeFlag.CLOCK_BACKWARDS, TimeFlag.ABOVE_SERVER, TimeFlag.RESUMED, TimeFlag.SIMULATED})


@dataclass(frozen=True)
class ClockEvent:
    """One event as stored; ``wall_ms`` is None where the client gave none."""

    page: str
    sequence: int
    kind: str
    client_ms: float
    wall_ms: float | None = None

    @property
    def key(self) -> Key:
        return self.page, self.sequence


@dataclass(frozen=True)
class Durations:
    """Active and elapsed time; both None where they are not defined, and a flag says why. 0 <= active <= elapsed."""

    active_ms: int | None
    elapsed_ms: int | None
    n_sittings: int | None
    flags: tuple[TimeFlag, ...]
    rule: str = RULE


def durations(
    events: Iterable[ClockEvent],
    *,
    commits: Collection[Key] | None = None,
    server_elapsed_ms: float | None = None,
) -> Durations:
    """First painted to the last commit, minus what was hidden, paused or absent.

    ``commits`` names the events that may be the commit; without it every ``submitted`` may. Neither the order of the
    events nor a second copy of one changes anything. ``server_elapsed_ms`` bounds the active time: above it the time
    is flagged, not changed.
    """
    pages = [_Page(rows) for rows in _by_page(events)]
    stories = [page.story() for page in pages]
    painted = [p for story in stories for p, event in story.placed if event.kind == EventKind.PAINTED]
    ends = [p for story in stories for p, event in story.placed if _is_commit(event, commits)]
    if not painted:
        return _undefined(TimeFlag.NOT_PAINTED)
    if not ends:
        return _undefined(TimeFlag.NOT_COMMITTED)
    if len(pages) > 1 and not all(page.has_wall for page in pages):
        return _undefined(TimeFlag.NO_WALL_CLOCK)
    start, end = min(painted), max(ends)
    if end < start:
        return _undefined(TimeFlag.NOT_PAINTED)
    return _measure(stories, (start, end), server_elapsed_ms)


def is_counted(active_ms: int | None, flags: Collection[str]) -> bool:
    """Whether a stored time enters summaries; see EXCLUDING."""
    return active_ms is not None and not EXCLUDING.intersection(flags)


# --- one load of the page -------------------------------------------------------------------------
@dataclass
class _Story:
    """A page on the common time line: its events, and its spans with what held during each."""

    placed: list[tuple[int, ClockEvent]]
    spans: list[tuple[Span, frozenset[TimeFlag]]]
    flags: set[TimeFlag] = field(default_factory=set)

    @property
    def covered(self) -> Span:
        return self.placed[0][0], self.placed[-1][0]


_AWAY = frozenset({TimeFlag.HIDDEN, TimeFlag.PAUSED, TimeFlag.ABSENT})
_BEGINS = {
    EventKind.HIDDEN: TimeFlag.HIDDEN,
    EventKind.PAUSED: TimeFlag.PAUSED,
    EventKind.BLURRED: TimeFlag.BLURRED,
}
_ENDS = {
    EventKind.VISIBLE: TimeFlag.HIDDEN,
    EventKind.RESUMED: TimeFlag.PAUSED,
    EventKind.FOCUSED: TimeFlag.BLURRED,
}


class _Page:
    def __init__(self, events: Sequence[ClockEvent]) -> None:
        self.events = events
        self.has_wall = any(event.wall_ms is not None for event in events)

    def story(self) -> _Story:
        at = self._start()
        story = _Story([(at, self.events[0])], [])
        state: frozenset[TimeFlag] = _after(frozenset(), self.events[0])
        for before, event in pairwise(self.events):
            mono, wall = _us(event.client_ms) - _us(before.client_ms), _wall_gap(before, event)
            if mono < 0 or (wall is not None and wall < 0):
                story.flags.add(TimeFlag.CLOCK_BACKWARDS)
            length, during = max(mono, 0), state
            if max(mono, wall or 0) > GAP_US:
                length, during = max(mono, wall or 0), during | {TimeFlag.ABSENT}
            if event.kind == EventKind.RESUMED:  # the pause itself may have gone unheard
                during |= {TimeFlag.PAUSED}
            story.spans.append(((at, at + length), during))
            at += length
            story.placed.append((at, event))
            state = _after(state, event)
        return story

    def _start(self) -> int:
        """Where the first event stands on the wall clock; from 0 where the page has none."""
        first = self.events[0]
        for event in self.events:
            if event.wall_ms is not None:
                return _us(event.wall_ms) - (_us(event.client_ms) - _us(first.client_ms))
        return 0


def _after(state: frozenset[TimeFlag], event: ClockEvent) -> frozenset[TimeFlag]:
    begins = {flag for kind, flag in _BEGINS.items() if kind == event.kind}
    ends = {flag for kind, flag in _ENDS.items() if kind == event.kind}
    return (state | begins) - ends


def _wall_gap(before: ClockEvent, event: ClockEvent) -> int | None:
    if before.wall_ms is None or event.wall_ms is None:
        return None
    return _us(event.wall_ms) - _us(before.wall_ms)


# --- all of them ----------------------------------------------------------------------------------
def _measure(stories: Sequence[_Story], window: Span, server_elapsed_ms: float | None) -> Durations:
    """Time in which some page was on screen, and short gaps between two loads of the page."""
    flags = {flag for story in stories for flag in story.flags}
    present: list[Span] = []
    for story in stories:
        for span, during in story.spans:
            if (inside := _clip(span, window)) is not None:
                flags |= during
                if not during & _AWAY:
                    present.append(inside)
        if any(e.kind == EventKind.QUIET and window[0] <= p <= window[1] for p, e in story.placed):
            flags.add(TimeFlag.QUIET)
    covered = [inside for story in stories if (inside := _clip(story.covered, window)) is not None]
    between = [(a_end, b_start) for (_, a_end), (b_start, _) in pairwise(_merged(covered))]
    long = [gap for gap in between if _length(gap) > GAP_US]
    present += [gap for gap in between if _length(gap) <= GAP_US]
    if len(covered) > 1:
        flags.add(TimeFlag.RELOADED)
    if long:
        flags |= {TimeFlag.RESUMED, TimeFlag.ABSENT}
    active_ms = sum(_length(span) for span in _merged(present)) // 1000
    if server_elapsed_ms is not None and active_ms > server_elapsed_ms:
        flags.add(TimeFlag.ABOVE_SERVER)
    return Durations(active_ms, _length(window) // 1000, 1 + len(long), _in_order(flags))


def _by_page(events: Iterable[ClockEvent]) -> list[list[ClockEvent]]:
    """The events of each page by their number, each once."""
    once: dict[Key, ClockEvent] = {}
    for event in sorted(events, key=repr):
        once.setdefault(event.key, event)
    pages: dict[str, list[ClockEvent]] = {}
    for key in sorted(once):
        pages.setdefault(key[0], []).append(once[key])
    return list(pages.values())


def _is_commit(event: ClockEvent, commits: Collection[Key] | None) -> bool:
    return event.kind == EventKind.SUBMITTED and (commits is None or event.key in commits)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping and touching spans as one, in order."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _clip(span: Span, window: Span) -> Span | None:
    start, end = max(span[0], window[0]), min(span[1], window[1])
    return (start, end) if start < end else None


def _length(span: Span) -> int:
    return span[1] - span[0]


def _us(ms: float) -> int:
    """Whole microseconds: sums of them are exact."""
    return round(ms * 1000)


def _in_order(flags: Collection[TimeFlag]) -> tuple[TimeFlag, ...]:
    return tuple(flag for flag in TimeFlag if flag in flags)


def _undefined(why: TimeFlag) -> Durations:
    return Durations(None, None, None, (why,))
