"""A question as a prompt shows it, its options in one of four rotations, and back to the canonical letter. Pure."""

from __future__ import annotations

from collections.abc import Sequence

LETTERS = "ABCD"


def rotated(options: Sequence[str], rotation: int) -> list[str]:
    """So many options of the start are moved to the end."""
    return [*options[rotation:], *options[:rotation]]


def canonical(letter: str, rotation: int) -> str:
    """The letter in the bank of what a model calls ``letter``; empty stays empty."""
    return LETTERS[(LETTERS.index(letter) + rotation) % len(LETTERS)] if letter else ""


def question_values(stem: str, options: Sequence[str], rotation: int = 0) -> dict[str, str]:
    """The variables of a prompt that a question fills."""
    shown = dict(zip(LETTERS, rotated(options, rotation), strict=True))
    lines = "\n".join(f"{letter}. {option}" for letter, option in shown.items())
    return {"question": stem, "options": lines} | {f"option_{letter.lower()}": text for letter, text in shown.items()}
