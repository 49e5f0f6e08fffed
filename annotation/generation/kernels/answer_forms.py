"""The forms of the two answers that a model gives: the findings of a report, and questions made from them. Pure.

The schemas are kept as text, since a model fills in the properties in their order: the quote before the statement about
it, and the findings of an option before which one is the key.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeVar

import msgspec

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
