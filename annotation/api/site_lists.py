"""Who asks, what runs and what was done; and rows of the tables that are exported as files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Day, Moment, PersonName, WordChoice
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.enums import JobState, Role
from annotation.jobs.queueing import JOBS_SORTED_BY, facts_of_result, jobs_of, refusals_of
from annotation.models import AccessToken, AuditEvent, Job
from annotation.models.people import TokenScope
from annotation.people import event_log
from annotation.people.event_log import Wanted
from annotation.site.permissions import site_roles
from annotation.tables.writing import Column, Kind


class TokenShape(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    role = WordChoice(Role)
    scope = WordChoice(TokenScope)
    place = serializers.CharField(
        source="place_name", help_text="name of the bank, round, study or team; empty: the site"
    )
    networks = serializers.ListField(child=serializers.CharField())
    expires_at = Moment()


class MeShape(Shown):
    email = serializers.EmailField()
    name = serializers.CharField()
    roles = serializers.ListField(
        child=WordChoice(Role), help_text="that count for this request: with a token the one that it carries"
    )
    token = TokenShape(allow_null=True, help_text="null: a session")


class Me(Resource):
    """The person and the token of this request."""

    shape = MeShape
    summary = "Who asks"

    def get(self, request: Request, **named: Any) -> Response:
        person = self.person
        token = AccessToken.objects.get(public_id=request.auth) if request.auth else None
        roles = [person.limits.role] if person.limits else sorted(site_roles(person))
        facts = {"email": person.email, "name": person.name, "roles": roles, "token": token}
        return Response(self.shown(facts, self.only()))


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
    sorted_by = JOBS_SORTED_BY
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


CONTENT_TYPE = "application/jsonl"
MOST_EVENTS = 999_999_999


class EventShape(Shown):
    """See docs/audit.md."""

    id = serializers.IntegerField()
    at = Moment(allow_null=True)
    actor = serializers.IntegerField(source="actor_id", allow_null=True, help_text="number of an account")
    act = serializers.CharField()
    subject_type = serializers.CharField()
    subject_id = serializers.CharField()
    facts = serializers.DictField()
    previous_sha256 = serializers.CharField()
    sha256 = serializers.CharField()


class AuditFilters(django_filters.FilterSet):
    """Those of the page. ``thing``: its name, address or id."""

    person = django_filters.CharFilter()
    kind = django_filters.CharFilter()
    thing = django_filters.CharFilter()
    act = django_filters.CharFilter()
    since = django_filters.IsoDateTimeFilter()
    until = django_filters.IsoDateTimeFilter()

    def filter_queryset(self, queryset: QuerySet[AuditEvent]) -> QuerySet[AuditEvent]:
        given = {name: value for name, value in self.form.cleaned_data.items() if value}
        return event_log.matching(queryset, Wanted(**given))


class Events(ListOf[AuditEvent]):
    """Events of the audit log, the newest first. For administrators with a token of the site; to one who reads or
    reviews blind at the moment the log is closed.
    """

    roles = (Role.ADMINISTRATOR,)
    shape = EventShape
    filters = AuditFilters
    summary = "List events of the audit log"

    def rows(self) -> QuerySet[AuditEvent]:
        event_log.check_sees_all(self.person)
        return event_log.visible_events(self.person, all_of_them=True)


class HeadShape(Shown):
    head = serializers.CharField(
        help_text="SHA-256 of the newest event: keep it elsewhere, and give it to verify_audit"
    )


class HeadOfLog(Resource):
    """The hash of the newest event."""

    roles = (Role.ADMINISTRATOR,)
    shape = HeadShape
    summary = "Read the head of the audit log"
    http_method_names = ["get", "head"]

    def get(self, request: Request, **named: Any) -> Response:
        event_log.check_sees_all(self.person)
        return Response(self.shown({"head": event_log.head()}, self.only()))


class ExportLog(Resource):
    """The log as JSON Lines, the oldest event first, as from the button of the page: all events, or those after the one
    with the number ``after``. Taking it is noted: the last line is the event of this export.
    """

    roles = (Role.ADMINISTRATOR,)
    asked = ("after",)
    content_types = (CONTENT_TYPE,)
    summary = "Take the audit log as a file"
    http_method_names = ["get"]

    def get(self, request: Request, **named: Any) -> StreamingHttpResponse:
        after = self.number("after", 0, MOST_EVENTS, least=0)
        response = StreamingHttpResponse(event_log.export_log(after=after, **self.by()), content_type=CONTENT_TYPE)
        response["Cache-Control"] = "private, no-store"
        return response


_FIELDS: dict[Kind, Callable[[str], serializers.Field[Any, Any, Any, Any]]] = {
    Kind.TEXT: lambda meaning: serializers.CharField(help_text=meaning),
    Kind.WHOLE: lambda meaning: serializers.IntegerField(allow_null=True, help_text=meaning),
    Kind.REAL: lambda meaning: serializers.FloatField(allow_null=True, help_text=meaning),
    Kind.YES_NO: lambda meaning: serializers.BooleanField(allow_null=True, help_text=meaning),
    Kind.TIME: lambda meaning: Moment(allow_null=True, help_text=meaning),
    Kind.DAY: lambda meaning: Day(allow_null=True, help_text=meaning),
}


def shape_of(name: str, columns: Sequence[Column]) -> type[Shown]:
    """A row of a table, with the meaning of each column from its codebook."""
    return type(name, (Shown,), {column.name: _FIELDS[column.kind](column.meaning) for column in columns})
