"""The models on a bank, compared: asked for, and its result for who may know how models score."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.job_list import JobShape
from annotation.api.resources import OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName
from annotation.models import Job, QuestionBank
from annotation.people.kept_answers import MadeAnswer
from annotation.site.permissions import is_coordinator, reaches
from readerstudy.api.study_list import StoredFile
from readerstudy.comparison.comparison_job import KIND, ask_for_comparison, newest_comparison, take_result
from readerstudy.models import ModelComparison
from readerstudy.views.comparison import bank_compared


class ComparisonShape(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="bank.slug")
    inputs_sha256 = serializers.CharField()
    result_sha256 = serializers.CharField()
    is_stale = serializers.SerializerMethodField(help_text="whether runs, models or questions have changed since")
    created_by = PersonName()
    created_at = Moment()

    def get_is_stale(self, comparison: ModelComparison) -> bool:
        from readerstudy.comparison.comparing_models import inputs_now  # loads numpy: not at every start

        return inputs_now(comparison.bank) != comparison.inputs_sha256


class _OfComparedBank(Resource):
    @property
    def bank(self) -> QuestionBank:
        """Raises PermissionDenied for who may not know scores, Http404 for a bank without a main run."""
        bank = bank_compared(self.person, self.kwargs["slug"])
        if not reaches(self.person, bank=bank.pk):
            raise Http404
        return bank

    def newest(self) -> ModelComparison:
        comparison = newest_comparison(self.bank)
        if comparison is None:
            raise Http404
        return comparison


class BankComparison(_OfComparedBank, OneOf[ModelComparison]):
    """The newest comparison of the models on a bank, without its result."""

    shape = ComparisonShape
    summary = "Read the comparison of models on a bank"
    locks = ("bank",)

    def one(self) -> ModelComparison:
        return self.newest()


class ComparisonResult(_OfComparedBank, StoredFile[ModelComparison]):
    """The stored JSON, byte by byte: ``result_sha256`` is its hash. Taking it is noted."""

    content_types = ("application/json",)
    summary = "Read the result of a comparison"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        found = self.newest()
        known = self.known(found.result_sha256)
        return known or self.file(take_result(found, **self.by()), found.result_sha256, "application/json")


class StartComparison(_OfComparedBank):
    """202: a job compares them, and the address says how far it is. One that waits or runs already is enough."""

    shape = JobShape
    makes, status = True, 202
    summary = "Compare the models on a bank"

    def post(self, request: Request, **named: Any) -> Response:
        bank = self.bank
        if not is_coordinator(self.person):
            raise PermissionDenied(_("Only coordinators compare models."))

        def ask() -> MadeAnswer:
            job = ask_for_comparison(bank, **self.by())
            return MadeAnswer(202, self.shown(job), reverse("api-models-compare-job", args=[bank.slug, job.public_id]))

        return self.once(ask)


class ComparisonJob(_OfComparedBank, OneOf[Job]):
    """A comparison that was asked for: how far it is."""

    shape = JobShape
    summary = "Read a job that compares models"
    reach = None

    def rows(self) -> QuerySet[Job]:
        return Job.objects.filter(kind=KIND, params__bank=self.bank.pk).select_related("created_by")
