"""The audit log for programs that watch over the site, such as a SIEM: events by page, its head, the log as a file."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.resources import ListOf, Resource, Shown
from annotation.api.shown_fields import Moment
from annotation.enums import Role
from annotation.models import AuditEvent
from annotation.people import event_log
from annotation.people.event_log import Wanted

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
