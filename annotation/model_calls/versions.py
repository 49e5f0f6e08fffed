"""Prompts and their versions. A version is never changed, which the database holds: a change is the next version.

The prompts that come with the program. A site stores them whenever it is prepared; what is there stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from annotation.audit.recording import lock_log, record
from annotation.call_enums import PromptPurpose, SentImages
from annotation.model_calls.kernels.filling import (
    KNOWN,
    ShippedPrompt,
    prompt_sha256,
    schema_problem,
    undeclared,
    unused,
)
from annotation.models import PromptVersion, User
from annotation.models.fields import AsRead
from annotation.refusals import Refused
from annotation.site.sentences import listed

LONGEST_NAME = 100
LONGEST_TEXT = 50_000  # characters of text, and of instruction
LONGEST_REASON = 4_000
PROMPT_IMAGES = (SentImages.ALL, SentImages.FIRST, SentImages.NONE)  # the others are for a run that varies a prompt


COPIED = ("name", "instruction", "text", "variables", "images", "schema")  # by a version from the one before


class PromptRefused(Refused):
    """A prompt cannot be stored, or there is none of this name."""


def prompts_for(purpose: PromptPurpose) -> QuerySet[PromptVersion]:
    """By name, the newest version of each first."""
    return PromptVersion.objects.filter(purpose=purpose).order_by(AsRead("name"), "-number")


def make_version(
    name: str,
    purpose: PromptPurpose,
    text: str,
    *,
    instruction: str = "",
    variables: Sequence[str] = (),
    images: SentImages = SentImages.NONE,
    schema: str = "",
    parent: PromptVersion | None = None,
    reason: str,
    actor: User | None,
    at: datetime,
) -> PromptVersion:
    """The next version of the prompt of this name, or its first one.

    Raises PromptRefused, with the field that is wrong. ``actor`` is None for what comes with the program.
    """
    name, reason, variables = " ".join(name.split()), reason.strip(), list(dict.fromkeys(variables))
    text, instruction, schema = (_plain(one) for one in (text, instruction, schema))
    _check_words(name, text, instruction, reason)
    _check_variables(purpose, f"{instruction}\n{text}", variables)
    if images not in PROMPT_IMAGES:
        _refuse("bad_images", "images", _("A prompt goes with all images, the first one, or none."))
    if problem := schema_problem(schema):
        sentence = _("This is not the schema of an answer: %(problem)s. Leave it empty to ask for plain text.")
        _refuse("bad_schema", "schema", sentence % {"problem": problem})
    sha256 = prompt_sha256(instruction=instruction, text=text, variables=variables, images=images.value, schema=schema)
    if parent is not None and parent.sha256 == sha256:
        sentence = _("Nothing that is sent differs from %(parent)s. Change it, or use that version.")
        _refuse("unchanged", "text", sentence % {"parent": parent})
    with transaction.atomic():
        lock_log()  # before the number is looked up: two at once would take the same
        made = PromptVersion.objects.create(
            name=name,
            number=_next_number(name, purpose),
            purpose=purpose,
            instruction=instruction,
            text=text,
            variables=variables,
            images=images,
            schema=schema,
            parent=parent,
            reason=reason,
            author=actor,
            made_at=at,
            sha256=sha256,
        )
        facts = {"name": name, "number": made.number, "sha256": sha256}
        record("prompt.version_made", actor=actor, at=at, subject=made, facts=facts)
    return made


def next_version(
    parent: PromptVersion, *, reason: str, actor: User | None, at: datetime, **changed: Any
) -> PromptVersion:
    """Of the same purpose; what of ``COPIED`` is not changed is as in the parent. Raises PromptRefused."""
    values = {name: getattr(parent, name) for name in COPIED} | changed
    images, purpose = SentImages(values.pop("images")), PromptPurpose(parent.purpose)
    return make_version(purpose=purpose, images=images, parent=parent, reason=reason, actor=actor, at=at, **values)


def prompt_named(name: str, number: int | None = None) -> PromptVersion:
    """This version of the prompt, or its newest one. Raises PromptRefused (``no_prompt``)."""
    versions = PromptVersion.objects.filter(name=name).order_by("-number")
    found = versions.first() if number is None else versions.filter(number=number).first()
    if found is not None:
        return found
    there = listed(list(PromptVersion.objects.order_by(AsRead("name")).values_list("name", flat=True).distinct()))
    facts = {"name": name if number is None else f"{name} v{number}", "there": there or _("none so far")}
    sentence = _("There is no prompt “%(name)s”. Prompts: %(there)s.") % facts
    raise PromptRefused("no_prompt", sentence, status=404, field="prompt")


def prompt_written(text: str) -> PromptVersion:
    """ "our reading" is its newest version, "our reading@2" the second. Raises PromptRefused for any other."""
    name, at, number = text.rpartition("@")
    return prompt_named(name, int(number)) if at and number.isdecimal() and len(number) < 6 else prompt_named(text)


def _next_number(name: str, purpose: PromptPurpose) -> int:
    """Raises PromptRefused (``other_purpose``): versions of one prompt are compared with each other."""
    versions = PromptVersion.objects.filter(name=name)
    other = versions.exclude(purpose=purpose).first()
    if other is not None:
        sentence = _("“%(name)s” is there already, to %(purpose)s. Choose another name.")
        facts = {"name": name, "purpose": other.get_purpose_display()}
        _refuse("other_purpose", "name", sentence % facts)
    newest: int | None = versions.aggregate(newest=Max("number"))["newest"]
    return (newest or 0) + 1


def _check_words(name: str, text: str, instruction: str, reason: str) -> None:
    if not name or len(name) > LONGEST_NAME:
        _refuse("bad_name", "name", _("A prompt needs a name of at most %(n)d characters.") % {"n": LONGEST_NAME})
    if not text:
        _refuse("no_text", "text", _("Write the text of the prompt."))
    for field, words in (("text", text), ("instruction", instruction)):
        if len(words) > LONGEST_TEXT:
            _refuse("too_long", field, _("At most %(n)d characters can be stored.") % {"n": LONGEST_TEXT})
    if not reason or len(reason) > LONGEST_REASON:
        sentence = _("State why this version is made, in at most %(n)d characters.")
        _refuse("no_reason", "reason", sentence % {"n": LONGEST_REASON})


def _check_variables(purpose: PromptPurpose, text: str, variables: Sequence[str]) -> None:
    known = KNOWN[purpose]
    if strange := [name for name in variables if name not in known]:
        sentence = _("A prompt to %(purpose)s has no variable called %(names)s. There are: %(known)s.")
        facts = {"purpose": _(purpose.label), "names": listed(strange), "known": ", ".join(known)}
        _refuse("unknown_variable", "variables", sentence % facts)
    if strange := undeclared(text, variables):
        sentence = _(
            "The text holds %(names)s, which is not among the variables of this version: it would be sent as is."
        )
        _refuse("undeclared", "variables", sentence % {"names": listed([f"{{{{{name}}}}}" for name in strange])})
    if strange := unused(text, variables):
        sentence = _("The text does not hold %(names)s: write it there, or take it away from the variables.")
        _refuse("unused", "variables", sentence % {"names": listed([f"{{{{{name}}}}}" for name in strange])})


def _plain(text: str) -> str:
    """As every browser and every file system gives it: lines end alike, none is empty at either end."""
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _refuse(code: str, field: str, sentence: str) -> None:
    raise PromptRefused(code, sentence, status=422, field=field)


# --- two side by side ---
MOST_COMPARED = 6_000  # characters of two differing passages together; the words of longer ones are not compared
_words = re.compile(r"\s+|\S+")


class Run(NamedTuple):
    """A stretch of one text; ``is_own``: the other text does not have it."""

    text: str
    is_own: bool


class Sides(NamedTuple):
    """What two texts share, and what each alone has. The runs of a side, joined, give its text."""

    before: list[Run]
    after: list[Run]


def side_by_side(before: str, after: str) -> Sides:
    """Lines are compared first, then the words of those that differ."""
    sides = Sides([], [])
    for one, other in _passages(before.splitlines(keepends=True), after.splitlines(keepends=True)):
        for old, new in _differing_words(one, other) if one != other else [(one, other)]:
            is_own = old != new
            sides.before.extend([Run(old, is_own)] if old else [])
            sides.after.extend([Run(new, is_own)] if new else [])
    return sides


def _passages(old: list[str], new: list[str], *, autojunk: bool = True) -> Iterator[tuple[str, str]]:
    """Equal pairs and differing ones, in order."""
    for _act, a, b, c, d in SequenceMatcher(None, old, new, autojunk=autojunk).get_opcodes():
        yield "".join(old[a:b]), "".join(new[c:d])


def _differing_words(one: str, other: str) -> Iterator[tuple[str, str]]:
    if len(one) + len(other) > MOST_COMPARED:
        yield one, other
        return
    yield from _passages(_words.findall(one), _words.findall(other), autojunk=False)


# --- The prompts that come with the program. A site stores them whenever it is prepared; ----------
OUR_READING, LETTER_ALONE = "our reading", "letter alone"


# The explanation comes first: a model writes the fields in this order, so that its reasons come before its letter.
_SCHEMA = {
    "type": "object",
    "properties": {"explanation": {"type": "string"}, "answer": {"type": "string", "enum": ["A", "B", "C", "D"]}},
    "required": ["explanation", "answer"],
    "additionalProperties": False,
}

SHIPPED = (
    ShippedPrompt(
        name=OUR_READING,
        instruction="You are a radiologist who reads chest radiographs.",
        text=(
            "You see all radiographs of one exam. Answer the multiple-choice question about them. "
            "Exactly one option is correct.\n\n"
            "Question: {{question}}\n\n{{options}}\n\n"
            "Explain briefly what on the radiographs decides between the options, then give the letter of the "
            'correct option. Answer in JSON with the fields "explanation" and "answer", in this order; '
            '"answer" is one of A, B, C, D.'
        ),
        variables=("question", "options"),
        images=SentImages.ALL,
        schema=json.dumps(_SCHEMA, indent=2),
        reason=(
            "Our reading of section 4.2 of the paper: all images, the question and its four options are given, an "
            "option and an explanation are asked for. The paper prints no prompt, so that its words are ours. The "
            "explanation comes before the letter: a model writes in order, and reasons that follow a letter can no "
            "longer change it."
        ),
    ),
    ShippedPrompt(
        name=LETTER_ALONE,
        text=(
            "Question: {{question}}\n\n"
            "A. {{option_a}}\nB. {{option_b}}\nC. {{option_c}}\nD. {{option_d}}\n\n"
            "Answer with the letter of the correct option and nothing else."
        ),
        variables=("question", "option_a", "option_b", "option_c", "option_d"),
        images=SentImages.FIRST,
        reason=(
            "In the shape of the public script of the leaderboard, in our own words: the first image alone, and the "
            "letter alone as the answer. The script differs in both from section 4.2 of the paper."
        ),
    ),
)


def store_shipped(*, at: datetime) -> list[PromptVersion]:
    """Make the versions that are missing, and return them; what people wrote under the same names is left as it is.

    Safe to run again: a prompt of the program that is there, in whatever version, is not stored a second time.
    """
    return [_make(prompt, at=at) for prompt in SHIPPED if stored_version(prompt) is None]


def version_of(prompt: ShippedPrompt, *, at: datetime) -> PromptVersion:
    """The stored version of a prompt of the program, made the first time that it is needed."""
    return stored_version(prompt) or _make(prompt, at=at)


def _of_program(prompt: ShippedPrompt) -> list[PromptVersion]:
    return list(PromptVersion.objects.filter(name=prompt.name, author=None).order_by("number"))


def stored_version(prompt: ShippedPrompt) -> PromptVersion | None:
    """None: it was not needed yet in this form."""
    return next((one for one in _of_program(prompt) if _is_same(one, prompt)), None)


def _make(prompt: ShippedPrompt, *, at: datetime) -> PromptVersion:
    return make_version(
        purpose=prompt.purpose,
        parent=next(reversed(_of_program(prompt)), None),
        reason=prompt.reason,
        actor=None,
        at=at,
        **{name: getattr(prompt, name) for name in COPIED},
    )


def _is_same(one: PromptVersion, prompt: ShippedPrompt) -> bool:
    stored = (one.text, one.instruction, tuple(one.variables), one.images, one.schema)
    return stored == (prompt.text, prompt.instruction, prompt.variables, prompt.images, prompt.schema)
