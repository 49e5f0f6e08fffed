"""Which images of a study a person may fetch: its readers and its coordinators."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from annotation.models import Image
from annotation.site.kept_queries import KeptQuery
from readerstudy.enums import Block, StudyState
from readerstudy.models import Enrolment, ReaderStudy, StudyCase
from readerstudy.reading.kernels.visibility import CaseProgress, Part, visible_parts
from readerstudy.reading.prefetched import is_last_image, is_prefetched_image
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
    """A rule of annotation.site.hooks: whether some place that shows its images to this person shows this one."""
    return any(_shows(enrolment, image.pk, at) for enrolment in _MINE(person_id, image.pk))


def _shows(enrolment: Enrolment, image: int, at: datetime) -> bool:
    """The practice block is prefetched until it is done, the main block from then on."""
    reads = may_read(enrolment, at)
    block = Block.MAIN if enrolment.practised_at is not None else Block.PRACTICE
    if _is_part(CaseProgress(may_read=reads, block=block, is_prefetched=True)) and is_prefetched_image(
        image, enrolment, block, rules_of(enrolment)
    ):
        return True
    last = CaseProgress(may_read=reads, block=block, is_prefetched=False, is_last=True)
    return _is_part(last) and is_last_image(image, enrolment)


def _is_part(standing: CaseProgress) -> bool:
    return Part.IMAGES in visible_parts(standing)


def shows_to_coordinators(person_id: int, image: Image, _at: datetime) -> bool:
    """A rule of annotation.site.hooks: a coordinator of a study, who does not read in it, sees the exams of its
    cases with their priors, and what is frozen with them.
    """
    exam = image.exam_id
    of_exam = Q(revision__question__exam=exam) | Q(revision__question__exam__prior=exam)
    its = of_exam | Q(shown_images__image=image)
    mine = StudyCase.objects.filter(its, study__coordinators__user=person_id, study__deleted_at=None)
    return mine.exclude(study__enrolments__reader=person_id).exists()


def open_studies_with(image_id: int) -> list[str]:
    """A rule of annotation.site.hooks: the studies in which this image is being read."""
    studies = ReaderStudy.objects.filter(state=StudyState.OPEN, cases__shown_images__image=image_id)
    return list(studies.order_by("name").values_list("name", flat=True).distinct())
