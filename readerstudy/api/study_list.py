"""Studies: listed, made, read, changed, and what is done with one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.cache import get_conditional_response
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts import Act
from annotation.api.acting import ActedOn
from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Row, Shown
from annotation.enums import Role
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.studies import STUDIES_SORTED_BY, coordinated_study, listed_studies, overseen_study
from readerstudy.design.creating import copy_study, create_study, plan_of
from readerstudy.design.kernels.plan import plan_document, read_plan
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import lines_of


class StudyShape(Shown):
    id = serializers.SlugField(source="study.slug")
    name = serializers.CharField(source="study.name")
    bank = serializers.SlugField(source="study.bank.slug")
    state = WordChoice(StudyState, source="study.state")
    seed = serializers.IntegerField(source="study.seed")
    simulated = serializers.BooleanField(source="study.simulated")
    n_cases = serializers.IntegerField(help_text="of the main block")
    n_practice = serializers.IntegerField()
    n_readers_planned = serializers.IntegerField(source="study.n_readers")
    n_readers = serializers.IntegerField(help_text="who take part now")
    n_done = serializers.IntegerField(help_text="cases of the main block that these have answered")
    n_total = serializers.IntegerField(help_text="cases of the main block that they have to answer")
    deadline_at = Moment(source="study.deadline_at", allow_null=True)
    protocol_sha256 = serializers.CharField(source="study.protocol_sha256", help_text="empty: a draft")
    created_by = PersonName(source="study.created_by")
    created_at = Moment(source="study.created_at")
    frozen_at = Moment(source="study.frozen_at", allow_null=True)
    opened_at = Moment(source="study.opened_at", allow_null=True)
    closed_at = Moment(source="study.closed_at", allow_null=True)
    unblinded_at = Moment(source="study.unblinded_at", allow_null=True, help_text="when a result was first seen")
    archived_at = Moment(source="study.archived_at", allow_null=True)


class PlanSent(SentBody):
    """A plan of a study; docs/reader-studies.md says what each value means. What is not sent keeps its default."""

    format = serializers.CharField(required=False)
    name = serializers.CharField()
    bank = serializers.CharField(help_text="the address of the bank")
    seed = serializers.IntegerField(required=False)
    cases = serializers.ListField(required=False, help_text="numbers of questions, or objects with their facts")
    practice = serializers.ListField(required=False, help_text="as the cases")
    draw = serializers.DictField(required=False, help_text="how the cases are drawn, where none are listed")
    sets = serializers.ListField(child=serializers.DictField(), required=False)
    arms = serializers.ListField(child=serializers.DictField(), required=False)
    rules = serializers.DictField(required=False)
    analysis = serializers.DictField(required=False)
    n_readers = serializers.IntegerField(required=False)
    n_orders = serializers.IntegerField(required=False)
    instructions = serializers.CharField(required=False, allow_blank=True)
    consent = serializers.CharField(required=False, allow_blank=True)
    consent_version = serializers.IntegerField(required=False)
    contact = serializers.CharField(required=False, allow_blank=True)
    deadline_at = serializers.CharField(required=False, allow_null=True)
    time_zone = serializers.CharField(required=False)
    simulated = serializers.BooleanField(required=False, allow_null=True)

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """As it came: the reader of plans says more exactly what is wrong with it, and where."""
        if not isinstance(data, Mapping):
            raise BodyRefused("invalid", "A plan is a JSON object.", status=422)
        return dict(data)


class PlanShape(Shown):
    """The plan of a study: sent to the list of studies, with another name, it makes the same study again."""

    format = serializers.CharField()
    name = serializers.CharField()
    bank = serializers.CharField()
    seed = serializers.IntegerField()
    cases = serializers.ListField(child=serializers.DictField())
    practice = serializers.ListField(child=serializers.DictField())
    draw = serializers.DictField()
    sets = serializers.ListField(child=serializers.DictField())
    arms = serializers.ListField(child=serializers.DictField())
    rules = serializers.DictField()
    analysis = serializers.DictField()
    n_readers = serializers.IntegerField()
    n_orders = serializers.IntegerField()
    instructions = serializers.CharField()
    consent = serializers.CharField()
    consent_version = serializers.IntegerField()
    contact = serializers.CharField()
    deadline_at = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField()
    simulated = serializers.BooleanField(allow_null=True)


class StudyFilters(django_filters.FilterSet):
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in StudyState])
    bank = django_filters.CharFilter(field_name="bank__slug")
    name = django_filters.CharFilter(lookup_expr="holds")
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)


class Studies(ListOf[ReaderStudy]):
    """Reader studies that the person coordinates or, as an administrator, looks on. A POST makes a draft of a plan, as
    ``manage.py create_study`` does: of listed cases, or of cases that are drawn with the seed.
    """

    writers = (Role.COORDINATOR,)
    reach = {"bank": "bank", "study": "pk"}
    shape, body = StudyShape, PlanSent
    sorted_by = STUDIES_SORTED_BY
    filters = StudyFilters
    makes, status = True, 201
    summary, post_summary = "List studies", "Make a study of a plan"

    def rows(self) -> QuerySet[ReaderStudy]:
        return listed_studies(self.person).select_related("created_by")

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        return super().listed(lines_of(rows), cursor, only)

    def post(self, request: Request, **named: Any) -> Response:
        plan = read_plan(self.sent(PlanSent))
        bank_named(self.person, plan.bank)

        def make() -> MadeAnswer:
            [line] = lines_of([create_study(plan, **self.by())])
            return self.made(line, "api-study", line.study.slug)

        return self.once(make)


class OneStudy(OneOf[ReaderStudy]):
    """One study, and how far its readers are."""

    shape = StudyShape
    summary = "Read one study"

    def one(self) -> ReaderStudy:
        return overseen_study(self.person, self.kwargs["slug"])

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        [line] = lines_of([row])
        return super().shown(line, only)


class OfStudy(Resource):
    """What belongs to the study of the address: found by whom its pages let in, and by tokens that reach it."""

    is_overseen: ClassVar[bool] = False  # also by administrators, who change nothing

    @cached_property
    def study(self) -> ReaderStudy:
        """Raises Http404 for strangers and readers, PermissionDenied for administrators who may not."""
        find = overseen_study if self.is_overseen and self.request.method in ("GET", "HEAD") else coordinated_study
        return find(self.person, self.kwargs["slug"])

    reach = None


class StudyPlan(OfStudy, OneOf[ReaderStudy]):
    """The plan of a study, in the form in which a study is made of it."""

    shape = PlanShape
    summary = "Read the plan of a study"

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown(plan_document(plan_of(self.study)), self.only()))


class StoredFile(OneOf[Row]):
    """A JSON file, sent as it is; who has it already gets 304."""

    content_types = ("application/json",)

    def known(self, sha256: str) -> HttpResponse | None:
        """304 where the program has the file with this hash."""
        found = get_conditional_response(self.request._request, etag=f'"{sha256[:32]}"')
        return found if isinstance(found, HttpResponse) else None

    def file(self, content: str, sha256: str) -> HttpResponse:
        response = HttpResponse(content, content_type="application/json")
        response["ETag"] = f'"{sha256[:32]}"'
        response["Cache-Control"] = "private, no-cache"
        return response


class FileOfStudy(OfStudy, StoredFile[ReaderStudy]):
    """A file of the study of the address."""


class StudyProtocol(FileOfStudy):
    """The frozen protocol, byte by byte as it was hashed: its SHA-256 is ``protocol_sha256`` of the study."""

    summary = "Read the protocol of a study"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        study = self.study
        if not study.protocol:
            raise Http404
        return self.known(study.protocol_sha256) or self.file(study.protocol, study.protocol_sha256)


class DeadlineSent(SentBody):
    deadline_at = Moment(help_text="later than the present one")


class MovesDeadline(ActedOn):
    def arguments(self, act: Act[Any]) -> dict[str, Any]:
        return {"deadline": self.sent(DeadlineSent)["deadline_at"]}


class SentRemindersShape(Shown):
    n_sent = serializers.IntegerField(help_text="e-mails")


class SendsReminders(ActedOn):
    makes = True
    shape = SentRemindersShape

    def answer(self, result: int) -> Any:
        return self.shown({"n_sent": result})


class CloseSent(SentBody):
    confirmed_open = serializers.IntegerField(
        default=0, min_value=0, max_value=100_000, help_text="how many readers without an end are left; 409 tells them"
    )


class RereviewSent(SentBody):
    threshold_percent = serializers.IntegerField(
        default=50, min_value=1, max_value=100, help_text="missed by so many of the readers who answered the case"
    )
    name = serializers.CharField(max_length=200, help_text="of the round")


class RereviewShape(Shown):
    round = serializers.SlugField(source="slug")
    name = serializers.CharField()


class RereviewStudy(OfStudy):
    """The draft of a blinded round of the cases that many readers missed, mixed with as many that few missed; which are
    which is told when the round has closed. Choosing them is a look at results: it unblinds the study.
    """

    shape, body = RereviewShape, RereviewSent
    makes, status = True, 201
    summary = "Send missed cases to a re-review"

    def post(self, request: Request, **named: Any) -> Response:
        from readerstudy.conducting.rereviewing import send_to_rereview  # computes with numpy

        study, sent = self.study, self.sent(RereviewSent)

        def send() -> MadeAnswer:
            made = send_to_rereview(study, sent["threshold_percent"], name=sent["name"], **self.by())
            return self.made(made, "api-round", made.slug)

        return self.once(send)


class CopySent(SentBody):
    name = serializers.CharField(max_length=200, required=False, default="", help_text="empty: the next free one")


class CopyStudy(OnlyPost, OneStudy):
    """A draft of the same design."""

    body = CopySent
    makes, status = True, 201
    summary = "Copy a study"

    def post(self, request: Request, **named: Any) -> Response:
        study = coordinated_study(self.person, named["slug"])
        bank_named(self.person, study.bank.slug)  # a token of the study alone does not reach its copy
        name = self.sent(CopySent)["name"]

        def copy() -> MadeAnswer:
            made = copy_study(study, name=name, **self.by())
            return self.made(made, "api-study", made.slug)

        return self.once(copy)
