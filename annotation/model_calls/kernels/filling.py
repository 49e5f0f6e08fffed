"""The variables of a prompt, which there are for each purpose, and its text with them in place of their names. Pure.

A prompt that comes with the program, as it is in the code. Whether a text can be the schema of an answer, and the hash
of everything of a prompt that is sent.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from annotation.call_enums import PromptPurpose, SentImages
from annotation.enums import _
from annotation.files.kernels.strictjson import FileRefused, read_value

_NAME = re.compile(r"\{\{\s*([a-z][a-z0-9_]{0,39})\s*\}\}")
_MEANT = re.compile(r"\{\{([^{}]+)\}\}")  # what its author took for a variable: {{Question}}


def names_in(text: str) -> list[str]:
    """Names of variables that are in a text as ``{{name}}``, each once, in their order."""
    return list(dict.fromkeys(_NAME.findall(text)))


def fill(text: str, values: Mapping[str, str]) -> str:
    """Each name among ``values`` is replaced, once: what a value holds is never looked at again.

    A question that contains ``{{options}}`` stays text.
    """
    return _NAME.sub(lambda found: values.get(found[1], found[0]), text)


def undeclared(text: str, variables: Collection[str]) -> list[str]:
    """What is in a text in double braces and is not among the declared names, each once.

    Also what no variable can be called, such as ``{{Question}}``: it would be sent unchanged.
    """
    meant = (name.strip() or name[-1] for name in _MEANT.findall(text))
    return [name for name in dict.fromkeys(meant) if len(name) <= 60 and name not in variables]


def unused(text: str, variables: Collection[str]) -> list[str]:
    """Declared names that are nowhere in a text."""
    found = names_in(text)
    return [name for name in variables if name not in found]


# --- what a prompt of each purpose may declare, and what each variable holds ---
_QUESTION = {
    "question": _("the question, without its options"),
    "options": _("the four options, one per line, each behind its letter"),
    "option_a": _("the first option, without its letter"),
    "option_b": _("the second option, without its letter"),
    "option_c": _("the third option, without its letter"),
    "option_d": _("the fourth option, without its letter"),
}
_REPORT = {"report": _("the radiology report of the exam")}

KNOWN: Mapping[PromptPurpose, Mapping[str, str]] = {
    PromptPurpose.ANSWER: _QUESTION,
    PromptPurpose.BULLETS: _REPORT,
    PromptPurpose.QUESTIONS: {
        "bullets": _("the findings that were taken from the report, one per line"),
        "n_questions": _("how many questions are to be written"),
    },
    PromptPurpose.CHECK: {
        **_QUESTION,
        "key": _("the letter of the key"),
        "explanation": _("the explanation of the key"),
        **_REPORT,
    },
}


# --- Whether a text can be the schema of an answer, and the hash of everything of a ---------------
LONGEST_SCHEMA = 20_000  # characters


def schema_problem(text: str) -> str:
    """What is wrong with a schema; nothing for a good one, and for none at all.

    A good one describes an object with named properties: answers of any other form are not read here.
    """
    if not text:
        return ""
    if len(text) > LONGEST_SCHEMA:
        return f"it is longer than {LONGEST_SCHEMA:,} characters"
    try:
        _name, schema, faults = read_value(text)
    except FileRefused as refusal:
        if refusal.code == "too_deep":
            return "it is nested too deeply"
        return f"it is not JSON (line {refusal.facts['line']}, column {refusal.facts['column']})"
    return f"it is not strict JSON: {faults[0].message.rstrip('.')}" if faults else _problem_of(schema)


def prompt_sha256(*, instruction: str, text: str, variables: Sequence[str], images: str, schema: str) -> str:
    sent = {"instruction": instruction, "text": text, "variables": sorted(variables), "images": images}
    return hashlib.sha256(json.dumps({**sent, "schema": schema}, sort_keys=True).encode()).hexdigest()


def _problem_of(schema: Any) -> str:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'it is not an object with "type": "object"'
    properties, required = schema.get("properties"), schema.get("required", [])
    if not isinstance(properties, dict) or not properties:
        return 'it names no "properties"'
    if plain := [name for name, described in properties.items() if not isinstance(described, dict)]:
        return f'its property "{plain[0]}" is not described by an object'
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return '"required" is not a list of names'
    if missing := [name for name in required if name not in properties]:
        return f'"required" names "{missing[0]}", which is none of its properties'
    return ""


# --- A prompt that comes with the program, as it is in the code. Pure -----------------------------
class ShippedPrompt(Struct, frozen=True):
    """Where this changes, it is stored as the next version when it is needed next; what was asked with it stays."""

    name: str
    text: str
    variables: tuple[str, ...]
    reason: str
    purpose: PromptPurpose = PromptPurpose.ANSWER
    images: SentImages = SentImages.NONE
    instruction: str = ""
    schema: str = ""

    @property
    def sha256(self) -> str:
        """As its stored version has it."""
        return prompt_sha256(
            instruction=self.instruction,
            text=self.text,
            variables=self.variables,
            images=self.images.value,
            schema=self.schema,
        )
