"""Which options of a question the findings make right, in every task. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import Struct

from annotation.call_enums import Polarity
from annotation.enums import Task
from annotation.generation.kernels.negation import Stated, stated_words
from annotation.quality.kernels.rules import usual_words, words_of
from annotation.quality.kernels.vocabulary import (
    ASKS_FOR_ABSENCE,
    ASKS_FOR_PRESENCE,
    COMMON_WORDS,
    FILLERS,
    PLACE_WORDS,
)

PRESENT, ABSENT = {Polarity.PRESENT}, {Polarity.ABSENT}
_compiled = cache(re.compile)


class PolarOption(Struct, frozen=True):
    """An option and the findings that it names, each with its polarity and statement ("": not known)."""

    text: str
    bullets: Mapping[int, tuple[Polarity, str]]

    @property
    def polarities(self) -> set[Polarity]:
        return {polarity for polarity, _statement in self.bullets.values()}

    @property
    def denies(self) -> bool:
        return any(one.stated is Stated.ABSENT for one in stated_words(self.text))

    @property
    def states_its_finding(self) -> bool:
        """Whether it has words of a finding other than places: then it is as true as the finding."""
        own = _named(self.text)
        return any(not own.isdisjoint(_named(statement)) for _polarity, statement in self.bullets.values())


def _named(text: str) -> frozenset[str]:
    return frozenset(usual_words(words_of(text))) - FILLERS - COMMON_WORDS - PLACE_WORDS


def fault_of_polarity(task: Task, stem: str, options: Sequence[PolarOption], key: int) -> str:
    """The code of the first rule that is broken; "" for none."""
    asks_for_absence = _compiled(ASKS_FOR_ABSENCE, re.IGNORECASE).search(stem)
    asks_for_presence = not asks_for_absence and _compiled(ASKS_FOR_PRESENCE, re.IGNORECASE).search(stem)
    others = [one for place, one in enumerate(options) if place != key]
    if task is Task.NEGATION:
        return _fault_of_negation(options[key], others) or ("asks_for_presence" if asks_for_presence else "")
    if asks_for_absence:
        return "asks_for_absence"
    if options[key].polarities != PRESENT and (
        task is Task.PRESENCE or asks_for_presence or not _is_denial(options[key])
    ):
        return "key_not_present"
    if task is Task.PRESENCE or asks_for_presence:
        return "" if all(_is_untrue(one) for one in others) else "distractor_not_absent"
    return "several_right" if _several_right(task, options[key], others) else ""


def _fault_of_negation(key: PolarOption, others: Sequence[PolarOption]) -> str:
    if key.polarities != ABSENT or key.denies:
        return "negation_key_not_absent"
    stand = all(one.polarities == PRESENT and not one.denies for one in others)
    return "" if stand else "negation_distractor_not_present"


def _is_denial(option: PolarOption) -> bool:
    """It denies what is absent."""
    return option.polarities == ABSENT and option.denies


def _is_untrue(option: PolarOption) -> bool:
    return option.polarities == (PRESENT if option.denies else ABSENT)


def _several_right(task: Task, key: PolarOption, others: Sequence[PolarOption]) -> bool:
    """A distractor that states a finding which the report has, or in a differential four findings that it has."""
    stand = [one for one in others if one.polarities == PRESENT and one.bullets.keys().isdisjoint(key.bullets)]
    if any(one.states_its_finding and not one.denies for one in stand) or any(_is_denial(one) for one in others):
        return True
    return task is Task.DIFFERENTIAL and len(stand) == len(others)
