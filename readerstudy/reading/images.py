"""Which images a reader may fetch: those frozen with the armed cases, and with the one that was answered last."""

from __future__ import annotations

from datetime import datetime

from annotation.models import Image
from annotation.site.kept_queries import KeptQuery
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment
from readerstudy.reading.kernels.visibility import Part, Standing, visible_parts
from readerstudy.reading.prefetched import is_armed_image, is_last_image
from readerstudy.reading.write_checks import ENROLMENTS, may_read, rules_of

_MINE: KeptQuery[Enrolment] = KeptQuery(
    lambda person, image: ENROLMENTS.filter(
        reader=person,
        study__state=StudyState.OPEN,
        orders__places__case__shown_images__image=image,
    ).distinct(),
    *(int, int),
)


def shows_images(person_id: int, image: Image, at: datetime) -> bool:
    """A rule of annotation.site.showings: whether some place that shows its images to this person shows this one."""
    return any(_shows(enrolment, image.pk, at) for enrolment in _MINE(person_id, image.pk))


def _shows(enrolment: Enrolment, image: int, at: datetime) -> bool:
    """The practice block is armed until it is done, the main block from then on."""
    reads = may_read(enrolment, at)
    block = Block.MAIN if enrolment.practised_at is not None else Block.PRACTICE
    if _is_part(Standing(may_read=reads, block=block, is_armed=True)) and is_armed_image(
        image, enrolment, block, rules_of(enrolment)
    ):
        return True
    last = Standing(may_read=reads, block=block, is_armed=False, is_last=True)
    return _is_part(last) and is_last_image(image, enrolment)


def _is_part(standing: Standing) -> bool:
    return Part.IMAGES in visible_parts(standing)
