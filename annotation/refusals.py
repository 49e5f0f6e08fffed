"""What an act says that cannot be done: one exception, with the sentence that the person reads. Pure."""

from __future__ import annotations

from typing import Any


class Refused(Exception):
    """An act was refused, and nothing of it was stored.

    A room has one subclass. Whoever raises it writes the sentence, which pages, forms, commands and scripts show as it
    is. ``code`` is the word that scripts and tests know. ``status``: 409 where the state of things does not allow the
    act, 422 where what was sent is wrong, 403, 404 or 410 where the page itself is refused. ``field``: the field of a
    form, or the column of a file, that the sentence is about. ``facts`` go to a script beside the code.
    """

    def __init__(self, code: str, sentence: str = "", *, status: int = 409, field: str = "", **facts: Any) -> None:
        super().__init__(sentence or code)
        self.code = code
        self.sentence = sentence
        self.status = status
        self.field = field
        self.facts = facts
