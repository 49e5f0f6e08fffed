"""The rules of the text checks, their words, and what is checked over a whole bank. Pure.

A rule that comes to another result gets a new version: findings name the version that made them.

References
----------
.. [1] K. Pearson, Phil. Mag. 50 (1900) 157-175.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from annotation.enums import FindingPlace, OptionLetter
from annotation.questionbank.kernels.identifiers import IDENTIFIERS
from annotation.questionbank.kernels.vocabulary import CONTRARIES, FILLERS, SYNONYMS
from annotation.statistics.kernels.estimate import Estimate
from annotation.statistics.kernels.intervals import share

if TYPE_CHECKING:
    from annotation.statistics.kernels.comparing import ChiSquare

MIN_EXPLANATION = 20  # characters; an import may ask for more
THRESHOLD = 0.9  # similarity of near-duplicates, as in the paper
NEAR_DUPLICATE, PUBLIC_TWIN, RELEASED_TWIN, NEAR_EMBEDDED = BANKWIDE = (
    "near_duplicate",
    "public_twin",
    "released_twin",
    "near_embedded",
)  # found over whole banks
CLASSIFIED_IDENTIFIER, CLASSIFIED_BIAS = CLASSIFIED = ("classified_identifier", "classified_bias")  # by a classifier
LETTERS = (FindingPlace.A, FindingPlace.B, FindingPlace.C, FindingPlace.D)


class Rule(NamedTuple):
    """``found`` is a template that the check fills; ``advice`` says what to do."""

    code: str
    version: int
    label: str
    found: str
    advice: str

    def sentence(self, **words: object) -> str:
        return f"{self.found.format(**words)} {self.advice}"


_TABLE = (
    Rule(
        "duplicate_options",
        3,
        "options of the same text",
        "Options {first} and {second} say the same.",
        "Replace one of them.",
    ),
    Rule(
        "overlapping_options",
        1,
        "overlapping options",
        "Option {wide} holds all that option {narrow} says: both may be right.",
        "Make them exclude each other.",
    ),
    Rule(
        "longest_is_key",
        1,
        "key much longer than the others",
        "The key has {n} characters, the longest other option {other}.",
        "Shorten the key, or give the other options as much detail.",
    ),
    Rule(
        "absolute_terms",
        1,
        "absolute term",
        "The option says “{word}”: test takers rule such options out.",
        "Say it without the absolute term.",
    ),
    Rule(
        "all_of_the_above",
        1,
        "“all of the above”",
        "The option refers to other options: “{words}”.",
        "Replace it by an option that stands alone.",
    ),
    Rule(
        "negative_stem",
        1,
        "negative stem without emphasis",
        "The stem asks for what is not so, in “{word}”, which is easily overlooked.",
        "Write the word in capitals, or ask the opposite.",
    ),
    Rule(
        "mentions_prior",
        3,
        "mention of a prior",
        "“{words}” needs an earlier exam, and none is shown.",
        "Ask what these images alone can answer, or name the prior exam in the question file.",
    ),
    Rule(
        "mentions_report",
        2,
        "mention of the report",
        "“{words}” sends the reader to the report, which nobody is shown.",
        "Ask what the images show, and say it by what they show.",
    ),
    Rule(
        "key_in_stem",
        3,
        "key named in the stem",
        "The stem names the key: it contains “{words}”, and no other option does.",
        "Take the words out of the stem, or put them into other options, too.",
    ),
    Rule(
        "report_copied",
        1,
        "words of the report",
        "{n} words in a row are copied from the report: “{words}”.",
        "Say in other words what the images show.",
    ),
    Rule(
        "short_explanation",
        1,
        "short explanation",
        "The explanation has {n} characters, fewer than the {least} asked for.",
        "Say what on the images makes the key right.",
    ),
    Rule(
        "options_differ_in_kind",
        1,
        "option of another kind",
        "Option {letter} is {kind}, the other three are {others}.",
        "Make all four options of one kind.",
    ),
    *(
        Rule(
            one.code,
            one.version,
            f"possible identifier: {one.label}",
            "What looks like {label} is at characters {spans}.",
            "Take it out: revise the question; for a report, change the source file and import it again.",
        )
        for one in IDENTIFIERS
        if one.patterns
    ),
    Rule(
        NEAR_DUPLICATE,
        2,
        "near-duplicate",
        "Stem and options are {similarity} similar to question {number}{more}.",
        "Keep one of them in a sample, or reword.",
    ),
    Rule(
        PUBLIC_TWIN,
        1,
        "twin in a public bank",
        "Stem and options are {similarity} similar to question {number} of the public bank “{bank}”{more}.",
        "A model may have learned it there: leave it out of what is to test models, or reword.",
    ),
    Rule(
        RELEASED_TWIN,
        1,
        "twin in another release",
        "Stem and options are {similarity} similar to question {number}, which “{bank}” released{more}.",
        "Whoever trained on that release knows it: leave it out of what is to test models, or reword.",
    ),
    Rule(
        NEAR_EMBEDDED,
        2,
        "near-duplicate by an embedding",
        "By the embedding {embedding}, stem and options are {similarity} similar to question {number}{more}.",
        "Keep one of them in a sample, or reword.",
    ),
    Rule(
        CLASSIFIED_IDENTIFIER,
        1,
        "identifier by a classifier",
        "P({label}) is {p} by the classifier {classifier}, at or above {threshold}.",
        "Take what identifies a person out of the question.",
    ),
    Rule(
        CLASSIFIED_BIAS,
        1,
        "bias by a classifier",
        "P({label}) is {p} by the classifier {classifier}, at or above {threshold}.",
        "Reword what rests on age, sex or origin.",
    ),
)
RULES = {rule.code: rule for rule in _TABLE}


class CheckedQuestion(Struct, frozen=True):
    """A question as the checks see it; ``key`` is the index of its option, None where the form comes without."""

    stem: str
    options: tuple[str, ...]
    key: int | None
    explanation: str = ""
    report: str = ""
    has_prior: bool = False  # an earlier exam is shown beside this one


class Flaw(NamedTuple):
    """At most one for each rule and place of a question."""

    rule: str
    place: FindingPlace
    detail: str


def flaw(rule: str, place: FindingPlace, **words: object) -> Flaw:
    return Flaw(rule, place, RULES[rule].sentence(**words))


RUN = 6  # so many words in a row that are in the report are copied
EXPLANATION_RUN = 10  # an explanation may name a finding as the report does

_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")

Run = tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Words and numbers in small letters; a hyphen or an apostrophe inside joins."""
    return _WORD.findall(text.lower())


def singular(word: str) -> str:
    if word[-4:] in ("sses", "ches", "shes") or word[-3:] == "xes":
        return word[:-2]
    if word[-3:] == "ies" and len(word) > 5:
        return word[:-3] + "y"
    return word[:-1] if word[-1:] == "s" and word[-2:] not in ("ss", "is", "us") else word


def _replacements() -> dict[str, list[tuple[list[str], list[str]]]]:
    """By the first word of a phrase, the longest first: the phrase, and the usual one."""
    found: dict[str, list[tuple[list[str], list[str]]]] = {}
    for usual, *others in (line.split("|") for line in SYNONYMS.strip().splitlines()):
        for phrase in ([singular(word) for word in re.split("[ -]", other)] for other in others):
            found.setdefault(phrase[0], []).append((phrase, usual.split()))
    return {word: sorted(listed, key=lambda one: -len(one[0])) for word, listed in found.items()}


_USUAL = _replacements()
_SYNONYMOUS = frozenset(_USUAL)


def usual_words(words: list[str]) -> list[str]:
    """The same in the usual words, in the singular: “enlarged hearts” is “cardiomegaly”."""
    if "-" in (joined := " ".join(words)):
        words = joined.replace("-", " ").split()
    words = [singular(word) if word[-1] == "s" else word for word in words]
    for _round in range(2):  # what a spelling has made usual may be part of a phrase: “lung oedema”
        if _SYNONYMOUS.isdisjoint(words) or (found := _replaced(words)) == words:
            break
        words = found
    return words


def _replaced(words: list[str]) -> list[str]:
    found, done = list[str](), 0
    for place, word in enumerate(words):
        if place < done or word not in _SYNONYMOUS:
            continue
        for phrase, usual in _USUAL[word]:
            if words[place : place + len(phrase)] == phrase:
                found += words[done:place] + usual
                done = place + len(phrase)
                break
    return found + words[done:]


def are_contrary(one: str, other: str) -> bool:
    """Left and right, upper and lower, small and large: one text has only this of them, the other only that."""
    words, others = frozenset(usual_words(words_of(one))), frozenset(usual_words(words_of(other)))
    for group in CONTRARIES:
        here, there = ({n for n, same in enumerate(group) if same & text} for text in (words, others))
        if here and there and here.isdisjoint(there):
            return True
    return False


@lru_cache(maxsize=8)  # neighbouring questions share an exam
def runs_of(report: str) -> frozenset[Run]:
    """Every run of RUN words of a report."""
    return frozenset(runs(words_of(report)))


def runs(words: list[str]) -> Iterator[Run]:
    return zip(*(words[start:] for start in range(RUN)), strict=False)


class ReadQuestion(Struct, frozen=True):
    """A question with the words of its parts, in their order; ``content`` leaves fillers out."""

    question: CheckedQuestion
    stem: list[str]
    options: list[list[str]]
    explanation: list[str]
    content: list[frozenset[str]]  # of each option
    usual: list[list[str]]  # of each option, synonyms by their usual words


def read_question(question: CheckedQuestion) -> ReadQuestion:
    options = [_read_option(option) for option in question.options]
    return ReadQuestion(
        question,
        words_of(question.stem),
        [words for words, _content, _usual in options],
        words_of(question.explanation),
        [content for _words, content, _usual in options],
        [usual for _words, _content, usual in options],
    )


@lru_cache(maxsize=4096)  # many questions have the same options
def _read_option(option: str) -> tuple[list[str], frozenset[str], list[str]]:
    words = words_of(option)
    return words, frozenset(words) - FILLERS, usual_words(words)


def compared_text(stem: str, options: Iterable[str]) -> str:
    """What of a question is compared with others, by its words or by an embedding."""
    return "\n".join((stem, *options))


BY_CHANCE = 0.25
ALL_LETTERS = tuple(OptionLetter.values())


class BankWide(Struct, frozen=True):
    """``longest_is_key``: of the questions with one longest option, those whose key it is; 25 % by chance.

    ``letters``: how often each letter is the key; ``evenness`` is Pearson's test against equal shares [1]_, None
    without a key.
    """

    longest_is_key: Estimate
    letters: dict[str, int]
    evenness: ChiSquare | None

    @property
    def is_longest_too_often(self) -> bool:
        """Whether the whole interval lies above what chance gives."""
        low = self.longest_is_key.low
        return low is not None and low > BY_CHANCE


def bank_wide(questions: Iterable[tuple[Sequence[int], str]]) -> BankWide:
    """Of the length of each option in characters and the letter of the key, question by question; without key: ""."""
    letters: Counter[str] = Counter()
    n_longest = n_keys = 0
    for lengths, key in questions:
        if key not in ALL_LETTERS:
            continue
        letters[key] += 1
        longest = max(lengths)
        if lengths.count(longest) == 1:
            n_longest += 1
            n_keys += lengths[ALL_LETTERS.index(key)] == longest
    counts = {letter: letters[letter] for letter in ALL_LETTERS}
    return BankWide(share(n_keys, n_longest), counts, key_evenness(list(counts.values())))


def key_evenness(counts: Sequence[int]) -> ChiSquare | None:
    """Chi-square of the counts of each letter against equal shares; None without any."""
    n = sum(counts)
    if n == 0:
        return None
    from scipy.special import chdtrc  # here, since every start of the program would wait for it

    expected = n / len(counts)
    chi2 = sum((count - expected) ** 2 for count in counts) / expected
    from annotation.statistics.kernels.comparing import ChiSquare  # computes with numpy

    return ChiSquare(chi2, len(counts) - 1, float(chdtrc(len(counts) - 1, chi2)), n)
