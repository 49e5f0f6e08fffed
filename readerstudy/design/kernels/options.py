"""In which order a case shows its four options, and which words of an indication they share. Pure.

Answers are always stored as canonical letters.
What speaks of other options keeps its place: "none of the above" and the like stay, and nothing moves across them.
Where the stem or an option names letters ("A and C"), nothing moves at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from readerstudy.design.kernels.chance import shuffled

LETTERS = "ABCD"

_LETTER = r"\(?\b[A-D]\b\)?"
_NAMES_LETTERS = re.compile(
    rf"""
      {_LETTER}\s*(?:,|/|&|-|–|and|or|to|through|nor|but\s+not)\s*{_LETTER}   # A and C, A-D, (A), (B)
    | \([A-D]\)                                                               # (B)
    | (?i:\b(?:options?|choices?|answers?|alternatives?|statements?|letters?))\s+{_LETTER}
    | (?i:\b(?:both|either|neither|except|only|not|all\s+but))\s+{_LETTER}(?!\s*[-–]?[a-z]) # all but B, B alone
    | ^\s*{_LETTER}\s*+(?:only|alone)?\s*+[.:]?\s*$                           # the whole option is a letter
    """,
    re.VERBOSE,
)
_HOW_MANY = r"(?:none|all|any|both|neither|either|some|two|three|more\s+than\s+one|each|one|combinations?)"
_THE_OTHERS = (
    r"(?:above|below|foregoing|preceding|following|others?|options?|choices?|answers?|alternatives?|statements?|listed|"
    r"mentioned|given|findings|diagnoses)"
)
_NAMES_OTHERS = re.compile(
    rf"""
      \b{_HOW_MANY}\s+of\s+(?:these|those|them)\b
    | \b{_HOW_MANY}\s+(?:of\s+)?(?:the\s+)?(?:\w+\s+)?{_THE_OTHERS}\b
    | \b(?:above|foregoing|preceding|previous|other)\s+(?:options?|choices?|answers?|alternatives?|statements?)\b
    | \b(?:listed|mentioned|given|named|stated)\s+(?:above|below)\b
    | ^\s*(?:none|all|neither|both|other|cannot\s+be\s+determined|not\s+determinable)\s*+[.!]?\s*$
    """,
    re.VERBOSE | re.IGNORECASE,
)


def names_letters(text: str) -> bool:
    """Whether a stem or an option refers to options by their letters."""
    return _NAMES_LETTERS.search(text) is not None


def keeps_its_place(option: str) -> bool:
    """Whether an option speaks of the others, as "none of the above" does."""
    return _NAMES_OTHERS.search(option) is not None


def shown_order(stem: str, options: Sequence[str], seed: int) -> str:
    """The canonical letters of four options in the order in which they are shown."""
    groups = groups_that_mix(stem, tuple(options))
    return "".join(LETTERS[place] for group in groups for place in shuffled(group, seed))


def in_order(order: str, options: Sequence[str]) -> list[tuple[str, str]]:
    """Canonical letter and text of each option, in the order shown."""
    texts = dict(zip(LETTERS, options, strict=False))
    return [(letter, texts[letter]) for letter in order if letter in texts]


@lru_cache(maxsize=1024)
def groups_that_mix(stem: str, options: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """The places of the options in groups: options of a group change places with each other, groups do not."""
    if any(names_letters(text) for text in (stem, *options)):
        return tuple((place,) for place in range(len(options)))
    groups: list[tuple[int, ...]] = [()]
    for place, option in enumerate(options):
        if keeps_its_place(option):
            groups += [(place,), ()]
        else:
            groups[-1] = (*groups[-1], place)
    return tuple(groups)


# --- rule "words-1": which words of an indication are also words of an option -------------------------------
# A word counts that occurs in some of the options and not in all of them, so that it sets them apart. It has four
# letters or more and is none of the words that occur in any text; case and a plural "s" make no difference. That a word
# is shared does not mean that it gives the answer away, and an answer can be given away in other words: somebody has to
# read.
_WORD = re.compile(r"[^\W\d_]+")
SHORTEST = 4
COMMON = {
    *("about", "above", "after", "again", "also", "although", "among", "another", "because", "been", "before"),
    *("being", "below", "best", "between", "both", "chest", "could", "demonstrate", "demonstrated", "does", "each"),
    *("either", "evidence", "exam", "film", "finding", "following", "from", "given", "have", "image", "into"),
    *("likely", "more", "most", "neither", "none", "normal", "only", "other", "patient", "present", "radiograph"),
    *("seen", "should", "show", "shown", "shows", "side", "since", "some", "such", "than", "that", "their", "them"),
    *("then", "there", "these", "they", "this", "those", "through", "under", "until", "upon", "view", "what", "when"),
    *("where", "whether", "which", "while", "with", "within", "without", "would", "xray", "year"),
}


def shared_words(indication: str, options: Sequence[str]) -> list[list[str]]:
    """For each option its telling words that stand in the indication, as the option has them, each once."""
    shown = _words(indication).keys()
    of_option = [_words(option) for option in options]
    in_all = set.intersection(*(set(words) for words in of_option)) if of_option else set()
    return [[word for stem, word in words.items() if stem in shown and stem not in in_all] for words in of_option]


def marked(text: str, words: Iterable[str]) -> list[tuple[str, bool]]:
    """The text in pieces, which together are the text; true for those that are one of the words, by the same rule."""
    stems = {_singular(word.casefold()) for word in words}
    pieces: list[tuple[str, bool]] = []
    end = 0
    for found in _WORD.finditer(text):
        if _singular(found.group().casefold()) in stems:
            pieces += [(text[end : found.start()], False), (found.group(), True)]
            end = found.end()
    return [(piece, is_word) for piece, is_word in [*pieces, (text[end:], False)] if piece]


def _words(text: str) -> dict[str, str]:
    """The telling words of a text in small letters, by what makes them the same word."""
    found = {_singular(word): word for word in _WORD.findall(text.casefold())}
    return {stem: word for stem, word in found.items() if len(stem) >= SHORTEST and stem not in COMMON}


def _singular(word: str) -> str:
    return word.removesuffix("s") if not word.endswith("ss") else word
