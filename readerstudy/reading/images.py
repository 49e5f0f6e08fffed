"""Which images a reader may fetch: those of the armed cases, and of the one that was answered last."""

from __future__ import annotations

from annotation.kept_queries import KeptQuery
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment
from readerstudy.reading.armed import armed_exams, last_exam
from readerstudy.reading.holding import ENROLMENTS, is_prepared, rules_of
from readerstudy.reading.visibility import Part, Standing, visible_parts

_MINE: KeptQuery[Enrolment] = KeptQuery(
    lambda person, exam: ENROLMENTS.filter(
        reader=person,
        study__state=StudyState.OPEN,
        orders__places__case__revision__question__exam=exam,
    ).distinct(),
    *(int, int),
)


def shows_images(person_id: int, exam_id: int) -> bool:
    """A rule of annotation.showings: whether some place that shows its images to this person is of this exam."""
    return any(_shows(enrolment, exam_id) for enrolment in _MINE(person_id, exam_id))


def _shows(enrolment: Enrolment, exam_id: int) -> bool:
    takes_part = enrolment.withdrawn_at is None and enrolment.replaced_at is None and is_prepared(enrolment)
    for block in (Block.PRACTICE, Block.MAIN):
        if block == Block.MAIN and enrolment.practised_at is None:
            break
        standing = Standing(may_read=takes_part, block=block, is_armed=True)
        if Part.IMAGES in visible_parts(standing) and exam_id in armed_exams(enrolment, block, rules_of(enrolment)):
            return True
    standing = Standing(may_read=takes_part, block=Block.MAIN, is_armed=False, is_last=True)
    return Part.IMAGES in visible_parts(standing) and exam_id == last_exam(enrolment)
