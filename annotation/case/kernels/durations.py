"""From the events of a case to its active time, by one versioned rule. Pure; reviews and readings share it.

The clock is a list of events, some from each load of the page. Inside a load only its monotonic clock counts; from load
to load the time at which the server got their events does. See docs/decisions/0008-time.md.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate, pairwise

from msgspec import Struct, field

from annotation.enums import EventKind, Word, _

Span = tuple[int, int]  # from, to, in milliseconds


def merged(spans: Iterable[Span]) -> list[Span]:
    """Overlapping and touching spans as one, in order."""
    found: list[Span] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def clip(span: Span, window: Span) -> Span | None:
    start, end = max(span[0], window[0]), min(span[1], window[1])
    return (start, end) if start < end else None


def take(rest: Sequence[Span], spans: Iterable[Span]) -> tuple[list[Span], list[Span]]:
    """What of the rest lies in the spans, and what is left of it. Both are in order; the rest does not overlap."""
    taken: list[Span] = []
    left: list[Span] = []
    covering, n = merged(spans), 0
    for begin, end in rest:
        at = begin
        while n < len(covering) and covering[n][1] <= at:
            n += 1
        while n < len(covering) and covering[n][0] < end:
            start, stop = covering[n]
            if start > at:
                left.append((at, start))
            taken.append((max(at, start), min(end, stop)))
            at = min(end, stop)
            if stop > end:
                break  # it may reach into the next of the rest
            n += 1
        if at < end:
            left.append((at, end))
    return taken, left


def length(spans: Iterable[Span]) -> int:
    return sum(end - start for start, end in spans)


class TimeFlag(Word):
    """What is to be known about a time, and why there is none."""

    NOT_PAINTED = "not_painted", _("was not on screen before the commit")
    NOT_COMMITTED = "not_committed", _("the page reported no submission")
    MALFORMED = "malformed", _("what the page reported of its clock could not be read")
    NO_WALL_CLOCK = "no_wall_clock", _("several loads of the page, and one without a time of day")  # active-1 only
    SIMULATED = "simulated", _("simulated")
    CLOCK_BACKWARDS = "clock_backwards", _("a clock of the device went backwards")
    ABOVE_SERVER = "above_server", _("longer than the server's own elapsed time")
    APART = (
        "apart_from_server",
        _("differs from the server's time from opening to answer by more than travelling explains"),
    )
    RESUMED = "resumed", _("taken up again in another sitting")
    RELOADED = "reloaded", _("the page was loaded again, or in two tabs")
    LOADING = "loading", _("was loading again for a time")
    HIDDEN = "hidden", _("was hidden for a time")
    PAUSED = "paused", _("was paused or left for a time")
    ASLEEP = "asleep", _("the device slept or the page stood still for a time")
    ABSENT = "absent", _("the page reported nothing for a time")
    CLOCK_SET = "clock_set", _("the time of day of the device was set; it is not used")
    DOUBTFUL = "doubtful", _("may be off by more than 250 ms")
    QUIET = "quiet", _("a minute without input")
    BLURRED = "blurred", _("the window lost focus")
    TRANSLATED = "translated", _("the question was on screen in other words: the page was translated")
    HASTY = "hasty", _("answered before keys of the answer were listened to")


# The stated rule of exclusion: such a time is stored and shown, and left out of every summary of times.
EXCLUDING = frozenset({TimeFlag.CLOCK_BACKWARDS, TimeFlag.ABOVE_SERVER, TimeFlag.RESUMED, TimeFlag.SIMULATED})

# What takes time off, each moment by the first that holds then; what no load of the page covers is the gap.
TAKING = (TimeFlag.HIDDEN, TimeFlag.PAUSED, TimeFlag.ASLEEP, TimeFlag.ABSENT, TimeFlag.LOADING)
GAP, DOUBT = "gap", "doubt"
PARTS: Mapping[str, str] = {
    TimeFlag.HIDDEN.value: _("the page was hidden or covered"),
    TimeFlag.PAUSED.value: _("paused, or left for another case"),
    TimeFlag.ASLEEP.value: _("the device slept or the page stood still"),
    TimeFlag.ABSENT.value: _("the page reported nothing for over 15 s"),
    TimeFlag.LOADING.value: _("the page was loaded again and did not show everything yet"),
    GAP: _("between two loads, or sittings, when no page was open"),
}


def part_cells(stored: Mapping[str, int] | None) -> dict[str, int | None]:
    """Each part in ms by the name of its column; missing where a time was stored without them."""
    return {f"{name}_ms": None if stored is None else stored.get(name, 0) for name in (*PARTS, DOUBT)}


def is_counted(active_ms: int | None, flags: Collection[str]) -> bool:
    """Whether a stored time enters summaries; see EXCLUDING."""
    return active_ms is not None and not EXCLUDING.intersection(flags)


RULE = "active-2"
CLOCK_RULES = ("active-1", RULE)  # every rule by which a time may have been stored; each keeps its own
HEARTBEAT_MS = 5_000  # of a page that is on screen
GAP_MS = 15_000  # a longer silence of a page is absence, a longer gap between two loads another sitting
SET_MS = 1_000  # by more than this a time of day that differs from the monotonic clock was set, or the device slept
EXACT_MS = 250  # a time that may be off by more than this is flagged

Key = tuple[str, int]  # page, sequence: the name of an event


class ClockEvent(Struct, frozen=True):
    """One event as stored; ``wall_ms`` is None where the client gave none."""

    page: str
    sequence: int
    kind: str
    client_ms: float
    wall_ms: float | None
    received_at: datetime

    @property
    def key(self) -> Key:
        return self.page, self.sequence

    @property
    def lag_ms(self) -> int:
        """When the page's clock was at 0, by the server's clock: this at the latest."""
        return round(self.received_at.timestamp() * 1000) - round(self.client_ms)


class Durations(Struct, frozen=True):
    """Active and elapsed time; both None where they are not defined, and a flag says why. 0 <= active <= elapsed.

    ``parts`` says in ms what was taken off, by the names of PARTS, and as DOUBT by how much the active time may be off.
    The active time and what was taken off are the elapsed time.
    """

    active_ms: int | None
    elapsed_ms: int | None
    n_sittings: int | None
    flags: tuple[TimeFlag, ...]
    parts: Mapping[str, int] = field(default_factory=dict)
    rule: str = RULE


def durations(
    events: Iterable[ClockEvent],
    *,
    commits: Collection[Key] | None = None,
    server_elapsed_ms: float | None = None,
) -> Durations:
    """First painted to the last commit, minus what was hidden, paused, asleep, absent, loading or between two loads.

    ``commits`` names the events that may be the commit; without it every ``submitted`` may. Neither the order of the
    events nor a second copy of one changes anything. ``server_elapsed_ms`` bounds the active time: above it the time
    is flagged, not changed.
    """
    pages = [_Page(rows) for rows in _by_page(events)]
    always = flags_of_page(event for page in pages for event in page.events)
    line = _line([page.story(page.zero) for page in pages], commits)
    if isinstance(line, TimeFlag):
        return Durations(None, None, None, (line, *always))
    other = _by_time_of_day(pages, commits)
    if other is not None and _is_late(line, other):
        line = other
    doubt = line.doubt_ms + (max(0, other.active_ms - line.active_ms) if other is not None else 0)
    flags = line.flags | {*always} | ({TimeFlag.DOUBTFUL} if doubt > EXACT_MS else set())
    if server_elapsed_ms is not None and line.active_ms > server_elapsed_ms:
        flags = flags | {TimeFlag.ABOVE_SERVER}
    parts = {name: ms for name, ms in {**line.parts, DOUBT: doubt}.items() if ms}
    in_order = tuple(flag for flag in TimeFlag if flag in flags)
    return Durations(line.active_ms, line.elapsed_ms, line.n_sittings, in_order, parts)


def flags_of_page(events: Iterable[ClockEvent]) -> list[TimeFlag]:
    """What was on screen, also where there is no time."""
    return [TimeFlag.TRANSLATED] if any(event.kind == EventKind.TRANSLATED for event in events) else []


# --- one load of the page -------------------------------------------------------------------------
class _Story(Struct):
    """A load on the common time line: its events, and its spans with the state during each."""

    placed: list[tuple[int, ClockEvent]]
    spans: list[tuple[Span, frozenset[TimeFlag]]]
    state: frozenset[TimeFlag]  # at its last event
    flags: set[TimeFlag] = field(default_factory=set)

    @property
    def end(self) -> int:
        return self.placed[-1][0]

    def length_of(self, flag: TimeFlag) -> int:
        return sum(end - start for (start, end), during in self.spans if flag in during)


_AWAY = frozenset(TAKING)
_BEGINS = {
    EventKind.HIDDEN: TimeFlag.HIDDEN,
    EventKind.PAUSED: TimeFlag.PAUSED,
    EventKind.ASLEEP: TimeFlag.ASLEEP,
    EventKind.BLURRED: TimeFlag.BLURRED,
}
_ENDS = {
    EventKind.VISIBLE: TimeFlag.HIDDEN,
    EventKind.RESUMED: TimeFlag.PAUSED,
    EventKind.AWAKE: TimeFlag.ASLEEP,
    EventKind.FOCUSED: TimeFlag.BLURRED,
    EventKind.PAINTED: TimeFlag.LOADING,
}


class _Page:
    def __init__(self, events: Sequence[ClockEvent]) -> None:
        self.events = events
        self.zero = min(event.lag_ms for event in events)

    @property
    def wall_zero(self) -> int | None:
        """When the page's clock was at 0, by the device's time of day."""
        return next((round(e.wall_ms) - round(e.client_ms) for e in self.events if e.wall_ms is not None), None)

    def story(self, zero: int) -> _Story:
        first = self.events[0]
        at = zero + round(first.client_ms)
        state = _after(frozenset({TimeFlag.LOADING}), first)
        story = _Story([(at, first)], [], state)
        if first.sequence == 0:  # the page was loaded for this case
            story.spans.append(((zero, at), frozenset({TimeFlag.LOADING})))
        slept = self._slept()
        for n, (before, event) in enumerate(pairwise(self.events)):
            length = self._length(story, before, event)
            story.spans.append(((at, at + length), _during(state, event, length)))
            at += length
            if slept[n]:
                story.spans.append(((at, at + slept[n]), state | {TimeFlag.ASLEEP}))
                at += slept[n]
            story.placed.append((at, event))
            story.state = state = _after(state, event)
        return story

    def _length(self, story: _Story, before: ClockEvent, event: ClockEvent) -> int:
        """From event to event on the monotonic clock."""
        length = round(event.client_ms) - round(before.client_ms)
        if length < 0:
            story.flags.add(TimeFlag.CLOCK_BACKWARDS)
        if abs(_wall_jump(before, event)) > SET_MS:
            story.flags.add(TimeFlag.CLOCK_SET)
        return max(length, 0)

    def _slept(self) -> list[int]:
        """For each event but the first, how long the monotonic clock had stopped before it.

        The time of day ran ahead, and the server heard of the page later by about as much: else the clock was set.
        """
        lags = [event.lag_ms for event in self.events]
        until, since = list(accumulate(lags, min)), list(accumulate(reversed(lags), min))[::-1]
        found = []
        for n, (before, event) in enumerate(pairwise(self.events)):
            jump = _wall_jump(before, event)
            is_sleep = jump > SET_MS and since[n + 1] - until[n] > jump / 2
            found.append(jump if is_sleep else 0)
        return found


def _during(state: frozenset[TimeFlag], event: ClockEvent, length: int) -> frozenset[TimeFlag]:
    """The state before this event."""
    during = state
    if event.kind == EventKind.RESUMED:  # the pause itself may have gone unheard
        during |= {TimeFlag.PAUSED}
    if length > GAP_MS and not during & _AWAY:
        during |= {TimeFlag.ABSENT}
    return during


def _after(state: frozenset[TimeFlag], event: ClockEvent) -> frozenset[TimeFlag]:
    def flags(table: Mapping[EventKind, TimeFlag]) -> set[TimeFlag]:
        return {flag for kind, flag in table.items() if kind == event.kind}

    return (state | flags(_BEGINS)) - flags(_ENDS)


def _wall_jump(before: ClockEvent, event: ClockEvent) -> int:
    """By how much the time of day ran ahead of the monotonic clock; 0 where there is none."""
    if before.wall_ms is None or event.wall_ms is None:
        return 0
    return round(event.wall_ms - before.wall_ms) - round(event.client_ms - before.client_ms)


# --- all of them ----------------------------------------------------------------------------------
class _Line(Struct, frozen=True):
    """All loads on one time line, and what that makes of their window."""

    begins: str  # the load that showed everything first
    active_ms: int
    elapsed_ms: int
    n_sittings: int
    flags: set[TimeFlag]
    parts: dict[str, int]
    doubt_ms: int


def _by_time_of_day(pages: Sequence[_Page], commits: Collection[Key] | None) -> _Line | None:
    """Several loads placed as their device says; None where that says nothing."""
    zeros = [page.wall_zero for page in pages]
    if len(pages) == 1 or None in zeros:
        return None
    line = _line([page.story(zero) for page, zero in zip(pages, zeros, strict=True) if zero is not None], commits)
    return None if isinstance(line, TimeFlag) else line


def _is_late(line: _Line, other: _Line) -> bool:
    """Whether a second sitting may only be a load of which the server heard late, as after a lost connection.

    Then the time of day keeps the order of the loads and makes the time shorter.
    """
    return line.n_sittings > 1 and line.begins == other.begins and other.elapsed_ms < line.elapsed_ms


def _window(stories: Sequence[_Story], commits: Collection[Key] | None) -> Span | TimeFlag:
    """From the first painted to the last commit, or why there is no such time."""
    placed = [one for story in stories for one in story.placed]
    painted = [at for at, event in placed if event.kind == EventKind.PAINTED]
    submitted = [(at, event.key) for at, event in placed if event.kind == EventKind.SUBMITTED]
    ends = [at for at, key in submitted if commits is None or key in commits]
    if not painted or (ends and max(ends) < min(painted)):
        return TimeFlag.NOT_PAINTED
    return (min(painted), max(ends)) if ends else TimeFlag.NOT_COMMITTED


def _line(stories: Sequence[_Story], commits: Collection[Key] | None) -> _Line | TimeFlag:
    """Each moment of the window is active on some page, else taken off by the first of TAKING, else by the gap."""
    window = _window(stories, commits)
    if isinstance(window, TimeFlag):
        return window
    spans = [one for story in stories for one in story.spans]
    on_screen = [span for span, during in spans if not during & _AWAY]
    active, rest = take([window], on_screen)
    parts: dict[str, int] = {}
    between: list[Span] = []
    for flag in TAKING:
        taken, rest = take(rest, [span for span, during in spans if flag in during])
        parts[flag.value] = length(taken)
        between = taken  # at last the loading
    parts[GAP] = length(rest)
    n_sittings = 1 + sum(end - start > GAP_MS for start, end in rest)
    flags = _flags(stories, window) | {flag for flag in TAKING if parts[flag.value]}
    flags |= {TimeFlag.RESUMED} if n_sittings > 1 else set()
    doubts = (_doubt_of_ends(stories, [*between, *rest]), _doubt_unseen(stories), _doubt_of_silence(on_screen, window))
    return _Line(_begins(stories), length(active), length([window]), n_sittings, flags, parts, sum(doubts))


def _begins(stories: Sequence[_Story]) -> str:
    placed = [one for story in stories for one in story.placed]
    return min((at, event.page) for at, event in placed if event.kind == EventKind.PAINTED)[1]


def _flags(stories: Sequence[_Story], window: Span) -> set[TimeFlag]:
    """What is noted and takes nothing off."""
    flags = {flag for story in stories for flag in story.flags}
    inside = [story for story in stories if clip((story.placed[0][0], story.end), window)]
    flags |= {TimeFlag.RELOADED} if len(inside) > 1 else set()
    for story in stories:
        if any(e.kind == EventKind.QUIET and window[0] <= at <= window[1] for at, e in story.placed):
            flags.add(TimeFlag.QUIET)
        if any(TimeFlag.BLURRED in during and clip(span, window) for span, during in story.spans):
            flags.add(TimeFlag.BLURRED)
    return flags


def _doubt_of_ends(stories: Sequence[_Story], between: Iterable[Span]) -> int:
    """A load that ended without a word, as in a crash, may have been on screen until its next heartbeat."""
    unsaid = {story.end for story in stories if not story.state & _AWAY}
    return sum(min(end - start, HEARTBEAT_MS) for start, end in merged(between) if start in unsaid)


def _doubt_unseen(stories: Sequence[_Story]) -> int:
    """A load that never showed everything, but in which something was chosen or submitted."""
    acts = {EventKind.SELECTED, EventKind.SUBMITTED}
    unseen = [s for s in stories if len(stories) > 1 and TimeFlag.LOADING in s.state]
    return sum(s.length_of(TimeFlag.LOADING) for s in unseen if any(event.kind in acts for _at, event in s.placed))


def _doubt_of_silence(on_screen: Iterable[Span], window: Span) -> int:
    """A page on screen that left out a heartbeat and does not say why: it may have been suspended as long."""
    inside = [span for span in on_screen if clip(span, window)]
    return sum(end - start for start, end in inside if end - start >= 2 * HEARTBEAT_MS)


def _by_page(events: Iterable[ClockEvent]) -> list[list[ClockEvent]]:
    """The events of each page by their number, each once."""
    once: dict[Key, ClockEvent] = {}
    for event in sorted(events, key=repr):
        once.setdefault(event.key, event)
    pages: dict[str, list[ClockEvent]] = {}
    for key in sorted(once):
        pages.setdefault(key[0], []).append(once[key])
    return list(pages.values())
