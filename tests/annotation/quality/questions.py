"""Questions for the tests of the checks: a sound one, with changes."""

from __future__ import annotations

from typing import Any

from annotation.quality.kernels.question_checks import check
from annotation.quality.kernels.rules import CheckedQuestion, Flaw

SOUND: dict[str, Any] = {
    "stem": "Which abnormality is seen on these chest radiographs?",
    "options": ("Left pleural effusion", "Pneumothorax on the right", "Cardiomegaly", "Rib fracture"),
    "key": 0,
    "explanation": "The left costophrenic angle is blunted on both views.",
    "report": "There is blunting of the left costophrenic angle. The heart is of usual size.",
}


def sound(**changes: Any) -> CheckedQuestion:
    return CheckedQuestion(**{**SOUND, **changes})


def flaws_of(rule: str, **changes: Any) -> list[Flaw]:
    """What one rule finds in the sound question with these changes."""
    return [one for one in check(sound(**changes)) if one.rule == rule]


def places_of(rule: str, **changes: Any) -> list[str]:
    return [one.place.value for one in flaws_of(rule, **changes)]
