"""What a reader may see of a place of their order, and when. Pure, and the only place where this is decided.

Key, explanation, report, task, category, difficulty, model answers and other readers' answers are not among the
parts: nothing that a reader gets is made of them. There are two exceptions: the feedback of a practice case after its
final answer, and of the report the indication, where the arm shows it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from readerstudy.enums import Block, Information


class Part(StrEnum):
    """A part of a case that can be sent to its reader."""

    STEM = "stem"
    OPTIONS = "options"
    IMAGES = "images"
    AGE_SEX = "age_sex"
    INDICATION = "indication"
    OWN_CHOICE = "own_choice"  # saved, not confirmed
    OWN_ANSWER = "own_answer"  # stored and final
    FEEDBACK = "feedback"  # key and explanation of a practice case


@dataclass(frozen=True, kw_only=True)
class CaseProgress:
    """How far this reader has come with this place; all of it read from stored rows."""

    may_read: bool  # the study is open, the reader takes part, the deadline has not passed, the steps before are done
    block: str
    information: str = Information.NONE  # of the arm
    is_prefetched: bool  # the current place, or one of the next that the rules let a page hold
    awaits_opening: bool = False  # it has a time limit, and nobody has opened it
    is_last: bool = False  # the one that was closed last
    answered: bool = False  # the final answer is stored
    may_slip: bool = False  # another option can be reported as the one that was meant
    guesses: bool = False  # the final answer is "cannot tell", and the best guess is still asked


QUESTION = frozenset({Part.STEM, Part.OPTIONS, Part.IMAGES, Part.OWN_CHOICE})


def visible_parts(progress: CaseProgress) -> frozenset[Part]:
    """The parts that this reader may see now; none of a place that is neither prefetched nor the last one.

    With a time limit the text of a case comes with its opening, so that the server knows when it can first be read.
    Of the last one its images stay (its last frame is still on screen), with the reader's own answer, and its options
    where a slip can be reported. While a best guess is asked its question stays too. A practice case that has its
    final answer also shows whether it was right, and why.
    """
    if not progress.may_read:
        return frozenset()
    if progress.is_prefetched and not progress.answered:
        if progress.awaits_opening:
            return frozenset({Part.IMAGES})
        return QUESTION | _information(progress.information)
    if not progress.is_last:
        return frozenset()
    parts = {Part.IMAGES}
    if progress.answered:
        parts.add(Part.OWN_ANSWER)
        if progress.may_slip or progress.guesses:
            parts.add(Part.OPTIONS)
        if progress.guesses:
            parts.add(Part.STEM)
        if progress.block == Block.PRACTICE:
            parts.add(Part.FEEDBACK)
    return frozenset(parts)


def _information(information: str) -> frozenset[Part]:
    if information == Information.INDICATION:
        return frozenset({Part.AGE_SEX, Part.INDICATION})
    return frozenset({Part.AGE_SEX}) if information == Information.AGE_SEX else frozenset()
