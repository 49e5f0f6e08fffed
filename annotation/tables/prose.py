"""Sentences from a template: what a table or a method says, with its conditions where its words are."""

from __future__ import annotations

import textwrap
from typing import Any

from django.template import Context, Engine

WIDTH = 110  # signs in a line of a file


PART = "\n---\n"  # between two parts of a template


def prose(template: str, **facts: Any) -> list[str]:
    """The parts of a template, each in one line. Names in ``facts`` come out as they are."""
    text = Engine.get_default().get_template(template).render(Context(facts, autoescape=False))
    return [" ".join(part.split()) for part in text.split(PART)]


def filled(text: str) -> str:
    """In lines of a file; no word is broken."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)
