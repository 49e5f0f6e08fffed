"""What a paper must report of each reader, as words; in Enrolment.facts under the names of ReaderFacts. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from annotation.enums import Word

MOST_YEARS, MOST_FILMS = 70, 5000


def _(label: str) -> str:
    """Mark a label for translation; pages translate it where it is shown."""
    return label


class Training(Word):
    RADIOLOGIST = "radiologist", _("radiologist, training completed")
    RESIDENT = "resident", _("radiologist in training")
    PHYSICIAN = "physician", _("physician in another specialty")
    RADIOGRAPHER = "radiographer", _("radiographer")
    STUDENT = "student", _("medical student")
    OTHER = "other", _("other")


class DisplayUsed(Word):
    MEDICAL = "medical", _("medical display, calibrated")
    MONITOR = "monitor", _("office monitor")
    LAPTOP = "laptop", _("laptop")
    TABLET = "tablet", _("tablet")
    OTHER = "other", _("other")


class Exposure(Word):
    NONE = "none", _("no, not that I know of")
    SOME = "some", _("I may have seen some of them")
    KNOWN = "known", _("I have worked with them")


@dataclass(frozen=True, kw_only=True)
class ReaderFacts:
    training: str
    years: int  # of reading chest radiographs
    chest_fellowship: bool
    films_per_week: int  # chest radiographs
    display: str
    exposure: str  # to the questions or images of this bank
    exposure_text: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)
