"""What a reviewer may see of a case, and when. Pure, and the only place where this is decided.

The alignment of question and images cannot be judged after reading the report, and a key cannot be doubted honestly
after seeing it; so key, explanation, task and category follow the blind answer, the report follows its own key press,
and the stated difficulty follows the submission. Whoever builds a page loads only what ``visible_parts`` names.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from annotation.enums import RoundSteps


class CasePart(StrEnum):
    """A part of a case that can be shown or withheld."""

    IMAGES = "images"
    METADATA = "metadata"  # age, sex, views
    STEM = "stem"
    OPTIONS = "options"
    OWN_ANSWER = "own_answer"  # what this reviewer answered blind
    KEY = "key"
    EXPLANATION = "explanation"
    TASK = "task"
    CATEGORY = "category"
    REPORT = "report"
    STATED_DIFFICULTY = "stated_difficulty"


class Step(StrEnum):
    """What the reviewer does now."""

    BLIND = "blind"
    JUDGE = "judge"


class CaseProgress(Struct, frozen=True, kw_only=True):
    """How far this reviewer has come with this question; all of it read from stored rows."""

    steps: RoundSteps
    answered: bool  # the blind answer is stored
    report_opened: bool  # the moment is stored
    submitted: bool  # at least one version of the review is stored
    round_open: bool


BLIND_PARTS = frozenset({CasePart.IMAGES, CasePart.METADATA, CasePart.STEM, CasePart.OPTIONS})
JUDGE_PARTS = BLIND_PARTS | {CasePart.KEY, CasePart.EXPLANATION, CasePart.TASK, CasePart.CATEGORY}


def current_step(progress: CaseProgress) -> Step:
    """Step 1 until its answer is stored, unless the round asks for the judgement only."""
    if progress.steps == RoundSteps.OPEN or progress.answered:
        return Step.JUDGE
    return Step.BLIND


def visible_parts(progress: CaseProgress) -> frozenset[CasePart]:
    """The parts that this reviewer may see now.

    A stored submission or an opened report never shows more than the blind answer allows: without that answer, in a
    round that asks for it, the case stays at step 1 whatever else is stored. In an open round the report still opens
    on demand, because one flag of step 2 cannot be judged without it.
    """
    if current_step(progress) == Step.BLIND:
        return BLIND_PARTS
    parts = set(JUDGE_PARTS)
    if progress.answered:
        parts.add(CasePart.OWN_ANSWER)
    if progress.report_opened:
        parts.add(CasePart.REPORT)
    if progress.submitted:
        parts.add(CasePart.STATED_DIFFICULTY)
    return frozenset(parts)


class OthersPart(StrEnum):
    """What others did in a round."""

    REVIEWS = "reviews"  # of one question, without names
    NAMES = "names"
    OUTCOMES = "outcomes"  # of the round: counts, what is settled and why, files
    DECISIONS = "decisions"  # what each question came to be, to those who reviewed it


class Onlooker(Struct, frozen=True, kw_only=True):
    """Somebody who asks what others did in a round, or at one question of it."""

    coordinates: bool
    reviews: bool  # has questions in the round, or had them and submitted some
    adjudicates: bool
    is_closed: bool
    own_final: bool = False  # their own review of this question, as its adjudicator, is submitted
    shows_decisions: bool = False  # the round allows its reviewers to see what became of their questions


def visible_of_others(onlooker: Onlooker) -> frozenset[OthersPart]:
    """Nobody who judges sees the answers of others: reviewers until the round is closed, adjudicators of each question
    until their own review of it is final, and then without names.
    """
    judges = onlooker.reviews or onlooker.adjudicates
    if onlooker.coordinates and (onlooker.is_closed or not judges):
        return frozenset(OthersPart)
    if onlooker.adjudicates and onlooker.own_final:
        return frozenset({OthersPart.REVIEWS})
    if onlooker.reviews and onlooker.is_closed and onlooker.shows_decisions:
        return frozenset({OthersPart.DECISIONS})
    return frozenset()


class DiscussionPart(StrEnum):
    """What people wrote about a question beside its reviews, and what became of it."""

    COMMENTS = "comments"  # with their to-dos; whoever reads them may write one
    TAGS = "tags"
    NAMES = "names"  # of those who judged it, where they commented on it or are mentioned
    HISTORY = "history"  # its whole life, in whichever wording and round
    CHANGE = "change"  # tags, and to-dos of others


class QuestionOnlooker(Struct, frozen=True, kw_only=True):
    """Somebody who asks what was written about a question, in whichever wording."""

    coordinates: bool  # the site: its banks are theirs to look after
    judges: bool  # as reviewer or adjudicator, in a round that is not closed: unfinished, changeable or final
    has_judged: bool  # submitted a review of it, as either, in a round that is closed


def visible_of_discussion(onlooker: QuestionOnlooker) -> frozenset[DiscussionPart]:
    """Nobody who judges a question hears about it from others, until every round in which they judge it is closed.

    Then who has judged it reads and writes comments, and reads its tags, without the names of others who judged it.
    Only coordinators change tags and read the history, which names rounds, people and studies.
    """
    if onlooker.judges:
        return frozenset()
    if onlooker.coordinates:
        return frozenset(DiscussionPart)
    if onlooker.has_judged:
        return frozenset({DiscussionPart.COMMENTS, DiscussionPart.TAGS})
    return frozenset()
