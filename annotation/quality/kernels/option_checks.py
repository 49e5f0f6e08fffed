"""Checks of the four options: same, overlapping, longest, of another kind, and what they say of each other. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations

from annotation.quality.kernels.rules import LETTERS, Flaw, flaw
from annotation.quality.kernels.vocabulary import ABSOLUTE_TERMS, FILLERS, NEGATIONS, OTHER_OPTIONS, VERBS
from annotation.quality.kernels.words import ReadQuestion

MUCH_LONGER, LONGER_BY = 1.25, 8  # times, and characters, that the key is longer than the longest other option
_NOUN = r"(?:above|these|those|options?|answers?|choices?|listed|given)"
_OTHERS = re.compile(
    rf"\b(?:all|none|both|neither|any|two|each|more than one) of (?:the )?(?:other |following )?{_NOUN}"
    rf"|\b(?:neither|either|both|all|none) {_NOUN}",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"\b(?:[Bb]oth |[Oo]ptions? )?[A-D] (?:and|or|&) [A-D]\b")
_RANGE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)\s*+(?:%|[mc]m)?\s*+(?:-|–|to)\s*(\d+(?:\.\d+)?)")
_MEASURE = re.compile(r"^\W*+(?:about|over|under|more than|less than)?\s*\d[\d.,–-]*\s*(?:to \d[\d.,]*\s*)?")
_UNIT = re.compile(r"%|percent|[mc]m\b|degrees|°")


def check_same_text(read: ReadQuestion) -> Iterator[Flaw]:
    texts: dict[tuple[str, ...], int] = {}
    for number, words in enumerate(read.options):
        text = tuple(word for word in words if word not in FILLERS)
        first = texts.setdefault(text, number)
        if first != number and text:
            yield flaw("duplicate_options", LETTERS[number], first=LETTERS[first], second=LETTERS[number])


def check_overlap(read: ReadQuestion) -> Iterator[Flaw]:
    """One option holds all words of another and adds to them, or two ranges of numbers share more than an end."""
    reported = set()
    for one, other in combinations(range(len(read.content)), 2):
        for narrow, wide in ((one, other), (other, one)):
            if wide not in reported and _holds(read.content[wide], read.content[narrow]):
                reported.add(wide)
                yield flaw("overlapping_options", LETTERS[wide], wide=LETTERS[wide], narrow=LETTERS[narrow])
    if len(ranges := _ranges(read.question.options)) > 1:
        for (one, (low, high)), (other, (start, end)) in combinations(ranges.items(), 2):
            if other not in reported and max(low, start) < min(high, end):
                reported.add(other)
                yield flaw("overlapping_options", LETTERS[other], wide=LETTERS[other], narrow=LETTERS[one])


def _holds(wide: frozenset[str], narrow: frozenset[str]) -> bool:
    """“Left effusion” holds “effusion”; “no effusion” does not, since it says the opposite."""
    return len(narrow) > 0 and narrow < wide and (wide - narrow).isdisjoint(NEGATIONS)


def _ranges(options: tuple[str, ...]) -> dict[int, tuple[float, float]]:
    matches = ((number, _RANGE.search(option)) for number, option in enumerate(options))
    return {number: (float(match[1]), float(match[2])) for number, match in matches if match}


def check_length(read: ReadQuestion) -> Iterator[Flaw]:
    key = read.question.key
    if key is None:
        return
    lengths = [len(option) for option in read.question.options]
    own = lengths.pop(key)
    longest = max(lengths, default=0)
    if own >= MUCH_LONGER * longest and own >= longest + LONGER_BY:
        yield flaw("longest_is_key", LETTERS[key], n=own, other=longest)


def check_absolute_terms(read: ReadQuestion) -> Iterator[Flaw]:
    for letter, words in zip(LETTERS, read.options, strict=False):
        if not ABSOLUTE_TERMS.isdisjoint(words):
            yield flaw("absolute_terms", letter, word=next(word for word in words if word in ABSOLUTE_TERMS))


def check_all_of_the_above(read: ReadQuestion) -> Iterator[Flaw]:
    for letter, option, words in zip(LETTERS, read.question.options, read.options, strict=False):
        if OTHER_OPTIONS.isdisjoint(words):
            continue
        if match := _OTHERS.search(option) or _LETTERS.search(option):
            yield flaw("all_of_the_above", letter, words=match.group())


def check_kinds(read: ReadQuestion) -> Iterator[Flaw]:
    """One option stands out where the other three are of one kind."""
    kinds = [_kind(*option) for option in zip(read.question.options, read.options, strict=True)]
    counts = Counter(kinds)
    if sorted(counts.values()) != [1, 3]:
        return
    (others, _), (odd, _) = counts.most_common(2)
    place = LETTERS[kinds.index(odd)]
    yield flaw("options_differ_in_kind", place, letter=place, kind=odd, others=_several(others))


def _kind(option: str, words: list[str]) -> str:
    if words and words[0] in ("yes", "no") and (len(words) == 1 or "," in option[:4]):
        return "a yes or no"
    if option[:3].strip(" <>~≥≤").isdigit() or (_MEASURE.match(option) and _UNIT.search(option)):
        return "a number"
    if len(words) > 2 and not VERBS.isdisjoint(words):
        return "a sentence"
    return "a phrase"


def _several(kind: str) -> str:
    return {"a yes or no": "yes or no", "a number": "numbers", "a sentence": "sentences", "a phrase": "phrases"}[kind]
