"""The words of a question, read once for all of its checks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from annotation.quality.kernels.rules import CheckedQuestion
from annotation.quality.kernels.vocabulary import FILLERS

RUN = 6  # so many words in a row that are in the report are copied
EXPLANATION_RUN = 10  # an explanation may name a finding as the report does

_WORD = re.compile(r"[^\W_]+(?:[.'’-][^\W_]+)*")

Run = tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Words and numbers in small letters; a hyphen or an apostrophe inside joins."""
    return _WORD.findall(text.lower())


@lru_cache(maxsize=8)  # neighbouring questions share an exam
def runs_of(report: str) -> frozenset[Run]:
    """Every run of RUN words of a report."""
    return frozenset(runs(words_of(report)))


def runs(words: list[str]) -> Iterator[Run]:
    return zip(*(words[start:] for start in range(RUN)), strict=False)


@dataclass(frozen=True, slots=True)
class ReadQuestion:
    """A question with the words of its parts, in their order; ``content`` leaves fillers out."""

    question: CheckedQuestion
    stem: list[str]
    options: list[list[str]]
    explanation: list[str]
    content: list[frozenset[str]]  # of each option


def read_question(question: CheckedQuestion) -> ReadQuestion:
    options = [words_of(option) for option in question.options]
    return ReadQuestion(
        question,
        words_of(question.stem),
        options,
        words_of(question.explanation),
        [frozenset(words) - FILLERS for words in options],
    )


def compared_text(stem: str, options: Iterable[str]) -> str:
    """What of a question is compared with others, by its words or by an embedding."""
    return "\n".join((stem, *options))
