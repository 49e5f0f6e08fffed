"""Copies of questions with one planted defect each, by which a validator is examined. Pure, seeded, stored nowhere.

Rule ``planted-1``: the same wording, seed and name give the same copy. A question may have a fault of its own beside
the planted one, so that an exam also asks an unchanged copy of each question.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from annotation.enums import Word

PLANTING_RULE = "planted-1"
LETTERS = "ABCD"


def _(text: str) -> str:
    """Mark a text for translation; pages translate it where it is shown."""
    return text


class Defect(Word):
    """What is planted."""

    NONE = "none", _("nothing: the question as it is")
    KEY_SWAPPED = "key_swapped", _("key swapped with another option")
    SECOND_TRUE = "second_true", _("second option made true")
    PRIOR_MENTIONED = "prior_mentioned", _("earlier exam mentioned")
    RECALL_ITEM = "recall_item", _("question of recall in its place")
    SIDE_SWAPPED = "side_swapped", _("side of the key swapped")


MEANT_FOR = {  # which validator should find it; the others are asked, too
    Defect.KEY_SWAPPED: ("c3",),
    Defect.SECOND_TRUE: ("c3",),
    Defect.PRIOR_MENTIONED: ("c3",),
    Defect.RECALL_ITEM: ("c1", "c2"),
    Defect.SIDE_SWAPPED: ("c3",),
}


@dataclass(frozen=True)
class PlantedQuestion:
    """A question as a validator sees it; ``key`` is a letter."""

    stem: str
    options: tuple[str, ...]
    key: str
    explanation: str

    @property
    def key_text(self) -> str:
        return self.options[LETTERS.index(self.key)]

    def with_option(self, letter: str, text: str) -> PlantedQuestion:
        place = LETTERS.index(letter)
        return replace(self, options=(*self.options[:place], text, *self.options[place + 1 :]))


_RECALL: Sequence[PlantedQuestion] = (
    PlantedQuestion(
        "How many lobes does the right lung usually have?", ("Three", "Two", "Four", "Five"), "A", "It has three lobes."
    ),
    PlantedQuestion(
        "Which vessel carries blood from the right ventricle to the lungs?",
        ("The aorta", "The pulmonary trunk", "A pulmonary vein", "The superior vena cava"),
        "B",
        "The pulmonary trunk leaves the right ventricle.",
    ),
    PlantedQuestion(
        "After whom are the short horizontal lines at the lung bases in interstitial oedema named?",
        ("Hampton", "Westermark", "Kerley", "Fleischner"),
        "C",
        "Peter Kerley described them.",
    ),
    PlantedQuestion(
        "Who took the first radiograph of a human hand?",
        ("Marie Curie", "Henri Becquerel", "Thomas Edison", "Wilhelm Conrad Röntgen"),
        "D",
        "Röntgen did so in 1895.",
    ),
)
_OTHER_SIDE = {"left": "right", "right": "left"}
_side = re.compile(r"\b(left|right)\b", re.IGNORECASE)


def planted(defect: str, question: PlantedQuestion, *, seed: int, name: str) -> PlantedQuestion | None:
    """A copy with this defect; None where the question cannot have it: a key without a side has none to swap."""
    draw = random.Random(f"{PLANTING_RULE} {seed} {defect} {name}")  # noqa: S311 - a draw that can be repeated
    return _PLANTERS[Defect(defect)](question, draw)


def _as_it_is(question: PlantedQuestion, _draw: random.Random) -> PlantedQuestion:
    return question


def _swap_key(question: PlantedQuestion, draw: random.Random) -> PlantedQuestion:
    """Another letter is called the key; the explanation still speaks of the right one."""
    return replace(question, key=_other_letter(question, draw))


def _make_second_true(question: PlantedQuestion, draw: random.Random) -> PlantedQuestion:
    """A distractor says what the key says, in other words."""
    words = question.key_text.rstrip(".")
    return question.with_option(_other_letter(question, draw), f"Findings in keeping with: {_lowered(words)}")


def _mention_prior(question: PlantedQuestion, _draw: random.Random) -> PlantedQuestion:
    return replace(question, stem=f"Compared with the previous radiographs, {_lowered(question.stem)}")


def _ask_recall(_question: PlantedQuestion, draw: random.Random) -> PlantedQuestion:
    return draw.choice(_RECALL)


def _swap_side(question: PlantedQuestion, _draw: random.Random) -> PlantedQuestion | None:
    """In key and explanation; None where the key names no side, both, or what another option says then."""
    turned = _turned(question.key_text)
    named = {side.lower() for side in _side.findall(question.key_text)}
    others = {option.casefold() for option in question.options}
    if len(named) != 1 or turned.casefold() in others:
        return None
    return replace(question.with_option(question.key, turned), explanation=_turned(question.explanation))


_PLANTERS: dict[Defect, Callable[[PlantedQuestion, random.Random], PlantedQuestion | None]] = {
    Defect.NONE: _as_it_is,
    Defect.KEY_SWAPPED: _swap_key,
    Defect.SECOND_TRUE: _make_second_true,
    Defect.PRIOR_MENTIONED: _mention_prior,
    Defect.RECALL_ITEM: _ask_recall,
    Defect.SIDE_SWAPPED: _swap_side,
}


def _other_letter(question: PlantedQuestion, draw: random.Random) -> str:
    return draw.choice([letter for letter in LETTERS if letter != question.key])


def _lowered(text: str) -> str:
    """With a small first letter, unless the word is written in capitals."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _turned(text: str) -> str:
    def other(found: re.Match[str]) -> str:
        side = _OTHER_SIDE[found[0].lower()]
        return side.capitalize() if found[0][0].isupper() else side

    return _side.sub(other, text)
