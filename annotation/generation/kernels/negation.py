"""Which words of a report are stated, denied, only possible, or called normal: NegEx in small. Pure.

The algorithm is that of NegEx [1]_: a trigger denies what follows it, or what precedes it, until the sentence or a word
ends the scope, or another trigger begins. The triggers are those of the published list [2]_ that reports of images can
hold, and those of radiology that CheXpert's labeler [3]_ knows as patterns. As ConText [4]_ does, what is only possible
is kept apart. Ours: a scope also ends where a clause with a verb of its own begins, since reports write commas for full
stops.

References
----------
.. [1] W. W. Chapman et al., J Biomed Inform 34 (2001) 301-310.
.. [2] negex_triggers.txt, https://github.com/chapmanbe/negex (Apache-2.0).
.. [3] J. Irvin et al., AAAI 33 (2019) 590-597; patterns/ of https://github.com/stanfordmlgroup/chexpert-labeler.
.. [4] H. Harkema et al., J Biomed Inform 42 (2009) 839-851.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from annotation.enums import Word
from annotation.questionbank.kernels.rules import are_contrary, singular, usual_words, words_of
from annotation.questionbank.kernels.vocabulary import COMMON_WORDS, FILLERS, as_words

# Separated by bars. PSEUDO: look like triggers. PRE, POST, BOTH: deny what follows, precedes. MAYBE: leave it open.
PSEUDO = """no increase|no suspicious change|no significant change|no change|no interval change|no definite change|
no significant interval change|not extend|not cause|not drain|gram negative|without difficulty|not necessarily|
not only"""
PRE = """absence of|cannot see|denied|denies|denying|fails to reveal|free of|negative for|never developed|no|not|
neither|nor|no abnormal|no cause of|no evidence|no evidence of|no new evidence|no other evidence|no evidence to suggest|
no findings of|no findings to indicate|no radiographic evidence of|no sign of|no signs of|no suggestion of|
no suspicious|not appear|not appreciate|not associated with|not demonstrate|not exhibit|not have|not reveal|not see|
not to be|rather than|to exclude|excludes|unremarkable for|with no|without|without any evidence of|without evidence|
without evidence of|without indication of|without sign of|rules out|ruled out for|can rule out|clear of|
sufficient to rule out|resolution of|removal of|no definite|no obvious|lack of|lacks|lacking|nil|zero|no history of|
nothing to suggest|nothing to indicate|non-visualization of|nonvisualization of"""
POST = """unlikely|free|was ruled out|is ruled out|are ruled out|have been ruled out|has been ruled out|absent|not seen|
not visible|not present|not identified|not evident|not visualized|not visualised|not demonstrated|not appreciated|
not noted|negative|is excluded|are excluded|no longer seen|has resolved|have resolved|has cleared|have cleared|none|nil|
: no .|improbable|less likely|was removed|were removed|has been removed|have been removed"""
BOTH = """is not|are not|was not|were not|does not|do not|isn't|aren't|ruled out|excluded"""
MAYBE_PRE = """rule out|r/o|evaluate for|may be|may represent|may reflect|might be|might represent|could be|possible|
could represent|could reflect|possibly|possibility of|questionable|question of|cannot exclude|can not exclude|
cannot rule out|not exclude|suspicious for|concerning for|concern for|versus|equivocal|perhaps|likely|probable|probably|
suspected|query|history of|if"""
MAYBE_POST = """did not rule out|is not excluded|are not excluded|is not ruled out|are not ruled out|not ruled out|
not been ruled out|being ruled out|be ruled out|cannot be excluded|can not be excluded|not excluded|not be excluded|
cannot be ruled out|is possible|are possible|is questionable|is doubtful|are doubtful|is suspected|are suspected"""
# What ends a scope: [2], without the many causes and sources; the last line is ours.
ENDS = """but|however|nevertheless|yet|though|although|still|aside from|except|apart from|secondary to|cause of|
source of|as the cause of|as a cause of|reason for|etiology of|origin of|other possibilities of|
positive for|due to|while|whereas|which|because|otherwise"""
NORMAL_WORDS = as_words("normal unremarkable clear intact sharp patent midline limits preserved physiological")
CLAUSE_VERBS = as_words(
    "is are was were has have shows show lies lie appears appear remains remain ends terminates projects demonstrates "
    "there suggests measures occupies"
)
SEEN = as_words("seen noted identified visible present evident visualized visualised demonstrated appreciated")
_TOKEN = re.compile(r"[^\W_]+(?:[-'’/.][^\W_]+)*|[.,;:()?!]")
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n\s*\n|\n(?=\s*(?:[-*•]|\d+[.)]\s|[A-Z][A-Za-z ]{2,20}:))|\Z")
LEAST_QUOTE = 4  # letters
_JOINERS = frozenset(("and", "or", ",", "with"))


class Stated(Word):
    """How a text states its words."""

    PRESENT = "present"
    ABSENT = "absent"
    POSSIBLE = "possible"
    NORMAL = "normal"
    UNCLEAR = "unclear"  # some of them so, some so


class StatedWord(NamedTuple):
    """``stated`` None: a trigger, or a sign."""

    start: int
    end: int
    text: str
    stated: Stated | None


def _triggers() -> dict[str, list[tuple[tuple[str, ...], str]]]:
    """By their first word, the longest first."""
    found: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    tables = {
        "pseudo": PSEUDO,
        "pre": PRE,
        "post": POST,
        "both": BOTH,
        "maybe pre": MAYBE_PRE,
        "maybe post": MAYBE_POST,
        "end": ENDS,
    }
    for kind, table in tables.items():
        for words in (tuple(phrase.split()) for phrase in table.replace("\n", "").split("|")):
            found.setdefault(words[0], []).append((words, kind))
    return {word: sorted(listed, key=lambda one: -len(one[0])) for word, listed in found.items()}


_TRIGGERS = _triggers()


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each, the sign at its end included."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if text[start : match.end()].strip():
            yield start, match.end()
        start = match.end()


def stated_words(text: str) -> list[StatedWord]:
    """Of the whole text, sentence by sentence."""
    return [one for start, end in sentences(text) for one in _of_sentence(text, start, end)]


def _of_sentence(text: str, start: int, end: int) -> list[StatedWord]:
    tokens = list(_TOKEN.finditer(text, start, end))
    words = [token.group().lower() for token in tokens]
    stated: list[Stated | None] = [Stated.PRESENT if word[0].isalnum() else None for word in words]
    marks, ends = _marks(words), _clause_starts(words)
    for first, after, kind in marks:
        if kind in ("pre", "both", "maybe pre"):
            _state(stated, _until(after, len(words), marks, ends), kind)
        if kind in ("post", "both", "maybe post"):
            is_labelled = words[first - 1 : first] == [":"]  # “Effusion: none” is one statement
            before = [place for place in (*ends, *(m[1] for m in marks)) if place <= first - is_labelled]
            told = [word for word in words[after : _until(after, len(words), marks, ends).stop] if word[0].isalnum()]
            is_subject = kind == "both" and not SEEN.issuperset(told[:1])  # only what is said of it is denied
            _state(stated, range(max(before, default=0), first), "subject" if is_subject else kind)
    for first, after, kind in marks:
        if kind not in ("pseudo", "end"):
            stated[first:after] = [None] * (after - first)
    _call_normal(words, stated)
    if "?" in words:
        _state(stated, range(len(words)), "maybe")
    return [
        StatedWord(token.start(), token.end(), word, how)
        for token, word, how in zip(tokens, words, stated, strict=True)
    ]


def _marks(words: list[str]) -> list[tuple[int, int, str]]:
    """First place, place after, kind; none overlaps another."""
    found, place = [], 0
    while place < len(words):
        for phrase, kind in _TRIGGERS.get(words[place], ()):
            if tuple(words[place : place + len(phrase)]) == phrase:
                found.append((place, place + len(phrase), kind))
                place += len(phrase) - 1
                break
        place += 1
    return found


def _clause_starts(words: list[str]) -> list[int]:
    """Where a clause with a verb of its own begins: behind a semicolon, and a comma or “and” before such a verb."""
    starts = [0]
    for place, word in enumerate(words):
        if word in (";", ":", "(", ")"):
            starts.append(place + 1)
        elif word in (",", "and") and words[place + 1 : place + 2] not in (["or"], ["nor"]):
            part = [*words[place + 1 :], "."]
            part = part[: next(n for n, one in enumerate(part) if n and one in (",", "and", ";", ".", ":"))]
            verb = next((n for n, one in enumerate(part) if one in CLAUSE_VERBS), None)
            is_of_a_list = verb is not None and SEEN.intersection(part[verb + 1 : verb + 3])
            if verb is not None and (not is_of_a_list or CLAUSE_VERBS.intersection(words[starts[-1] : place])):
                starts.append(place + 1)
    return starts[1:]


def _until(after: int, end: int, marks: list[tuple[int, int, str]], ends: list[int]) -> range:
    stops = [place for place in (*ends, *(first for first, _after, kind in marks if kind != "post")) if place >= after]
    return range(after, min(stops, default=end))


def _state(stated: list[Stated | None], places: range, kind: str) -> None:
    how = Stated.POSSIBLE if kind.startswith("maybe") else Stated.UNCLEAR if kind == "subject" else Stated.ABSENT
    for place in places:
        if stated[place] is not None:
            stated[place] = how


def _call_normal(words: list[str], stated: list[Stated | None]) -> None:
    """What is neither denied nor left open, between the signs around a word of normality."""
    signs = (n for n, word in enumerate(words) if word in ("but", "with") or (word != ":" and not word[0].isalnum()))
    for before, after in pairwise([-1, *signs, len(words)]):
        if not NORMAL_WORDS.isdisjoint(" ".join(words[before + 1 : after]).replace("the midline", "").split()):
            for place in range(before + 1, after):
                if stated[place] is Stated.PRESENT:
                    stated[place] = Stated.NORMAL


def words_about(text: str) -> frozenset[str]:
    """Words of a text that name something, in the singular."""
    return frozenset(singular(match.group().lower()) for match in _TOKEN.finditer(text)) - FILLERS


def how_stated(words: list[StatedWord], about: frozenset[str] = frozenset()) -> Stated:
    """Of those words that are ``about`` something, or of all of them where none is."""
    content = [one for one in words if one.stated is not None and one.text not in FILLERS]
    named = [one for one in content if singular(one.text) in about] or content
    if {one.stated for one in named} == {Stated.UNCLEAR} and not about <= {singular(one.text) for one in content}:
        named = content  # of the subject of a denial, something else is denied
    found = {one.stated for one in named if one.stated is not None}
    found = found - {Stated.UNCLEAR} or found
    if found == {Stated.NORMAL, Stated.PRESENT}:
        return Stated.PRESENT
    return found.pop() if len(found) == 1 else Stated.UNCLEAR


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether nothing but fillers is left of the clause around ``text[start:end]``."""
    first, last = next(((a, b) for a, b in sentences(text) if a <= start < b), (start, end))
    last = next((b for a, b in sentences(text) if a < end <= b), last)
    begins = _TOKEN.search(text, start)
    is_first = begins is not None and begins.group().lower() in ("without", "with", "but")
    return (is_first or not _left_over(text, first, start, -1)) and not _left_over(text, end, last, 1)


def _left_over(text: str, start: int, end: int, step: int) -> bool:
    """``step``: 1 where the clause goes on behind the quote, -1 where it began before."""
    for word in [match.group().lower() for match in _TOKEN.finditer(text, start, end)][::step]:
        if not word[0].isalnum() or word in _JOINERS or word in _ENDING or (step > 0 and word == "without"):
            return False
        if word not in FILLERS:
            return True
    return False


_ENDING = frozenset(phrase for phrase in ENDS.replace("\n", "").split("|") if " " not in phrase)


def fault_of_quote(statement: str, location: str, polarity: str, report: str, start: int, end: int) -> str:
    """Why ``report[start:end]`` does not state the finding with this polarity, as the code of a rule; "": it does."""
    quote, about = report[start:end], words_about(statement)
    if sum(character.isalpha() for character in quote) < LEAST_QUOTE:
        return "quote_too_short"
    if not is_whole(report, start, end):
        return "quote_not_whole"
    stated = how_stated([one for one in stated_words(report) if start <= one.start < end], about)
    if stated is Stated.POSSIBLE:
        return "only_possible"
    carried = how_stated(stated_words(quote), about) is stated
    is_named = about <= words_about(quote)
    if not carried or polarity not in _polarities(stated, how_stated(stated_words(statement)), is_named):
        return "polarity_not_stated"
    if stated is not Stated.NORMAL and not have_words_in_common(statement, quote):
        return "statement_not_in_quote"
    return "contradicts_quote" if are_contrary(f"{statement} {location}", quote) else ""


def have_words_in_common(one: str, other: str) -> bool:
    """Words other than sides and fillers, by their first letters, synonyms also by their usual words."""
    return not _named(one).isdisjoint(_named(other))


def _named(text: str) -> frozenset[str]:
    said = words_of(text)
    words = frozenset((*said, *usual_words(said)))
    return frozenset(word[:5] for word in words - FILLERS - COMMON_WORDS or words)


def _polarities(stated: Stated, named: Stated, is_named: bool) -> tuple[str, ...]:
    """Which fit; what is called normal is present, and so is its being normal, anything else of it absent."""
    if stated is Stated.NORMAL:
        return ("present",) if is_named or named is Stated.NORMAL else ("absent",)
    if stated is Stated.ABSENT:
        return ("absent",)
    return ("present",) if stated is Stated.PRESENT and named is not Stated.ABSENT else ()
