"""The variables that a prompt of each purpose may declare, and what each one holds. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from annotation.call_enums import PromptPurpose


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
