"""The records of a file beside the questions that they are about. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from annotation.model_calls.kernels.extraction import LETTERS, extract
from annotation.questionbank.kernels.fields import FieldRefused, split_options
from readerstudy.predictions.kernels.records import PredictionProblem, Record

FIRST, LAST = "first", "last"  # which of several answers to one question counts


class KnownQuestion(NamedTuple):
    """A question of the bank or of the study, in the wording for which predictions are stored."""

    revision_id: int
    number: int  # in the bank
    options: Sequence[str]


class Answer(NamedTuple):
    record: Record  # without its words, which a file may have too many of, unless no option could be taken
    question: KnownQuestion
    option: str  # canonical; "" where none could be taken
    place: int  # of the whole record in the file


@dataclass
class Matching:
    """What a file says of a set of questions."""

    answers: list[Answer] = field(default_factory=list)  # one for each question that the file answers
    missing: list[int] = field(default_factory=list)  # numbers of the questions that it leaves out
    unknown: list[str] = field(default_factory=list)  # ids that name no question
    duplicate: list[str] = field(default_factory=list)  # ids of questions that come more than once
    other_order: list[str] = field(default_factory=list)  # ids of records whose options stand in another order
    other_wording: list[str] = field(default_factory=list)  # ids of records whose options are worded otherwise
    problems: list[PredictionProblem] = field(default_factory=list)

    @property
    def failed(self) -> list[Answer]:
        return [answer for answer in self.answers if not answer.option]


def match(records: Iterable[Record], known: Mapping[str, KnownQuestion], *, duplicates: str = "") -> Matching:
    """Which option each question is given. ``known``: by every id that the records use; others name no question.

    The same answer twice, with the same confidence, counts once. Of different ones the first or the last counts where
    ``duplicates`` says so; otherwise each is a problem.
    """
    found = Matching()
    chosen: dict[int, Answer] = {}
    unknown: dict[str, None] = {}
    duplicate: dict[str, None] = {}
    for place, record in enumerate(records):
        question = known.get(record.id)
        if question is None:
            unknown[record.id] = None
            continue
        answer = _answer(place, record, question, found)
        before = chosen.setdefault(question.revision_id, answer)
        if before is answer:
            continue
        duplicate[record.id] = None
        if duplicates == LAST:
            chosen[question.revision_id] = answer
        elif duplicates != FIRST and _content_of(answer) != _content_of(before):
            found.problems.append(_conflict(before, answer))
    found.answers = list(chosen.values())
    found.unknown, found.duplicate = list(unknown), list(duplicate)
    return found


def _answer(place: int, record: Record, question: KnownQuestion, found: Matching) -> Answer:
    option = _option(record, question.options, found)
    kept = Record(record.row, record.id, "" if option else record.raw, confidence=record.confidence)
    return Answer(kept, question, option, place)


def _content_of(answer: Answer) -> tuple[str, float | None]:
    return answer.option, answer.record.confidence


def _conflict(before: Answer, answer: Answer) -> PredictionProblem:
    first, this = (
        f"{option or 'no option'}" + ("" if percent is None else f", confidence {percent:g}")
        for option, percent in (_content_of(before), _content_of(answer))
    )
    sentence = (
        f"Row {before.record.row} answers this question with {first}, this row with {this}. Say which counts: the "
        "first or the last."
    )
    return PredictionProblem(answer.record.row, answer.record.id, sentence)


def _option(record: Record, options: Sequence[str], found: Matching) -> str:
    """The canonical option of a record. Its letter is of the options as the record lists them, where it does.

    What was refused or cut at the token limit names none, whatever letters stand in it.
    """
    if not record.is_whole:
        return ""
    listed = _listed(record.options, options)
    if listed is None or listed is options or list(listed) == list(options):
        return extract(record.raw, options)
    if sorted(listed) != sorted(options):
        found.other_wording.append(record.id)
        return extract(record.raw, options)
    found.other_order.append(record.id)
    letter = extract(record.raw, listed)
    return LETTERS[list(options).index(listed[LETTERS.index(letter)])] if letter else ""


def _listed(listed: Sequence[str], options: Sequence[str]) -> Sequence[str] | None:
    """The texts of the options that a record lists, without letters; None where it lists none."""
    if not listed:
        return None
    if list(listed) == [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False)]:
        return options  # as in nearly every file
    try:
        return split_options(list(listed))[0] if len(listed) == len(LETTERS) else listed
    except FieldRefused:
        return listed
