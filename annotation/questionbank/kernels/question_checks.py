"""All checks of one question, and the thirteen parts of V(Q), equation 1 of the paper, as we read it. Pure.

The paper names them in sections, and prints no rule for most: v1 to v4 of the form, c1, c2 and c3 of its content
validators, difficulty, diversity, the two halves of compliance, and what experts said. That the images are needed is a
part of ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import combinations
from typing import NamedTuple

from annotation.enums import Difficulty, FindingPlace, QuestionState, Word, _
from annotation.questionbank.kernels.identifiers import IDENTIFIERS, spot_identifiers
from annotation.questionbank.kernels.rules import (
    CLASSIFIED_BIAS,
    CLASSIFIED_IDENTIFIER,
    EXPLANATION_RUN,
    LETTERS,
    MIN_EXPLANATION,
    NEAR_DUPLICATE,
    NEAR_EMBEDDED,
    RUN,
    CheckedQuestion,
    Flaw,
    ReadQuestion,
    Run,
    flaw,
    read_question,
    runs,
    runs_of,
    usual_words,
    words_of,
)
from annotation.questionbank.kernels.vocabulary import (
    ABSOLUTE_TERMS,
    COMMON_WORDS,
    COMPARISON_PARTS,
    COMPARISONS,
    FILLERS,
    NEGATIONS,
    NEGATIVE_WORDS,
    OPPOSITES,
    OTHER_OPTIONS,
    REPORT_MENTIONS,
    REPORT_WORDS,
    VERBS,
)

# --- the four options: same, overlapping, longest, of another kind, and what they say of each other ---
MUCH_LONGER, LONGER_BY = 1.25, 8  # times, and characters, that the key is longer than the longest other option
_NOUN = r"(?:above|these|those|options?|answers?|choices?|listed|given)"
_OTHERS = re.compile(
    rf"\b(?:all|none|both|neither|any|two|each|more than one) of (?:the )?(?:other |following )?{_NOUN}"
    rf"|\b(?:neither|either|both|all|none) {_NOUN}",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"\b(?:[Bb]oth |[Oo]ptions? )?[A-D] (?:and|or|&) [A-D]\b")
_RANGE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s*+(?:%|[mc]m)?\s*+(?:-|–|to)\s*(\d+(?:\.\d+)?)")
_MEASURE = re.compile(r"^\W*+(?:about|over|under|more than|less than)?\s*\d[\d.,–-]*\s*(?:to \d[\d.,]*\s*)?")
_UNIT = re.compile(r"%|percent|[mc]m\b|degrees|°")


def check_same_text(read: ReadQuestion) -> Iterator[Flaw]:
    """In whatever order, unless the words name both sides or heights: these may be the other way round."""
    texts: dict[tuple[str, ...], int] = {}
    for number, words in enumerate(read.usual):
        text = [word for word in words if word not in FILLERS]
        same = text if any(opposites.issubset(text) for opposites in OPPOSITES) else sorted(text)
        first = texts.setdefault(tuple(same), number)
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


# --- the words of stem, explanation and report, and what they say of the key ---
_NEGATIVE = re.compile(
    r"(?<!at )(?<![*_>])\b(?:[Nn]ot|[Ee]xcept|[Ee]xcluding|[Ll]east|[Nn]ever|[Cc]annot|[Ff]alse|[Ii]ncorrect|[Uu]ntrue"
    r"|\w+n['’]t)\b(?![*_<])"
)


def _comparisons() -> Iterator[tuple[list[str], str]]:
    """The words of which one is needed, and the pattern, still with the names of its parts."""
    for words, patterns in re.findall(r"((?:^\w.*\n)+)((?: .*\n)+)", COMPARISONS, re.MULTILINE):
        yield words.split(), "|".join(line.strip() for line in patterns.splitlines())


_COMPARED: dict[str, list[str]] = {}  # by word: the patterns that may hold it
for _words, _pattern in _comparisons():
    for _word in _words:
        _COMPARED.setdefault(_word, []).append(_pattern)
_COMPARING = frozenset(_COMPARED)


@cache  # when one is needed: all of them take long at a start
def _comparison(pattern: str) -> re.Pattern[str]:
    while (filled := re.sub(r"<([A-Z]+[234]?)>", lambda part: f"(?:{COMPARISON_PARTS[part[1]]})", pattern)) != pattern:
        pattern = filled
    return re.compile(rf"(?<![\w-])(?:{pattern})(?!\w)")


def check_negative_stem(read: ReadQuestion) -> Iterator[Flaw]:
    """A word that turns the question round, in small letters; NOT, *not* and <b>not</b> are emphasised."""
    if NEGATIVE_WORDS.isdisjoint(read.stem) and "n't" not in read.question.stem and "n’t" not in read.question.stem:
        return
    if match := _NEGATIVE.search(read.question.stem):
        yield flaw("negative_stem", FindingPlace.STEM, word=match.group())


def prior_words(text: str) -> str:
    """The first words that compare with an earlier exam; "" where there are none."""
    return _compares(text, words_of(text))


def _compares(text: str, words: list[str]) -> str:
    if _COMPARING.isdisjoint(words):
        return ""
    tried = {pattern for word in words for pattern in _COMPARED.get(word, ())}
    line = " ".join(text.split())
    lower = line.lower()
    spans = [match.span() for pattern in tried if (match := _comparison(pattern).search(lower))]
    return line[slice(*min(spans))] if spans else ""


def check_prior(read: ReadQuestion) -> Iterator[Flaw]:
    if read.question.has_prior:
        return
    for place, text, words in _parts(read):
        if found := _compares(text, words):
            yield flaw("mentions_prior", place, words=found)


_REPORT = re.compile(REPORT_MENTIONS, re.IGNORECASE)


def check_mention_of_report(read: ReadQuestion) -> Iterator[Flaw]:
    for place, text, words in _parts(read):
        if not REPORT_WORDS.isdisjoint(words) and (match := _REPORT.search(text)):
            yield flaw("mentions_report", place, words=match.group())


def _parts(read: ReadQuestion) -> Iterator[tuple[FindingPlace, str, list[str]]]:
    """All text of the question, without the report."""
    question = read.question
    yield FindingPlace.STEM, question.stem, read.stem
    yield from zip(LETTERS, question.options, read.options, strict=False)
    yield FindingPlace.EXPLANATION, question.explanation, read.explanation


def check_key_in_stem(read: ReadQuestion) -> Iterator[Flaw]:
    """Half or more of what the key says for itself is in the stem, or all of it in a row, and of no other option."""
    key = read.question.key
    if key is None or key >= len(read.content):
        return
    in_stem = usual_words(read.stem)
    words = read.usual[key]
    stem = frozenset(in_stem) - COMMON_WORDS - FILLERS
    if stem.isdisjoint(words) and not FILLERS.issuperset(frozenset(words).difference(in_stem)):
        return
    content = [frozenset(option) - FILLERS for option in read.usual]
    own = [_own_words(content, number) for number in range(len(content))]
    others = [number for number in range(len(content)) if number != key]
    if (named := own[key] & stem) and 2 * len(named) >= len(own[key]):
        if all(stem.isdisjoint(own[number]) for number in others):
            yield flaw("key_in_stem", FindingPlace.STEM, words=" ".join(word for word in words if word in named))
    elif _in_a_row(words, in_stem) and not any(_in_a_row(read.usual[number], in_stem) for number in others):
        yield flaw("key_in_stem", FindingPlace.STEM, words=" ".join(words))


def _in_a_row(option: list[str], stem: list[str]) -> bool:
    """Two words or more, without regard to fillers."""
    said, row = ([word for word in words if word not in FILLERS] for words in (option, stem))
    return len(said) > 1 and any(row[place : place + len(said)] == said for place in range(len(row) - len(said) + 1))


def _own_words(options: list[frozenset[str]], number: int) -> frozenset[str]:
    """What this option says and no other one does."""
    others = frozenset().union(*(words for other, words in enumerate(options) if other != number))
    return frozenset(word for word in options[number] - others - COMMON_WORDS if len(word) > 2)


def check_report(read: ReadQuestion) -> Iterator[Flaw]:
    report = read.question.report
    if not report:
        return
    known = runs_of(report)
    for place, _text, words in _parts(read):
        least = EXPLANATION_RUN if place is FindingPlace.EXPLANATION else RUN
        if len(words) >= least and not known.isdisjoint(runs(words)):
            copied = _longest_copy(words, known)
            if len(copied) >= least:
                yield flaw("report_copied", place, n=len(copied), words=" ".join(copied[:least]))


def _longest_copy(words: list[str], known: frozenset[Run]) -> list[str]:
    """The longest stretch of words of which every run is in the report."""
    best = start = length = 0
    for place, run in enumerate(runs(words)):
        length = length + 1 if run in known else 0
        if length > best:
            best, start = length, place - length + 1
    return words[start : start + best + RUN - 1]


def check_explanation(read: ReadQuestion, least: int) -> Iterator[Flaw]:
    n = len(read.question.explanation.strip())
    if n < least:
        yield flaw("short_explanation", FindingPlace.EXPLANATION, n=n, least=least)


def check_identifiers(read: ReadQuestion) -> Iterator[Flaw]:
    """What looks like an identifier, by kind and place; the text itself is not repeated."""
    for place, text, _words in _parts(read):
        yield from _identifiers(place, text)
    yield from _identifiers_of_report(read.question.report)


@lru_cache(maxsize=8)  # neighbouring questions share an exam
def _identifiers_of_report(report: str) -> tuple[Flaw, ...]:
    return tuple(_identifiers(FindingPlace.REPORT, report))


def _identifiers(place: FindingPlace, text: str) -> Iterator[Flaw]:
    spotted = spot_identifiers(text)
    for identifier in dict.fromkeys(one.identifier for one in spotted):
        spans = ", ".join(f"{one.start + 1} to {one.end}" for one in spotted if one.identifier is identifier)
        yield flaw(identifier.code, place, label=identifier.label, spans=spans)


# --- all of them ---
CHECKS: tuple[Callable[[ReadQuestion], Iterator[Flaw]], ...] = (
    check_same_text,
    check_overlap,
    check_length,
    check_absolute_terms,
    check_all_of_the_above,
    check_kinds,
    check_negative_stem,
    check_prior,
    check_mention_of_report,
    check_key_in_stem,
    check_report,
    check_identifiers,
)


def check(question: CheckedQuestion, min_explanation: int = MIN_EXPLANATION) -> list[Flaw]:
    """What the rules find, in their order; at most one for each rule and place."""
    read = read_question(question)
    found = [one for rule in CHECKS for one in rule(read)]
    return [*found, *check_explanation(read, min_explanation)]


class PartState(Word):
    """The result of a question in one part. A validator says one of the first three, in its own word."""

    PASS = "pass", _("passes")
    FAIL = "fail", _("fails")
    UNDECIDED = "undecided", _("undecided")
    NOT_EXAMINED = "not_examined", _("not examined")


class ValidityPart(NamedTuple):
    """``rules``: those of findings that speak against a question; empty: nothing here can fail one."""

    code: str
    label: str
    asks: str  # what has to be so
    rules: tuple[str, ...] = ()


FORM, EXPERT = "form", "expert"
C1, C2, C3 = VALIDATORS = ("c1", "c2", "c3")  # c1 was what IMAGES is, until they became two parts
IMAGES = "images"
RATING = "rating"  # asked of a model like a validator; a difficulty is no verdict, and speaks against no question
DIFFICULTY, NOT_EASY, DIVERSITY, IDENTIFIER_FREE, BIAS = "difficulty", "not_easy", "diversity", "identifiers", "bias"
BY_RATING = MODEL_NOT_EASY, REVIEWERS_NOT_EASY = "model_not_easy", "reviewers_not_easy"
BY_VERDICT = (*VALIDATORS, IMAGES)  # a model's verdicts alone decide them
JUDGED = (*BY_VERDICT, BIAS)  # asked of a model, with a verdict on each question
ASKED = (*JUDGED, RATING)
PARTS = {
    one.code: one
    for one in (
        ValidityPart(FORM, _("v1 to v4: form"), _("Schema, types, format and completeness are as an import asks.")),
        ValidityPart(
            C1,
            _("c1: domain-specific"),
            _("It needs radiological knowledge: neither a general internet search nor the text alone answers it."),
            (C1,),
        ),
        ValidityPart(C2, _("c2: no recall"), _("It asks for more than recall or trivia."), (C2,)),
        ValidityPart(C3, _("c3: sound, key right"), _("It is sound, and its key is the one right option."), (C3,)),
        ValidityPart(IMAGES, _("needs the images"), _("It cannot be answered without the images."), (IMAGES,)),
        ValidityPart(DIFFICULTY, _("difficulty"), _("Its difficulty is stated.")),
        ValidityPart(NOT_EASY, _("difficulty: not easy"), _("Its stated difficulty is medium or hard.")),
        ValidityPart(MODEL_NOT_EASY, _("not easy to a model"), _("The newest rating of a model is medium or hard.")),
        ValidityPart(
            REVIEWERS_NOT_EASY,
            _("not easy to reviewers"),
            _("The median of their blind answers in closed rounds is medium or hard."),
        ),
        ValidityPart(
            DIVERSITY,
            _("diversity"),
            _("No other question of the bank is nearly the same."),
            (NEAR_DUPLICATE, NEAR_EMBEDDED),
        ),
        ValidityPart(
            IDENTIFIER_FREE,
            _("compliance: identifiers"),
            _("Neither rules nor a classifier find an identifier of a person in it."),
            (*(one.code for one in IDENTIFIERS if one.patterns), CLASSIFIED_IDENTIFIER),
        ),
        ValidityPart(
            BIAS, _("compliance: bias"), _("No stereotype of age, sex or origin is in it."), (BIAS, CLASSIFIED_BIAS)
        ),
        ValidityPart(EXPERT, _("expert"), _("Experts accepted its newest wording.")),
    )
}
GATED = tuple(code for code in PARTS if code != FORM)  # nothing is stored that fails it
STATED = (Difficulty.EASY, Difficulty.MEDIUM, Difficulty.HARD)
# Parts that a column of the question decides: which, and its words by state.
OF_COLUMN: Mapping[str, tuple[str, Mapping[PartState, tuple[str, ...]]]] = {
    EXPERT: (
        "question__state",
        {
            PartState.PASS: (QuestionState.ACCEPTED,),
            PartState.FAIL: (QuestionState.NEEDS_REVISION, QuestionState.REJECTED, QuestionState.WITHDRAWN),
            PartState.UNDECIDED: (QuestionState.DISPUTED,),
            PartState.NOT_EXAMINED: (QuestionState.IMPORTED, QuestionState.IN_REVIEW, QuestionState.REVISED),
        },
    ),
    DIFFICULTY: ("difficulty", {PartState.PASS: STATED, PartState.NOT_EXAMINED: (Difficulty.UNKNOWN,)}),
    NOT_EASY: (
        "difficulty",
        {PartState.PASS: STATED[1:], PartState.FAIL: STATED[:1], PartState.NOT_EXAMINED: (Difficulty.UNKNOWN,)},
    ),
}
