"""The rules of a study: plain values with their defaults, checked, read from JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta
from msgspec.structs import asdict

from annotation.enums import LEAST_WINDOW, MOST_WINDOW, ViewerTool
from readerstudy.design.kernels.documents import DesignRefused, Document, _, decode, expects
from readerstudy.enums import Block

CHANCES = (25, 40, 60, 80, 95)  # percent; what a reader can say about the chance of being right
LEAST_READY, MOST_READY = 2, 10
GRACE_MS = 2_000  # over the limit, on the client's monotonic clock
LATER = frozenset({"reader_names"})  # left out at their default, so that older plans keep their text and their hash
TOOLS = _("The hidden tools are a list of names.")


class Rules(Document, frozen=True, kw_only=True):
    """How a study is read. The defaults are those of docs/reader-studies.md."""

    UNKNOWN: ClassVar[str] = _("There is no such rule.")
    WRONG_KIND: ClassVar[str] = _("This rule has another kind of value.")
    OUT_OF_RANGE: ClassVar[str] = _("This number is out of range.")

    time_limit_s: Annotated[int, Meta(ge=5, le=3600)] | None = None  # per case; None: no limit and no clock on screen
    shuffle_options: bool = False  # "none of the above" and references to letters stay in place
    confidence: bool = False  # asked by key after the commit
    slips: bool = True  # a slip can be reported until the next commit
    cannot_tell: bool = False  # a best guess is asked after it
    n_ready: int = 2  # cases that a reader's page may hold ahead, of their own order
    break_every: Annotated[int, Meta(ge=1, le=1000)] | None = None  # cases, after which the page offers a break
    may_pause: bool = True
    practice_pass: Annotated[int, Meta(ge=1, le=100)] | None = None  # right answers needed in practice; None: none
    show_results: bool = False  # own results on the last page
    several_per_patient: bool = False
    hidden_tools: Annotated[tuple[str, ...], Meta(extra=expects(TOOLS))] = ()  # annotation.enums.ViewerTool values
    least_width: Annotated[int, Meta(ge=LEAST_WINDOW[0], le=MOST_WINDOW[0])] | None = None  # of the window, CSS pixels
    least_height: Annotated[int, Meta(ge=LEAST_WINDOW[1], le=MOST_WINDOW[1])] | None = None
    reader_names: bool = False  # coordinators read names on results pages and in figures, else pseudonyms

    def as_json(self) -> dict[str, Any]:
        values = {**asdict(self), "hidden_tools": list(self.hidden_tools)}
        return {name: value for name, value in values.items() if name not in LATER or value}

    @property
    def asks_after_the_answer(self) -> bool:
        """Whether the next case waits for what a reader says about the answer before it."""
        return self.confidence or self.cannot_tell

    @property
    def least_window(self) -> tuple[int, int] | None:
        return None if self.least_width is None or self.least_height is None else (self.least_width, self.least_height)

    def has_break_before(self, block: str, position: int) -> bool:
        """Whether a break is offered before this case: after every so many cases of the main block."""
        done = position - 1
        return self.break_every is not None and block == Block.MAIN and done > 0 and done % self.break_every == 0


def read_rules(data: Mapping[str, Any]) -> Rules:
    """Rules from JSON; what is not named keeps its default. Refused with the rule that cannot be so."""
    rules = decode(data, Rules)
    if set(rules.hidden_tools) - set(ViewerTool.values()):
        raise DesignRefused("bad_value", _("The images have no tool of this name."), field="hidden_tools")
    if not LEAST_READY <= rules.n_ready <= MOST_READY:
        raise DesignRefused("bad_value", _("Two to ten cases can be ready."), field="n_ready")
    if (rules.least_width is None) != (rules.least_height is None):
        raise DesignRefused("bad_value", _("A smallest window has a width and a height."), field="least_width")
    return rules
