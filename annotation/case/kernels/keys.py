"""The keys beside images, declared once: lists of keys, the profile, instructions and scripts read this.

A key means one thing wherever it is listened to. ⇧ before a letter: held with Shift. Letters are those printed on the
key; digits, arrows and the magnifier go by place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec import Struct

from annotation.enums import Word, _


class Part(Word):
    """Where a key is listened to."""

    EVERYWHERE = "everywhere", _("Everywhere")
    BLIND = "blind", _("Step 1: blind answer")
    JUDGE = "judge", _("Step 2: judgement")
    REVIEW = "review", _("Reviews")
    STUDY = "study", _("Studies")
    IMAGES = "images", _("Images")


class Key(Struct, frozen=True):
    """One line of the list. ``acts`` are what scripts call what its ``keys`` do, key by key; none: by place."""

    part: Part
    keys: str  # as printed, by spaces; – between two that stand for all from one to the other
    meaning: str
    acts: str = ""
    only: str = ""  # tools of the viewer, or a rule of the study, of which one has to be there

    @property
    def printed(self) -> list[str]:
        return self.keys.split()


class Rules(Protocol):
    """Those of a study on which keys depend."""

    @property
    def slips(self) -> bool: ...
    @property
    def may_pause(self) -> bool: ...
    @property
    def cannot_tell(self) -> bool: ...
    @property
    def confidence(self) -> bool: ...


RULES = ("slips", "may_pause", "cannot_tell", "confidence")


_OPTIONS = "1–4 A–D"
KEYS = (
    Key(Part.BLIND, _OPTIONS, _("best option")),
    Key(Part.BLIND, "X 1–4", _("another acceptable option"), "also"),
    Key(Part.BLIND, "0", _("no option is acceptable")),
    Key(Part.BLIND, "E M H", _("easy, medium, hard"), "easy medium hard"),
    Key(Part.BLIND, "Enter", _("submit the blind answer; the key is shown")),
    Key(Part.JUDGE, "1–5", _("grade the marked row and go to the next")),
    Key(Part.JUDGE, "1 2 3", _("yes, partly, no; key wrong, I was wrong, both acceptable")),
    Key(Part.JUDGE, "-", _("cannot judge"), "unjudged"),
    Key(Part.JUDGE, "↑ ↓ Home", _("rows, first row")),
    Key(Part.JUDGE, "X 1–8", _("flags, as numbered"), "flag"),
    Key(Part.JUDGE, "A V J U", _("accept, revise, reject, cannot judge"), "accept revise reject cannot_judge"),
    Key(Part.JUDGE, "Y T", _("clinical reasoning, comment"), "reasoning comment"),
    Key(Part.JUDGE, "D", _("more of the texts above the grades"), "more"),
    Key(Part.JUDGE, "Enter", _("submit; in a text field Ctrl+Enter")),
    Key(Part.REVIEW, "C O", _("change the category, open or close the report"), "category report"),
    Key(Part.REVIEW, "K", _("skip, with a reason"), "skip"),
    Key(Part.STUDY, _OPTIONS, _("choose an option")),
    Key(Part.STUDY, "0", _("cannot tell"), only="cannot_tell"),
    Key(Part.STUDY, "Enter", _("submit; the answer is final")),
    Key(Part.STUDY, _OPTIONS, _("after “cannot tell”: the best guess"), only="cannot_tell"),
    Key(Part.STUDY, "1–5", _("then: how likely your answer is to be correct"), only="confidence"),
    Key(Part.STUDY, "G", _("report a problem with this case"), "fault"),
    Key(Part.EVERYWHERE, "⇧E", _("input error: I meant another option"), "slip", "slips"),
    Key(Part.EVERYWHERE, "⇧P Pause", _("pause: the images are hidden"), "pause pause", "may_pause"),
    Key(Part.EVERYWHERE, ",", _("hide or show the question"), "fold"),
    Key(Part.EVERYWHERE, "Esc", _("leave a text field, close a dialog")),
    Key(Part.EVERYWHERE, "?", _("list of keys"), "keys"),
    Key(Part.IMAGES, "⇧1–4", _("full, lungs, mediastinum, high contrast"), only="presets"),
    Key(Part.IMAGES, "Ctrl+↑↓←→", _("window width and level (Mac: Alt)"), only="window"),
    Key(Part.IMAGES, "I", _("invert all views"), "invert", "invert"),
    Key(Part.IMAGES, "= + -", _("fit, larger, smaller"), "fit larger smaller", "zoom"),
    Key(Part.IMAGES, "Z", _("1:1, at the pointer"), "actual", "zoom"),
    Key(Part.IMAGES, "\\", _("magnifier at the pointer, while held: the key next to Enter"), only="zoom"),
    Key(Part.IMAGES, "⇧↑↓←→", _("pan"), only="zoom"),
    Key(Part.IMAGES, "S", _("link window, zoom and pan of all views"), "link", "link"),
    Key(Part.IMAGES, "← → ⇧5–8", _("between views; the first to the fourth")),
    Key(Part.IMAGES, "P", _("all views, two, one"), "layout", "layout"),
    Key(Part.IMAGES, "PageUp PageDown", _("hidden views"), "former later", "layout"),
    Key(Part.IMAGES, ".", _("show this view alone, and back"), "maximise", "layout"),
    Key(Part.IMAGES, ";", _("hide or show the prior exam"), "prior", "layout"),
    Key(Part.IMAGES, "N W", _("failed image: try again, mark unreadable"), "again unreadable"),
    Key(Part.IMAGES, "F", _("full screen; answer keys keep working"), "wide", "wide"),
    Key(Part.IMAGES, "L Q", _("line; cardiothoracic ratio, on frontal views"), "line ratio", "line ratio"),
    Key(Part.IMAGES, "Delete Backspace", _("remove a measurement"), "remove remove", "line ratio"),
    Key(Part.IMAGES, "R", _("reset all views and the layout; measurements stay"), "reset"),
)
REVIEW_PARTS = (Part.BLIND, Part.JUDGE, Part.REVIEW, Part.EVERYWHERE, Part.IMAGES)
STUDY_PARTS = (Part.STUDY, Part.EVERYWHERE, Part.IMAGES)


def strokes() -> Mapping[str, Mapping[str, str]]:
    """Of each part what its keys do: act by key."""
    found: dict[str, dict[str, str]] = {part.value: {} for part in Part}
    for one in KEYS:
        if one.acts:
            found[one.part.value] |= dict(zip(one.keys.split(), one.acts.split(), strict=False))
    return found


def key_of(act: str) -> str:
    """The key of an act, as it stands beside its button."""
    return next(key for named in strokes().values() for key, name in named.items() if name == act)


def listed(parts: Iterable[Part], rules: Rules | None = None) -> list[tuple[Part, list[Key]]]:
    """The list, part by part; without the lines of ``rules`` that are off."""
    off = {name for name in RULES if rules is not None and not getattr(rules, name)}
    return [(part, [one for one in KEYS if one.part == part and one.only not in off]) for part in parts]
