"""Rule "words-1": which words of an indication are also words of an option. Pure.

A word counts that stands in some of the options and not in all of them, so that it sets them apart. It has four letters
or more and is none of the words that stand in any text; case and a plural "s" make no difference. That a word is shared
does not mean that it gives the answer away, and an answer can be given away in other words: somebody has to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

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
    told = _words(indication).keys()
    of_option = [_words(option) for option in options]
    in_all = set.intersection(*(set(words) for words in of_option)) if of_option else set()
    return [[word for stem, word in words.items() if stem in told and stem not in in_all] for words in of_option]


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
