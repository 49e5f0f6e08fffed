"""The images of a study for the people who coordinate that study and not the whole site."""

from __future__ import annotations

from datetime import datetime

from readerstudy.models import StudyCase


def shows_to_coordinators(person_id: int, exam_id: int, _at: datetime) -> bool:
    """A rule of annotation.showings: a coordinator of a study, who does not read in it, sees the exams of its cases."""
    mine = StudyCase.objects.filter(study__coordinators__user=person_id, revision__question__exam=exam_id)
    return mine.exclude(study__enrolments__reader=person_id).exists()
