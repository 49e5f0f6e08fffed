"""Moving questions through their life, by the table in kernels/states.py."""

from __future__ import annotations

from collections.abc import Iterable

from annotation.enums import QuestionState
from annotation.models import Question, Revision
from annotation.questionbank.kernels.states import states_before

AT_ONCE = 500  # ids in one statement


def move_questions(revision_ids: Iterable[int], to: QuestionState) -> None:
    """The questions of which these are the current wordings, as far as the table lets them; the others stay.

    What was judged in an older wording says nothing about the question as it is now.
    """
    listed = sorted(revision_ids)
    for start in range(0, len(listed), AT_ONCE):
        current = Revision.objects.current().filter(pk__in=listed[start : start + AT_ONCE])
        ids = list(current.order_by().values_list("question", flat=True))
        Question.objects.filter(pk__in=ids, state__in=states_before(to)).update(state=to)
