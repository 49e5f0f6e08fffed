"""Which images a reader may fetch: those of the armed cases, and of the one that was answered last."""

from __future__ import annotations

from datetime import datetime

from annotation.kept_queries import KeptQuery
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment
from readerstudy.reading.armed import armed_exams, last_exam
from readerstudy.reading.holding import ENROLMENTS, may_read, rules_of
from readerstudy.reading.visibility import Part, Standing, visible_parts

_MINE: KeptQuery[Enrolment] = KeptQuery(
    lambda person, exam: ENROLMENTS.filter(
        reader=person,
        study__state=StudyState.OPEN,
        orders__places__case__revision__question__exam=exam,
    ).distinct(),
    *(int, int),
)


def shows_images(person_id: int, exam_id: int, at: datetime) -> bool:
    """A rule of annotation.showings: whether some place that shows its images to this person is of this exam."""
    return any(_shows(enrolment, exam_id, at) for enrolment in _MINE(person_id, exam_id))


def _shows(enrolment: Enrolment, exam_id: int, at: datetime) -> bool:
    """The practice block is armed until it is done, the main block from then on."""
    reads = may_read(enrolment, at)
    block = Block.MAIN if enrolment.practised_at is not None else Block.PRACTICE
    if _is_part(Standing(may_read=reads, block=block, is_armed=True)) and exam_id in armed_exams(
        enrolment, block, rules_of(enrolment)
    ):
        return True
    last = Standing(may_read=reads, block=block, is_armed=False, is_last=True)
    return _is_part(last) and exam_id == last_exam(enrolment)


def _is_part(standing: Standing) -> bool:
    return Part.IMAGES in visible_parts(standing)
