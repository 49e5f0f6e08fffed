"""What is wrong with a question of a model: options that the findings make right, and what no text of it may say. Pure.

Words are looked for by the checks of quality, whose findings only mark an imported question: what a model writes is
refused, since it can be asked again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from msgspec import Struct

from annotation.call_enums import Polarity
from annotation.enums import Task
from annotation.generation.kernels.negation import Stated, have_words_in_common, stated_words
from annotation.questionbank.kernels.identifiers import spot_identifiers
from annotation.questionbank.kernels.question_checks import check
from annotation.questionbank.kernels.rules import CheckedQuestion, are_contrary, usual_words, words_of
from annotation.questionbank.kernels.vocabulary import (
    ASKS_FOR_ABSENCE,
    ASKS_FOR_PRESENCE,
    COMMON_WORDS,
    FILLERS,
    LETTER_NAMES,
    LETTER_THINGS,
    LETTER_VERBS,
    OPTION_BY_PLACE,
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
    def statements(self) -> str:
        return ". ".join(statement for _polarity, statement in self.bullets.values())

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
        are_untrue = all(one.polarities == (PRESENT if one.denies else ABSENT) for one in others)
        return "" if are_untrue else "distractor_not_absent"
    return "several_right" if _several_right(task, options[key], others) else ""


def _fault_of_negation(key: PolarOption, others: Sequence[PolarOption]) -> str:
    if key.polarities != ABSENT or key.denies:
        return "negation_key_not_absent"
    stand = all(one.polarities == PRESENT and not one.denies for one in others)
    return "" if stand else "negation_distractor_not_present"


def _is_denial(option: PolarOption) -> bool:
    """It denies what is absent."""
    return option.polarities == ABSENT and option.denies


def names_another_finding(task: Task, options: Sequence[PolarOption]) -> bool:
    """Where an option is a finding, it has a word of one that it stands on."""
    known = [one for one in options if any(statement for _polarity, statement in one.bullets.values())]
    is_asked = task in (Task.PRESENCE, Task.NEGATION)
    return is_asked and not all(have_words_in_common(one.text, one.statements) for one in known)


def _several_right(task: Task, key: PolarOption, others: Sequence[PolarOption]) -> bool:
    """A distractor that states a finding which the report has, or in a differential four findings that it has."""
    stand = [one for one in others if one.polarities == PRESENT and one.bullets.keys().isdisjoint(key.bullets)]
    if any(one.states_its_finding and not one.denies for one in stand) or any(_is_denial(one) for one in others):
        return True
    return task is Task.DIFFERENTIAL and len(stand) == len(others)


# --- words ---
# Findings of the checks for which a question of a model is refused, and the code of the rule here.
REFUSED_FOR = {
    "duplicate_options": "equal_options",
    "all_of_the_above": "refers_to_options",
    "mentions_prior": "mentions_prior",
    "mentions_report": "mentions_report",
    "key_in_stem": "key_in_stem",
}
_SENTENCE_START = re.compile(r"(^|[.?!:]\s+)(?=[A-Z])")
_LETTER = re.compile(r"(?:([\w'’-]+)[ ,(]+)?(?<![\w'’.-])([A-D])(?![\w-])(?:['’]s)?(\W{0,2})(\w*)")
_MEASURE = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)?)[ -]?(mm|cm|ml|degrees?|°)(?!\w)")


def fault_of_words(question: CheckedQuestion, key: PolarOption, stated: str) -> str:
    """The code of a rule that the texts break; "" for none. ``stated``: all usable findings, "" if not known."""
    rules = {one.rule for one in check(question, 0)}
    found = {REFUSED_FOR[rule] for rule in rules if rule in REFUSED_FOR}
    found |= {"identifier" for rule in rules if rule.startswith("identifier_")}
    if "equal_options" in found:
        return "equal_options"
    texts = (question.stem, question.explanation)
    if any(names_option(text) for text in texts):
        return "names_letter"
    if any(spot_identifiers(_SENTENCE_START.sub(r"\1so ", text)) for text in texts):
        found.add("identifier")
    if found:
        return min(found)
    if stated and _other_measures((*texts, key.text), stated):
        return "number_not_stated"
    return "contradicts_finding" if stated and are_contrary(key.text, key.statements) else ""


def names_option(text: str) -> bool:
    """By its letter, or by its place: both are drawn anew. “Kerley B lines” and the article “A” name none."""
    if _compiled(OPTION_BY_PLACE, re.IGNORECASE).search(text):
        return True
    for before, letter, signs, after in _LETTER.findall(text):
        if before.lower() in LETTER_NAMES or after in LETTER_THINGS:
            continue
        if letter != "A" or before or signs != " " or after in LETTER_VERBS or after in ("B", "C", "D"):
            return True
    return False


def _other_measures(texts: Iterable[str], stated: str) -> bool:
    """A number with its unit that no finding has."""
    told = set(_MEASURE.findall(stated))
    return any(not told.issuperset(_MEASURE.findall(text)) for text in texts)
