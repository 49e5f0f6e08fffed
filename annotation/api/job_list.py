"""Long work: how far it is, what came of it, stopping it and trying it again."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers

from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import JobState
from annotation.jobs.access import facts_of_result, jobs_of, refusals_of
from annotation.models import Job
from annotation.views.site.jobs import SORTED_BY


class JobLine(Shown):
    id = serializers.CharField(source="public_id")
    kind = serializers.CharField()
    title = serializers.CharField()
    state = WordChoice(JobState)
    done = serializers.IntegerField(source="progress_done")
    total = serializers.IntegerField(source="progress_total", help_text="0: not known yet")
    message = serializers.CharField()
    created_by = PersonName()
    created_at = Moment()
    started_at = Moment(allow_null=True)
    finished_at = Moment(allow_null=True)


class JobShape(JobLine):
    error = serializers.CharField()
    result = serializers.SerializerMethodField(help_text="counts and names, as the page of the job shows them")
    refusals = serializers.SerializerMethodField(help_text="files or records that were not taken, with the reason")

    def get_result(self, job: Job) -> dict[str, Any]:
        return facts_of_result(job)

    def get_refusals(self, job: Job) -> list[Any]:
        return refusals_of(job)


class JobFilters(django_filters.FilterSet):
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in JobState])
    kind = django_filters.CharFilter()
    created_after = django_filters.IsoDateTimeFilter(field_name="created_at", lookup_expr="gt")


class Jobs(ListOf[Job]):
    """Jobs: all for coordinators and administrators, for others their own. A token of one place reaches none: what it
    starts has an address of its own to ask at.
    """

    shape = JobLine
    sorted_by = SORTED_BY
    filters = JobFilters
    summary = "List jobs"

    def rows(self) -> QuerySet[Job]:
        return jobs_of(self.person).defer("params", "result")


class OneJob(OneOf[Job]):
    """One job with its result."""

    shape = JobShape
    summary = "Read one job"

    def rows(self) -> QuerySet[Job]:
        return jobs_of(self.person)
