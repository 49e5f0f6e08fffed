"""Readers of a study: who takes part and how far they are, who leaves, and what coordinators do for single ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from readerstudy.api.study_list import OfStudy
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.reader_status import statuses_of
from readerstudy.models import Enrolment


class ReaderShape(Shown):
    id = serializers.CharField(source="enrolment.public_id")
    pseudonym = serializers.CharField(source="enrolment.pseudonym", help_text="in every table of the study")
    name = PersonName(source="enrolment.reader", help_text="null: the readings were made elsewhere")
    case_set = serializers.IntegerField(source="enrolment.case_set.number")
    step = WordChoice(Step, help_text="what comes next for the reader")
    n_cases = serializers.IntegerField(source="n", help_text="of the main block")
    n_done = serializers.IntegerField()
    enrolled_at = Moment(source="enrolment.enrolled_at")
    consented_at = Moment(source="enrolment.consented_at", allow_null=True, help_text="null: not asked, or not yet")
    deadline_at = Moment(source="enrolment.deadline_at", allow_null=True, help_text="null: that of the study")
    finished_at = Moment(source="enrolment.finished_at", allow_null=True)
    withdrawn_at = Moment(source="enrolment.withdrawn_at", allow_null=True)
    replaced_at = Moment(source="enrolment.replaced_at", allow_null=True)


class StudyReaders(OfStudy, ListOf[Enrolment]):
    """Readers in the order in which they came, with their progress; never an answer."""

    is_overseen = True
    shape = ReaderShape
    newest_first = False
    summary = "List readers of a study"

    def rows(self) -> QuerySet[Enrolment]:
        return self.study.enrolments.select_related("study", "reader", "case_set")

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed(statuses_of(list(rows), timezone.now()), cursor, only)


class OneReader(OfStudy, OneOf[Enrolment]):
    """One reader of a study."""

    is_overseen = True
    shape = ReaderShape
    summary = "Read one reader of a study"
    locks = ("study",)

    def rows(self) -> QuerySet[Enrolment]:
        return self.study.enrolments.select_related("study", "reader", "case_set")

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        [status] = statuses_of([row], timezone.now())
        return super().shown(status, only)
