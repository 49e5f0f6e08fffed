"""The images of a study: for the people who coordinate that study and not the whole site, and while it is read."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Q

from annotation.models import Image
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, StudyCase


def shows_to_coordinators(person_id: int, image: Image, _at: datetime) -> bool:
    """A rule of annotation.site.showings: a coordinator of a study, who does not read in it, sees the exams of its
    cases with their priors, and what is frozen with them.
    """
    exam = image.exam_id
    of_exam = Q(revision__question__exam=exam) | Q(revision__question__exam__prior=exam)
    its = of_exam | Q(shown_images__image=image)
    mine = StudyCase.objects.filter(its, study__coordinators__user=person_id, study__deleted_at=None)
    return mine.exclude(study__enrolments__reader=person_id).exists()


def open_studies_with(image_id: int) -> list[str]:
    """A rule of annotation.site.showings: the studies in which this image is being read."""
    studies = ReaderStudy.objects.filter(state=StudyState.OPEN, cases__shown_images__image=image_id)
    return list(studies.order_by("name").values_list("name", flat=True).distinct())
