"""Reports that the identifier check holds back from a model, as a coordinator may read them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from annotation.contributions import reads_in_bank
from annotation.enums import KeySource
from annotation.generation.report_sources import FoundReport
from annotation.models import Question, QuestionBank, User
from annotation.questionbank.answers import note_seen_keys
from annotation.questionbank.priors import questions_showing
from annotation.review.onlookers import withheld_questions

MOST_SHOWN = 50


def held_shown_to(person: User, bank: QuestionBank, held: Sequence[FoundReport], *, at: datetime) -> list[FoundReport]:
    """The first of them, without those on whose images the person judges or reads a question.

    A report gives answers away: whoever is shown one has seen the keys of the questions on its exam.
    """
    if reads_in_bank(person.pk, bank.pk):
        return []
    showing = questions_showing({one.exam_id for one in held if one.exam_id is not None})
    every = {question for questions in showing.values() for question in questions}
    withheld = set(withheld_questions(person).filter(pk__in=every).values_list("pk", flat=True))
    shown = [one for one in held if not withheld & showing.get(one.exam_id or 0, set())][:MOST_SHOWN]
    seen = {question for one in shown for question in showing.get(one.exam_id or 0, set())}
    note_seen_keys(person, Question.objects.filter(pk__in=seen), source=KeySource.REPORTS, subject=bank, at=at)
    return shown
