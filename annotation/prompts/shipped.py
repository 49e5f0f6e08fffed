"""The prompts that come with the program. A site stores them whenever it is prepared; what is there stays."""

from __future__ import annotations

import json
from datetime import datetime

from annotation.call_enums import SentImages
from annotation.models import PromptVersion
from annotation.prompts.kernels.program_prompts import ShippedPrompt
from annotation.prompts.versions import make_version

OUR_READING, LETTER_ALONE = "our reading", "letter alone"


# The explanation comes first: a model writes the fields in this order, so that its reasons come before its letter.
_SCHEMA = {
    "type": "object",
    "properties": {
        "explanation": {"type": "string"},
        "answer": {"type": "string", "enum": ["A", "B", "C", "D"]},
    },
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
        prompt.name,
        prompt.purpose,
        prompt.text,
        instruction=prompt.instruction,
        variables=prompt.variables,
        images=prompt.images,
        schema=prompt.schema,
        parent=next(reversed(_of_program(prompt)), None),
        reason=prompt.reason,
        actor=None,
        at=at,
    )


def _is_same(one: PromptVersion, prompt: ShippedPrompt) -> bool:
    stored = (one.text, one.instruction, tuple(one.variables), one.images, one.schema)
    return stored == (prompt.text, prompt.instruction, prompt.variables, prompt.images, prompt.schema)
