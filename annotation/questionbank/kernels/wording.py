"""The wording of a question with its key: what an editor may store, and how two wordings differ, word by word. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from annotation.enums import _
from annotation.files.kernels.strictjson import Fault
from annotation.questionbank.kernels.fields import (
    LETTERS,
    FieldCheck,
    read_answer,
    read_explanation,
    read_level,
    read_options,
    read_task_name,
)
from annotation.questionbank.kernels.identifiers import spot_identifiers

_words = re.compile(r"\s+|[^\s]+")


class Wording(Struct, frozen=True, kw_only=True):
    """Everything of a question that a person may revise. ``options`` are four texts without letters, ``left_out`` the
    public ids of images of its exam that do not count.
    """

    stem: str
    options: tuple[str, ...]
    key: str
    explanation: str
    task: str
    category: str = ""
    subcategory: str = ""
    question_class: str = ""
    difficulty: str = ""
    left_out: frozenset[str] = frozenset()

    def texts(self) -> dict[str, str]:
        """Field by field as text, the options one by one, in the order of the editor."""
        options = {f"option_{letter.lower()}": text for letter, text in zip(LETTERS, self.options, strict=False)}
        groups = ("key", "explanation", "task", "category", "subcategory", "question_class", "difficulty")
        return {"stem": self.stem, **options, **{name: str(getattr(self, name)) for name in groups}}


IMAGES = "images"
LABELS = {
    IMAGES: _("Images that count"),
    "stem": _("Question"),
    **{f"option_{letter.lower()}": _("Option %(letter)s") % {"letter": letter} for letter in LETTERS},
    "key": _("Key"),
    "explanation": _("Explanation"),
    "task": _("Task"),
    "category": _("Category"),
    "subcategory": _("Subcategory"),
    "question_class": _("Class"),
    "difficulty": _("Difficulty"),
}
_FIELD_OF = {
    "question": "stem",
    "correct_answer": "key",
    "correct_answer_explanation": "explanation",
    "task_name": "task",
    "class": "question_class",
}


def check_wording(wording: Wording, before: Wording, shortest_explanation: int) -> list[Fault]:
    """What the rules of import refuse, and identifiers that the wording before did not have; by field of the editor."""
    check = FieldCheck(
        {
            "question": wording.stem,
            "options": list(wording.options),
            "correct_answer": wording.key,
            "correct_answer_explanation": wording.explanation,
            "task_name": wording.task,
            "category": wording.category,
            "subcategory": wording.subcategory,
            "class": wording.question_class,
            "difficulty": wording.difficulty,
        }
    )
    for name in ("question", "category", "subcategory", "class"):
        check.text(name)
    check.read("options", read_options)
    check.read("correct_answer", read_answer)
    if wording.explanation != before.explanation:
        check.read("correct_answer_explanation", read_explanation, shortest_explanation)
    check.read("task_name", read_task_name)
    check.read("difficulty", read_level)
    faults = [one._replace(field=_FIELD_OF.get(one.field, one.field)) for one in check.problems]
    return [*faults, *_new_identifiers(wording, before)]


def _new_identifiers(wording: Wording, before: Wording) -> Iterator[Fault]:
    known = {text[one.start : one.end] for text in before.texts().values() for one in spot_identifiers(text)}
    for name, text in wording.texts().items():
        for one in spot_identifiers(text):
            found = text[one.start : one.end]
            if found not in known:
                what = one.identifier.label
                yield Fault(name, "identifier", f"This looks like an identifier ({what}): {found!r}. Reword it.")


class PieceKind(StrEnum):
    SAME = "same"
    GONE = "gone"
    NEW = "new"


class Piece(NamedTuple):
    """A run of words that both texts have, or one of them."""

    kind: PieceKind
    text: str


class Change(Struct, frozen=True):
    """One field that differs."""

    field: str
    before: str
    after: str
    pieces: list[Piece]

    @property
    def label(self) -> str:
        return LABELS[self.field]


def changes(before: Wording, after: Wording) -> list[Change]:
    """The texts in which two wordings differ, in the order of the editor."""
    old, new = before.texts(), after.texts()
    differing = [name for name in old if old[name] != new[name]]
    return [Change(name, old[name], new[name], pieces(old[name], new[name])) for name in differing]


def pieces(before: str, after: str) -> list[Piece]:
    """What stays, goes and comes, word by word: what is not new gives ``before``, what is not gone gives ``after``."""
    old, new = _words.findall(before), _words.findall(after)
    found: list[Piece] = []
    for act, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if act == "equal":
            found.append(Piece(PieceKind.SAME, "".join(old[a:b])))
            continue
        gone, fresh = "".join(old[a:b]), "".join(new[c:d])
        found += [Piece(kind, text) for kind, text in ((PieceKind.GONE, gone), (PieceKind.NEW, fresh)) if text]
    return found
