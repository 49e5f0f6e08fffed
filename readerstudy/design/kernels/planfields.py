"""Reading one value of a plan document at a time, with the place of what is wrong. Pure."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any, TypeVar

from annotation.sampling.kernels.drawing import SEED_MAX
from readerstudy.design.kernels.rules import RulesRefused, is_text

T = TypeVar("T")


class PlanRefused(ValueError):
    """A plan cannot be read; ``place`` names where ("cases 3, question"), the sentence says what would do."""

    def __init__(self, place: str, sentence: str) -> None:
        super().__init__(f"{place}: {sentence}" if place else sentence)
        self.place, self.sentence = place, sentence


_MISSING: Any = object()


class Reader:
    """One object of the document, and where it stands."""

    def __init__(self, data: object, place: str) -> None:
        self.data, self.place = data, place

    def at(self, name: str) -> str:
        return f"{self.place}, {name}" if self.place else name

    def value(self, name: str, default: object = _MISSING) -> object:
        if not isinstance(self.data, Mapping):
            raise PlanRefused(self.place, "An object with named values is expected.")
        found = self.data.get(name, default)
        if found is _MISSING:
            raise PlanRefused(self.at(name), "This value is missing.")
        return found

    def refuse_others(self, known: Collection[str]) -> None:
        if not isinstance(self.data, Mapping):
            raise PlanRefused(self.place, "An object with named values is expected.")
        for name in self.data:
            if name not in known:
                raise PlanRefused(self.at(str(name)), "A plan has no such value.")

    def text(self, name: str, default: object = _MISSING) -> str:
        found = self.value(name, default)
        if not isinstance(found, str) or not is_text(found):
            raise PlanRefused(self.at(name), "A text is expected.")
        return found

    def number(self, name: str, default: int, *, least: int, most: int = SEED_MAX) -> int:
        return self._whole(self.value(name, default), self.at(name), least, most)

    def numbers(self, name: str) -> list[int]:
        found = self.value(name)
        if not isinstance(found, list):
            raise PlanRefused(self.at(name), "A list is expected.")
        return [self._whole(one, self.at(name), 1, SEED_MAX) for one in found]

    def question(self, found: object) -> int | str:
        if isinstance(found, str) and is_text(found) and found.strip():
            return found.strip()
        return self._whole(found, self.at("question"), 1, SEED_MAX)

    def mapping(self, name: str) -> dict[str, Any]:
        found = self.value(name, {})
        if not isinstance(found, dict):
            raise PlanRefused(self.at(name), "An object with named values is expected.")
        return found

    def items(self, name: str) -> Iterator[Reader]:
        found = self.value(name, [])
        if not isinstance(found, list):
            raise PlanRefused(self.at(name), "A list is expected.")
        return (Reader(one, f"{self.at(name)} {place}") for place, one in enumerate(found, 1))

    def truth(self, name: str) -> bool | None:
        found = self.value(name, None)
        if found is not None and not isinstance(found, bool):
            raise PlanRefused(self.at(name), "True or false is expected.")
        return found

    def moment(self, name: str) -> datetime | None:
        found = self.value(name, None)
        if found is None:
            return None
        try:
            read = datetime.fromisoformat(str(found))
        except ValueError:
            raise PlanRefused(self.at(name), "A moment is expected, such as 2027-01-31T18:00:00+01:00.") from None
        if read.tzinfo is None:
            raise PlanRefused(self.at(name), "Say the offset from UTC, as in 2027-01-31T18:00:00+01:00.")
        if not MINYEAR < read.year < MAXYEAR:
            raise PlanRefused(self.at(name), "Choose another year: in some time zone this one is no date.")
        return read

    def time_zone(self, name: str) -> str:
        found = self.text(name, "UTC")
        if found not in zoneinfo.available_timezones():
            raise PlanRefused(self.at(name), "A name of a time zone is expected, such as Europe/Zurich.")
        return found

    def _whole(self, found: object, place: str, least: int, most: int) -> int:
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= most:
            raise PlanRefused(place, f"A whole number from {least} to {most} is expected.")
        return found


def reading(place: str, read: Callable[[Mapping[str, Any]], T], data: Mapping[str, Any]) -> T:
    """What ``read`` makes of the rules or the analysis plan; its refusal gets the place."""
    try:
        return read(data)
    except RulesRefused as refusal:
        raise PlanRefused(f"{place}, {refusal.field}", str(refusal)) from refusal
