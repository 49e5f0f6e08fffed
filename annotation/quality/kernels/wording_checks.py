"""Checks of the words of stem, explanation and report, and what they say of the key. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from annotation.enums import FindingPlace
from annotation.quality.kernels.identifiers import spot_identifiers
from annotation.quality.kernels.rules import LETTERS, Flaw, flaw
from annotation.quality.kernels.vocabulary import COMMON_WORDS, NEGATIVE_WORDS, PRIOR_WORDS
from annotation.quality.kernels.words import EXPLANATION_RUN, RUN, ReadQuestion, Run, runs, runs_of

_NEGATIVE = re.compile(
    r"(?<!at )(?<![*_>])\b(?:[Nn]ot|[Ee]xcept|[Ee]xcluding|[Ll]east|[Nn]ever|[Cc]annot|[Ff]alse|[Ii]ncorrect|[Uu]ntrue"
    r"|\w+n['’]t)\b(?![*_<])"
)
_EXAM = (
    r"(?:exams?|examinations?|studies|study|radiographs?|films?|images?|imaging|x-rays?|scans?|CTs?|comparison|views?)"
)
_CHANGE = (
    r"(?:change|increase|decrease|development|improvement|worsening|resolution|placement|removal|growth|progression)"
)
_PRIOR = re.compile(
    rf"\b(?:(?:prior|previous|earlier|last|old)(?: [\w-]+)? {_EXAM}|priors|than (?:before|previously)"
    r"|previously (?:seen|noted)"
    rf"|compar(?:ed|ison) (?:with|to) (?:the |a |an )?(?:prior|previous|earlier|last|baseline)|comparison {_EXAM}"
    rf"|interval {_CHANGE}|interval(?:ly)? (?:increased|decreased|improved|worsened)|again (?:seen|noted|demonstrated)"
    r"|unchanged|newly|new(?!-|ly)|stable|since the|worsen(?:ed|ing)|improv(?:ed|ing|ement)|progress(?:ed|ion|ive)"
    r"|resolv(?:ed|ing))\b",
    re.IGNORECASE,
)


def check_negative_stem(read: ReadQuestion) -> Iterator[Flaw]:
    """A word that turns the question round, in small letters; NOT, *not* and <b>not</b> are emphasised."""
    if NEGATIVE_WORDS.isdisjoint(read.stem) and "n't" not in read.question.stem and "n’t" not in read.question.stem:
        return
    if match := _NEGATIVE.search(read.question.stem):
        yield flaw("negative_stem", FindingPlace.STEM, word=match.group())


def prior_words(text: str) -> str:
    """The first words that compare with an earlier exam; "" where there are none."""
    match = _PRIOR.search(text)
    return match.group() if match else ""


def check_prior(read: ReadQuestion) -> Iterator[Flaw]:
    if read.question.has_prior:
        return
    for place, text, words in _parts(read):
        if not PRIOR_WORDS.isdisjoint(words) and (match := _PRIOR.search(text)):
            yield flaw("mentions_prior", place, words=match.group())


def _parts(read: ReadQuestion) -> Iterator[tuple[FindingPlace, str, list[str]]]:
    """All text of the question, without the report."""
    question = read.question
    yield FindingPlace.STEM, question.stem, read.stem
    yield from zip(LETTERS, question.options, read.options, strict=False)
    yield FindingPlace.EXPLANATION, question.explanation, read.explanation


def check_key_in_stem(read: ReadQuestion) -> Iterator[Flaw]:
    """Half or more of what the key says for itself is in the stem, and nothing that another option says so."""
    key = read.question.key
    if key is None or key >= len(read.content):
        return
    stem = frozenset(read.stem) - COMMON_WORDS
    if stem.isdisjoint(read.content[key]):
        return
    own = [_own_words(read.content, number) for number in range(len(read.content))]
    named = own[key] & stem
    if not named or 2 * len(named) < len(own[key]):
        return
    if all(stem.isdisjoint(words) for number, words in enumerate(own) if number != key):
        words = " ".join(word for word in read.options[key] if word in named)
        yield flaw("key_in_stem", FindingPlace.STEM, words=words)


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
