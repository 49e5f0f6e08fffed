"""Tables of a study: as the files of its page, and answers and events of the clock page by page; voided cases; readings
that were made elsewhere.

Answers and events are read once results may be seen and somebody has looked at them: the first look unblinds a study,
and is a POST, as on the pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import FileResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, PersonName, SentBody, cleaned, rows_refused
from annotation.api.resources import ListOf, OnlyPost, Row, Shown
from annotation.api.site_lists import shape_of
from annotation.enums import EventKind
from annotation.people.kept_answers import MadeAnswer
from annotation.tables.writing import CONTENT_TYPES
from readerstudy.acts.files import table_file
from readerstudy.acts.studies import check_seen
from readerstudy.api.study_list import OfStudy
from readerstudy.design.voiding import main_case, void_case
from readerstudy.enums import Block
from readerstudy.exports.columns import response_columns
from readerstudy.exports.exporting import (
    EVENT_COLUMNS,
    HIDDEN_BEFORE_RESULTS,
    StudyTable,
    event_rows,
    note_answers_read,
)
from readerstudy.exports.responses import READ_WITH, rows_of_readings
from readerstudy.forms.studies import ReadingsForm
from readerstudy.models import Reading, TimingEvent, Voiding
from readerstudy.predictions.looks import may_see_results
from readerstudy.reading.response_import import import_responses


class ExportStudyTable(OfStudy):
    """One table as CSV, JSON Lines or Parquet, byte by byte as from the button of the page. ``source_ids`` adds the ids
    of the imported file once the study is closed. Responses and events are a POST until a result was seen: that
    unblinds the study, and whoever takes responses has seen its keys.
    """

    asked = ("source_ids",)
    content_types = tuple(kind.partition(";")[0] for kind in CONTENT_TYPES.values())
    summary = "Read a table of a study as a file"
    post_summary = "Take a table of a study as a file"

    def get(self, request: Request, **named: Any) -> FileResponse:
        if named["table"] in HIDDEN_BEFORE_RESULTS and may_see_results(self.study):
            check_seen(self.study)
        return self.post(request, **named)

    def post(self, request: Request, **named: Any) -> FileResponse:
        source_ids = "source_ids" in request.query_params
        response = table_file(self.study, named["table"], named["form"], self.by(), source_ids=source_ids)
        response["Cache-Control"] = "private, no-store"
        return response


class _AnswerList(OfStudy, ListOf[Row]):
    """Every page that is read is noted in the audit log."""

    table: ClassVar[StudyTable]
    newest_first = False

    def rows(self) -> QuerySet[Row]:
        check_seen(self.study)
        return self.of_study()

    def of_study(self) -> QuerySet[Row]:
        raise NotImplementedError

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        note_answers_read(self.study, self.table, len(rows), **self.by())
        names = self.shape().fields
        found = [dict(zip(names, row, strict=True)) for row in self.cells(rows)]
        return super().listed(found, cursor, only)

    def cells(self, rows: Sequence[Any]) -> Any:
        raise NotImplementedError


class ResponseFilters(django_filters.FilterSet):
    reader = django_filters.CharFilter(field_name="enrolment__pseudonym")
    block = django_filters.ChoiceFilter(field_name="case__block", choices=[(word.value, word.label) for word in Block])


class StudyResponses(_AnswerList[Reading]):
    """What readers answered: a row for each case that was opened, with the columns of the table of responses. Key and
    correctness, and cases that nobody opened, stand in the table alone.
    """

    table = StudyTable.RESPONSES
    shape = shape_of("ResponseShape", response_columns(with_key=False))
    filters = ResponseFilters
    summary = "List responses of a study"

    def of_study(self) -> QuerySet[Reading]:
        return Reading.objects.filter(enrolment__study=self.study).select_related(*READ_WITH)

    def cells(self, rows: Sequence[Reading]) -> Any:
        return rows_of_readings(rows)


class EventFilters(django_filters.FilterSet):
    reader = django_filters.CharFilter(field_name="reading__enrolment__pseudonym")
    kind = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in EventKind])


class StudyEvents(_AnswerList[TimingEvent]):
    """Events of the clock as the server took them in, with the columns of their table."""

    table = StudyTable.EVENTS
    shape = shape_of("TimingEventShape", EVENT_COLUMNS)
    filters = EventFilters
    summary = "List timing events of a study"

    def of_study(self) -> QuerySet[TimingEvent]:
        return TimingEvent.objects.filter(reading__enrolment__study=self.study)

    def cells(self, rows: Sequence[TimingEvent]) -> Any:
        some = TimingEvent.objects.filter(pk__in=[row.pk for row in rows]).order_by("pk")
        return event_rows(self.study, some)


class VoidingShape(Shown):
    case = serializers.IntegerField(source="case.number", help_text="number of the case in the study")
    question = serializers.IntegerField(source="case.revision.question.number")
    reason = serializers.CharField()
    before_unblinding = serializers.BooleanField(help_text="false: it counts in a labelled sensitivity analysis alone")
    declared = serializers.BooleanField(help_text="decided in an older study")
    source = serializers.CharField(help_text="file that it was imported with")  # type: ignore[assignment]
    declared_by = PersonName(source="actor")
    at = Moment()


class VoidingSent(SentBody):
    case = serializers.IntegerField(min_value=1, max_value=2**31 - 1, help_text="number of a case of the main block")
    reason = serializers.CharField(max_length=1000)


class Voidings(OfStudy, ListOf[Voiding]):
    """Cases that are left out, with their reasons. A POST leaves one out; that is never taken back."""

    shape, body = VoidingShape, VoidingSent
    makes, status = True, 201
    summary, post_summary = "List voided cases of a study", "Leave a case out of a study"

    def rows(self) -> QuerySet[Voiding]:
        return Voiding.objects.filter(case__study=self.study).select_related("case__revision__question", "actor")

    def post(self, request: Request, **named: Any) -> Response:
        study, sent = self.study, self.sent(VoidingSent)

        def leave_out() -> MadeAnswer:
            voiding = void_case(main_case(study, sent["case"]), sent["reason"], **self.by())
            return MadeAnswer(201, self.shown(voiding))

        return self.once(leave_out)


class ReadingsSent(SentBody):
    file = serializers.FileField(allow_empty_file=True, help_text="CSV: one row for each reader and case")
    dry_run = serializers.BooleanField(default=False, help_text="check it and store nothing")


class TakenReadings(Shown):
    read = serializers.IntegerField(help_text="rows")
    created = serializers.IntegerField()
    unchanged = serializers.IntegerField(help_text="rows that are stored already")
    readers = serializers.ListField(child=serializers.CharField(), help_text="that the file brings")
    stored = serializers.BooleanField(help_text="false: it was a dry run")


class ImportReadings(OnlyPost, OfStudy):
    """Readings that were made elsewhere, into a frozen study: all rows of the file or none. Its readers need no
    account; cases that were voided in the original study are declared on its page.
    """

    parser_classes = [MultiPartParser]
    shape, body = TakenReadings, ReadingsSent
    makes, status = True, 201
    summary = "Import readings that were made elsewhere"

    def post(self, request: Request, **named: Any) -> Response:
        study, sent = self.study, self.sent(ReadingsSent)
        file = cleaned(ReadingsForm({}, {"file": sent["file"]}))["file"]

        def take() -> MadeAnswer:
            taken = import_responses(study, name=file.name, content=file.read(), dry_run=sent["dry_run"], **self.by())
            if taken.is_refused:
                raise rows_refused(taken.problems)
            return MadeAnswer(201, self.shown(taken))

        return self.once(take)
