"""What a model is told that writes questions, in which form it answers, and what must stand in the report. Pure.

The schemas are kept as text, since a model fills in the properties in their order: the quote before the statement about
it, and the findings of an option before which one is the key.

A rule that comes to another result gets a new version, and RULES_VERSION with it: each question keeps the one that let
it pass. What no rule can see, such as a quote that says less than what is made of it, is for reviewers.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from annotation.call_enums import Polarity, PromptPurpose
from annotation.enums import Task
from annotation.generation.kernels.negation import fault_of_quote
from annotation.generation.kernels.question_faults import (
    PolarOption,
    fault_of_polarity,
    fault_of_words,
    names_another_finding,
)
from annotation.model_calls.kernels.filling import ShippedPrompt
from annotation.questionbank.kernels.fields import LETTERS, USUAL_TASK_NAMES, FieldRefused, split_options
from annotation.questionbank.kernels.identifiers import spot_identifiers
from annotation.questionbank.kernels.question_checks import prior_words
from annotation.questionbank.kernels.rules import CheckedQuestion

MOST_QUESTIONS = 10  # of one exam
LONGEST_TEXT, LONGEST_NAME = 600, 200  # characters that a schema allows
N_OPTIONS = 4

BULLETS_SCHEMA = """{"type":"object","properties":{"bullets":{"type":"array","maxItems":40,"items":{"type":"object",\
"properties":{"quote":{"type":"string","minLength":1,"maxLength":600},"statement":{"type":"string","minLength":1,"maxLength":600},\
"polarity":{"type":"string","enum":["present","absent"]},"compares_with_prior":{"type":"boolean"},\
"location":{"type":"string","maxLength":200}},\
"required":["quote","statement","polarity","compares_with_prior","location"],"additionalProperties":false}}},\
"required":["bullets"],"additionalProperties":false}"""

QUESTIONS_SCHEMA = """{"type":"object","properties":{"questions":{"type":"array","maxItems":10,"items":\
{"type":"object",\
"properties":{"task":{"type":"string","enum":["presence","negation","differential","location","geometric"]},\
"stem":{"type":"string","minLength":1,"maxLength":600},"options":{"type":"array","minItems":4,"maxItems":4,"items":{\
"type":"object",\
"properties":{"text":{"type":"string","minLength":1,"maxLength":600},"bullets":{"type":"array","minItems":1,"maxItems":10,\
"items":{"type":"integer"}}},"required":["text","bullets"],"additionalProperties":false}},\
"key":{"type":"string","enum":["A","B","C","D"]},"explanation":{"type":"string","minLength":1,"maxLength":600},\
"category":{"type":"string","maxLength":200},"subcategory":{"type":"string","maxLength":200},\
"question_class":{"type":"string","maxLength":200},"difficulty":{"type":"string","enum":["easy","medium","hard"]}},\
"required":["task","stem","options","key","explanation","category","subcategory","question_class","difficulty"],\
"additionalProperties":false}}},"required":["questions"],"additionalProperties":false}"""

# An engine that keeps to no schema may write more: what a column cannot hold is refused, what is long is not.
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=20_000)]
_Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")  # NUL, and halves of a character
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)


Form = TypeVar("Form", bound=msgspec.Struct)


class NotInForm(ValueError):
    """An answer that cannot be read as what was asked for; the text says where it departs from it."""


class WrittenBullet(msgspec.Struct, frozen=True):
    """One finding: ``quote`` as it is in the report, ``statement`` in own words."""

    quote: _Text
    statement: _Text
    polarity: Literal["present", "absent"]
    compares_with_prior: bool
    location: Annotated[str, msgspec.Meta(max_length=400)] = ""


class WrittenOption(msgspec.Struct, frozen=True):
    """``bullets``: numbers of those that support it."""

    text: _Text
    bullets: Annotated[list[int], msgspec.Meta(max_length=100)]


class WrittenQuestion(msgspec.Struct, frozen=True):
    """A question as the model wrote it: the key where the model put it."""

    task: Literal["presence", "negation", "differential", "location", "geometric"]
    stem: _Text
    options: Annotated[list[WrittenOption], msgspec.Meta(min_length=N_OPTIONS, max_length=N_OPTIONS)]
    key: Literal["A", "B", "C", "D"]
    explanation: _Text
    category: _Name = ""
    subcategory: _Name = ""
    question_class: _Name = ""
    difficulty: Literal["easy", "medium", "hard", ""] = ""

    @property
    def key_place(self) -> int:
        """Of the option that is the key, from 0."""
        return "ABCD".index(self.key)


class _Bullets(msgspec.Struct, frozen=True):
    bullets: Annotated[list[WrittenBullet], msgspec.Meta(max_length=1000)]


class _Questions(msgspec.Struct, frozen=True):
    questions: Annotated[list[WrittenQuestion], msgspec.Meta(max_length=1000)]


def read_bullets(answer: str) -> list[WrittenBullet]:
    """In the order of the answer. Raises NotInForm."""
    return read_form(answer, _Bullets).bullets


def read_questions(answer: str) -> list[WrittenQuestion]:
    """In the order of the answer. Raises NotInForm."""
    return read_form(answer, _Questions).questions


def read_form(answer: str, form: type[Form]) -> Form:
    """The one JSON object of an answer. Raises NotInForm.

    What is not JSON around it is left out: thoughts, a fence, a word before it.
    """
    text = _THOUGHT.sub("", answer)
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        raise NotInForm("The answer holds no JSON object.")
    try:
        found = msgspec.json.decode(text[start : end + 1].encode(), type=form)
        plain = msgspec.json.encode(found).decode()
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise NotInForm(f"{error}.") from error
    if "\\u0000" in plain or _NOT_STORABLE.search(plain):
        raise NotInForm("The answer holds a character that cannot be stored.")
    return found


REASON = "Our own: the paper prints no prompt."

BULLETS = ShippedPrompt(
    name="findings of a report",
    purpose=PromptPurpose.BULLETS,
    instruction="You read chest radiograph reports. You write JSON and nothing else.",
    text=(
        "List every finding that this report states as present or as absent, one after the other, in the order of the "
        "report.\n"
        "Of each, give:\n"
        "- quote: the words of the report that state it, copied exactly, without leaving anything out in between;\n"
        "- statement: the finding in one short sentence of your own;\n"
        "- polarity: present or absent, as the report states it. What the report does not mention is neither: leave it "
        "out;\n"
        "- compares_with_prior: true if it can only be known from an earlier exam (new, unchanged, improved, worse);\n"
        "- location: where it is, in the words of the report, or an empty text.\n"
        "Do not conclude anything that the report does not say.\n\n"
        "Report:\n{{report}}"
    ),
    variables=("report",),
    schema=BULLETS_SCHEMA,
    reason=REASON,
)

QUESTIONS = ShippedPrompt(
    name="questions from findings",
    purpose=PromptPurpose.QUESTIONS,
    instruction="You write multiple-choice questions for radiologists. You write JSON and nothing else.",
    text=(
        "These are the findings of one chest radiograph exam. Write {{n_questions}} questions that a radiologist can "
        "answer from the images alone, each of another task where the findings allow it.\n"
        "- A question has four options, of one kind and of about the same length, one of which is the key.\n"
        "- Each option names by number the findings that it stands on, in bullets. Never offer what no finding "
        "states.\n"
        "- task negation asks which finding is absent: the key stands on findings marked absent, and each of the other "
        "three options on findings marked present.\n"
        "- task presence asks which finding is present: the key stands on findings marked present, and each of the "
        "other three options on findings marked absent.\n"
        "- In the other tasks no option but the key may be true.\n"
        "- Do not mention the report, an earlier exam, or the letter of an option.\n"
        "- explanation: why the key is right, in one or two sentences.\n"
        "- category, subcategory and question_class: the disease group, the finding, and what is asked of the reader.\n"
        "- If the findings do not carry a question, write fewer.\n\n"
        "Findings:\n{{bullets}}"
    ),
    variables=("n_questions", "bullets"),
    schema=QUESTIONS_SCHEMA,
    reason=REASON,
)


def finding_line(number: int, polarity: str, statement: str, location: str) -> str:
    """A finding as the second prompt lists it."""
    words = " ".join(statement.split())
    place = " ".join(location.split())
    return f"{number}. [{polarity}] {words}" + (f" ({place})" if place else "")


HISTORY = "generation"  # the field of the record that holds it
LETTER_RULE = "letter-1"
SENT_FIELDS = ("Findings", "Impression")  # of a report: what it says of the images, and nothing of the person
_TASK_NAMES = {task: name for name, task in USUAL_TASK_NAMES.items()}


def sent_text(findings: str, impression: str) -> str:
    """What is sent of a report. Indication and comparison say what others knew, not what the images show."""
    parts = zip(SENT_FIELDS, (findings, impression), strict=True)
    return "\n".join(f"{name}: {text.strip()}" for name, text in parts if text.strip())


def drawn_place(seed: int, name: str) -> int:
    """The place of the key of the question of this name, from 0. Rule letter-1: the first byte of a SHA-256."""
    return hashlib.sha256(f"{LETTER_RULE}\0{seed}\0{name}".encode()).digest()[0] % len(LETTERS)


def turned(options: Sequence[WrittenOption], key: int, place: int) -> list[WrittenOption]:
    """The options turned round, in the same sequence, so that the key is at ``place``."""
    first = (key - place) % len(options)
    return [*options[first:], *options[:first]]


class Made(msgspec.Struct, frozen=True):
    """A question with the key at its drawn letter."""

    question: WrittenQuestion
    options: Sequence[WrittenOption]
    letter: str


def make(question: WrittenQuestion, *, seed: int, name: str) -> Made:
    place = drawn_place(seed, name)
    return Made(question, turned(question.options, question.key_place, place), LETTERS[place])


def texts_without_letters(question: WrittenQuestion) -> WrittenQuestion | None:
    """The question with options that carry no letter of their own; None where some do and others do not."""
    try:
        texts, _form = split_options([option.text for option in question.options])
    except FieldRefused:
        return None
    options = [
        WrittenOption(text=text.strip(), bullets=option.bullets)
        for text, option in zip(texts, question.options, strict=True)
    ]
    fields = {name: getattr(question, name) for name in question.__struct_fields__}
    return WrittenQuestion(**{**fields, "options": options})


def record_of_made(made: Made, exam: Mapping[str, Any], history: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the exam, of the question, and where it came from: H of the paper's equation 5."""
    question = made.question
    return {
        **exam,
        "task_name": _TASK_NAMES[Task(question.task)],
        "question": question.stem.strip(),
        "options": [f"{letter}. {one.text}" for letter, one in zip(LETTERS, made.options, strict=True)],
        "correct_answer": made.letter,
        "correct_answer_explanation": question.explanation.strip(),
        "category": question.category,
        "subcategory": question.subcategory,
        "class": question.question_class,
        "difficulty": question.difficulty or None,
        HISTORY: {**history, "options": [sorted(set(one.bullets)) for one in made.options]},
    }


def file_of(records: Mapping[str, Any]) -> bytes:
    """A question file: the same records in the same order give the same bytes."""
    return json.dumps(records, ensure_ascii=True, allow_nan=False, indent=1).encode() + b"\n"


RULES_VERSION = "ground-3"


class GroundRule(NamedTuple):
    """``sentence`` says why something was not made."""

    code: str
    version: int
    sentence: str


_TABLE = (
    # --- of an answer ---
    GroundRule("no_answer", 1, "The model refused, or its answer was cut at the token limit."),
    GroundRule("not_in_form", 1, "The answer does not have the form that was asked for."),
    GroundRule("no_bullets", 1, "No finding of the report can be used, so that no question was asked for."),
    # --- of a finding ---
    GroundRule("quote_not_found", 2, "The quote is not in the report, as whole words."),
    GroundRule("compares_with_prior", 3, "The finding compares with an earlier exam, which nobody is shown."),
    GroundRule("quote_too_short", 1, "The quote is too short to state anything."),
    GroundRule("quote_not_whole", 1, "The quote is cut out of a statement that says more."),
    GroundRule("only_possible", 2, "The report calls the finding possible, neither present nor absent."),
    GroundRule("polarity_not_stated", 2, "The quote does not state the finding as the model says, present or absent."),
    GroundRule("statement_not_in_quote", 2, "The statement has no word of its quote."),
    GroundRule("contradicts_quote", 2, "Side, height or size of the finding are others than in the quote."),
    # --- of a question ---
    GroundRule("option_without_bullet", 1, "An option names no finding that supports it."),
    GroundRule("unknown_bullet", 1, "An option names a finding that is not in the list, or that a rule left out."),
    GroundRule("negation_key_not_absent", 3, "The key of a negation question is not stated as absent."),
    GroundRule(
        "negation_distractor_not_present",
        3,
        "A distractor of a negation question is not stated as present: not mentioned is not the same.",
    ),
    GroundRule("asks_for_presence", 1, "A negation question asks for what is present."),
    GroundRule("asks_for_absence", 1, "The stem asks for what is absent, and the task is another."),
    GroundRule("key_not_present", 2, "The key is not stated as present."),
    GroundRule("distractor_not_absent", 2, "A distractor of a question of presence is not stated as absent."),
    GroundRule("several_right", 2, "A distractor states what the report states, too."),
    GroundRule("equal_options", 3, "Two options say the same."),
    GroundRule("names_letter", 3, "Stem or explanation names an option by its letter or place, which is drawn."),
    GroundRule("identifier", 2, "A text holds what looks like a name, date, number or address of a person."),
    GroundRule("key_in_stem", 2, "The stem names the key."),
    GroundRule("mentions_prior", 2, "A text compares with an earlier exam, which nobody is shown."),
    GroundRule("mentions_report", 2, "A text mentions the report, which nobody is shown."),
    GroundRule("refers_to_options", 1, "An option refers to other options."),
    GroundRule("number_not_stated", 1, "Stem, key or explanation gives a measure that no finding has."),
    GroundRule("contradicts_finding", 2, "Side, height or size of the key are others than in its findings."),
    GroundRule("another_finding", 2, "An option has no word of the findings that it names."),
)
RULES = {rule.code: rule for rule in _TABLE}


class QuoteSpan(NamedTuple):
    """Of a quote in its report: ``report[start:end]``."""

    start: int
    end: int


class GroundedBullet(Struct, frozen=True):
    """A finding with its place in the report; ``fault`` is the code of the rule that leaves it out."""

    bullet: WrittenBullet
    place: QuoteSpan | None
    compares_with_prior: bool
    fault: str = ""

    @property
    def polarity(self) -> Polarity:
        return Polarity(self.bullet.polarity)


def places_of_quote(quote: str, report: str) -> Iterator[QuoteSpan]:
    """As whole words, the first one first. White space and case count for nothing, everything else counts."""
    wanted, _places = _folded(quote.strip())
    text, places = _folded(report)
    for match in re.finditer(rf"(?<!\w)(?<!\w[-'’]){re.escape(wanted)}(?![-'’]?\w)" if wanted else r"(?!)", text):
        yield QuoteSpan(places[match.start()], places[match.end() - 1] + 1)


def _folded(text: str) -> tuple[str, list[int]]:
    """The text in small letters with single spaces, and for each of its characters the place where it came from."""
    folded: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if folded and folded[-1] == " ":
                continue
            character = " "
        for small in character.casefold():  # one character may become two
            folded.append(small)
            places.append(place)
    return "".join(folded), places


def ground_bullet(bullet: WrittenBullet, report: str) -> GroundedBullet:
    """A comparison is one where the model says so, and where statement or quote has the words of one.

    Of several places of the quote the first counts that no rule objects to.
    """
    compares = bullet.compares_with_prior or bool(prior_words(bullet.statement) or prior_words(bullet.quote))
    found = [GroundedBullet(bullet, None, compares, "quote_not_found")]
    for place in places_of_quote(bullet.quote, report):
        fault = fault_of_quote(bullet.statement, bullet.location, bullet.polarity, report, *place)
        found.append(GroundedBullet(bullet, place, compares, "compares_with_prior" if compares else fault))
    return next((one for one in found if not one.fault), found[min(1, len(found) - 1)])


def fault_of(
    question: WrittenQuestion, bullets: Mapping[int, Polarity], statements: Mapping[int, str] | None = None
) -> str:
    """The code of the first rule that the question breaks, "" for none. ``bullets``: usable ones by number."""
    if not all(option.bullets for option in question.options):
        return "option_without_bullet"
    if any(number not in bullets for option in question.options for number in option.bullets):
        return "unknown_bullet"
    told = statements or {}
    options = [
        PolarOption(option.text, {number: (bullets[number], told.get(number, "")) for number in option.bullets})
        for option in question.options
    ]
    if fault := fault_of_polarity(Task(question.task), question.stem, options, question.key_place):
        return fault
    texts = tuple(option.text for option in question.options)
    checked = CheckedQuestion(question.stem, texts, question.key_place, question.explanation)
    if fault := fault_of_words(checked, options[question.key_place], " ".join(told.values())):
        return fault
    labels = f"{question.category}. {question.subcategory}. {question.question_class}"
    if any(one.identifier.letter != "A" for one in spot_identifiers(labels)):  # in titles, two capitals are no name
        return "identifier"
    return "another_finding" if names_another_finding(Task(question.task), options) else ""
