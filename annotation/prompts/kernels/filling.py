"""The variables of a prompt, which there are for each purpose, and its text with them in place of their names. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from annotation.call_enums import PromptPurpose

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
def _(text: str) -> str:
    """Mark a sentence for translation; pages translate it where it is shown."""
    return text


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
