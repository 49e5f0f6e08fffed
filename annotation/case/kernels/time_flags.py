"""What is to be known about a time of a case: its flags, which of them exclude it, and what was taken off. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from annotation.enums import Word


def _(label: str) -> str:
    """Mark a label for translation; pages translate it where it is shown."""
    return label


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
