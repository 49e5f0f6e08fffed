"""Models and the runs of their predictions, what becomes of them, and models on a bank, compared."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice, cleaned
from annotation.api.questionbank.question_acts import ReasonSent
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.site_lists import JobShape
from annotation.enums import Role
from annotation.models import Job, QuestionBank
from annotation.people.kept_answers import MadeAnswer
from annotation.site.permissions import is_coordinator, reaches
from readerstudy.acts.models import (
    MODELS_SORTED_BY,
    bank_compared,
    changeable_entry,
    check_enters_models,
    check_lists_models,
    known_entry,
    known_run,
)
from readerstudy.api.study_list import StoredFile
from readerstudy.enums import EntryState, PredictionForm
from readerstudy.forms.models import ModelForm
from readerstudy.models import ModelComparison, ModelEntry, PredictionRun, SubmissionCall
from readerstudy.predictions import listing
from readerstudy.predictions.entries import FIELDS, edit_model, enter_model, replace_model, withdraw_model
from readerstudy.predictions.graded_explanations import MOST_DRAWN
from readerstudy.predictions.listing import entries_known_to, runs_known_to
from readerstudy.results.comparison_job import KIND, ask_for_comparison, newest_comparison, take_result


class ModelShape(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    version = serializers.CharField()
    dated_on = serializers.DateField(allow_null=True)
    prompt = serializers.CharField()
    decoding = serializers.CharField()
    link = serializers.CharField()
    state = WordChoice(EntryState)
    replaced_by = serializers.CharField(source="replaced_by.public_id", default=None, allow_null=True)
    withdrawn_because = serializers.CharField()
    submitter = PersonName()
    created_at = Moment()


class ModelSent(SentBody):
    name = serializers.CharField()
    version = serializers.CharField(default="", allow_blank=True)
    dated_on = serializers.CharField(default="", allow_blank=True, help_text="2026-11-30")
    prompt = serializers.CharField(default="", allow_blank=True)
    decoding = serializers.CharField(default="", allow_blank=True)
    link = serializers.CharField(default="", allow_blank=True)


class ModelFilters(django_filters.FilterSet):
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in EntryState])
    name = django_filters.CharFilter(lookup_expr="holds")


class OfModels(Resource):
    """The functions that say which models and runs somebody knows say what a token reaches, too."""

    reach = None


class Models(OfModels, ListOf[ModelEntry]):
    """Models: all for coordinators and administrators of the site, for others their own. A POST enters one."""

    shape, body = ModelShape, ModelSent
    sorted_by = MODELS_SORTED_BY
    filters = ModelFilters
    makes, status = True, 201
    summary, post_summary = "List models", "Enter a model"

    def rows(self) -> QuerySet[ModelEntry]:
        check_lists_models(self.person)
        return entries_known_to(self.person)

    def post(self, request: Request, **named: Any) -> Response:
        check_enters_models(self.person)
        fields = cleaned(ModelForm(self.sent(ModelSent)))

        def enter() -> MadeAnswer:
            made = enter_model(fields, **self.by())
            return self.made(made, "api-model", made.public_id)

        return self.once(enter)


class OneModel(OfModels, OneOf[ModelEntry]):
    """One version of one model: what it was asked, and how."""

    shape = ModelShape
    summary = "Read one model"

    def one(self) -> ModelEntry:
        return known_entry(self.person, self.kwargs["public_id"])


class PredictionRunShape(Shown):
    id = serializers.CharField(source="public_id")
    model = serializers.CharField(source="entry.public_id")
    model_name = serializers.CharField(source="entry")
    bank = serializers.SlugField(source="bank.slug")
    study = serializers.SlugField(source="study.slug", default=None, allow_null=True, help_text="null: the whole bank")
    number = serializers.IntegerField()
    file_name = serializers.CharField()
    file_sha256 = serializers.CharField()
    form = WordChoice(PredictionForm)
    rule = serializers.CharField(help_text="by which options were taken out of texts")
    duplicates = serializers.CharField()
    n_read = serializers.IntegerField()
    n_matched = serializers.IntegerField()
    n_failed = serializers.IntegerField(help_text="answers from which no option could be taken: they count as wrong")
    n_missing = serializers.IntegerField()
    n_duplicate = serializers.IntegerField()
    n_unknown = serializers.IntegerField()
    is_named = serializers.BooleanField(help_text="the main run of the model there")
    named_at = Moment(allow_null=True)
    named_before_unblinding = serializers.BooleanField()
    withdrawn_at = Moment(allow_null=True)
    withdrawn_because = serializers.CharField()
    imported_by = PersonName()
    imported_at = Moment()


class RunFilters(django_filters.FilterSet):
    model = django_filters.CharFilter(field_name="entry__public_id")
    bank = django_filters.CharFilter(field_name="bank__slug")
    study = django_filters.CharFilter(field_name="study__slug")
    named = django_filters.BooleanFilter(field_name="is_named")


class PredictionRuns(OfModels, ListOf[PredictionRun]):
    """Runs of predictions, the newest first: for people who submit models their own, on banks."""

    shape = PredictionRunShape
    filters = RunFilters
    summary = "List runs of predictions"

    def rows(self) -> QuerySet[PredictionRun]:
        check_lists_models(self.person)
        return runs_known_to(self.person).filter(entry__in=entries_known_to(self.person).values("pk"))


class OnePredictionRun(OfModels, OneOf[PredictionRun]):
    """One run: what its file held, and whether figures show it."""

    shape = PredictionRunShape
    summary = "Read one run of predictions"
    locks = ("entry",)

    def one(self) -> PredictionRun:
        return known_run(self.person, self.kwargs["public_id"])


class ModelChanged(SentBody):
    """What is not sent stays as it is."""

    name = serializers.CharField(required=False)
    version = serializers.CharField(required=False, allow_blank=True)
    dated_on = serializers.CharField(required=False, allow_blank=True, help_text="2026-11-30")
    prompt = serializers.CharField(required=False, allow_blank=True)
    decoding = serializers.CharField(required=False, allow_blank=True)
    link = serializers.CharField(required=False, allow_blank=True)


class _ModelAct(OnlyPost, OneModel):
    def one(self) -> ModelEntry:
        """Raises PermissionDenied where its runs stand in figures that the token does not reach."""
        entry = changeable_entry(self.person, self.kwargs["public_id"])
        if not listing.reaches_all_runs(self.person, entry):
            raise PermissionDenied(_("This model has runs in other places than that of the token."))
        return entry

    def fields_of(self, entry: ModelEntry) -> dict[str, Any]:
        """Those of the model with what was sent in their place. Raises ValidationError."""
        kept = {name: getattr(entry, name) for name in FIELDS}
        return cleaned(ModelForm({**kept, **self.sent(ModelChanged)}))


class EditModel(_ModelAct):
    """Correct the description of a model. What it was before stays in its history; another version of it is a
    replacement.
    """

    body = ModelChanged
    summary = "Edit a model"

    def post(self, request: Request, **named: Any) -> Response:
        entry = self.one()
        return Response(self.shown(edit_model(entry, self.fields_of(entry), **self.by())))


class ReplaceModel(_ModelAct):
    """Another entry in the place of this one, whose runs leave the figures. It begins without predictions; the answer
    is the new one.
    """

    body = ModelChanged
    makes, status = True, 201
    summary = "Replace a model"

    def post(self, request: Request, **named: Any) -> Response:
        entry = self.one()
        fields = self.fields_of(entry)

        def replace() -> MadeAnswer:
            made = replace_model(entry, fields, **self.by())
            return self.made(made, "api-model", made.public_id)

        return self.once(replace)


class WithdrawModel(_ModelAct):
    """The model and its runs leave the figures; nothing is deleted."""

    body = ReasonSent
    summary = "Withdraw a model"

    def post(self, request: Request, **named: Any) -> Response:
        return Response(self.shown(withdraw_model(self.one(), self.sent(ReasonSent)["reason"], **self.by())))


# --- what submitters may send for -----------------------------------------------------------------
class SubmissionsShape(Shown):
    bank = serializers.SlugField(source="slug")
    is_open = serializers.SerializerMethodField(help_text="whether submitters of models may send predictions for it")

    def get_is_open(self, bank: QuestionBank) -> bool:
        return SubmissionCall.objects.filter(bank=bank).exists()


class Submissions(OneOf[QuestionBank]):
    """Whether submitters of models may send predictions for a bank."""

    roles = (Role.COORDINATOR,)
    shape = SubmissionsShape
    summary = "Read whether a bank is open to submitters"

    def one(self) -> QuestionBank:
        return bank_named(self.person, self.kwargs["slug"])


class ComparisonShape(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="bank.slug")
    inputs_sha256 = serializers.CharField()
    result_sha256 = serializers.CharField()
    is_stale = serializers.SerializerMethodField(help_text="whether runs, models or questions have changed since")
    created_by = PersonName()
    created_at = Moment()

    def get_is_stale(self, comparison: ModelComparison) -> bool:
        from readerstudy.analysis.comparing_models import inputs_now  # loads numpy: not at every start

        return inputs_now(comparison.bank) != comparison.inputs_sha256


class ExplanationsSent(SentBody):
    runs = serializers.ListField(child=serializers.CharField(), help_text="ids of runs of predictions on the bank")
    n = serializers.IntegerField(min_value=1, max_value=MOST_DRAWN, help_text="equally many of each run, or one more")
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)
    name = serializers.CharField(max_length=200, help_text="of the sample")


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

    summary = "Read the result of a comparison"

    def get(self, request: Request, **named: Any) -> HttpResponse:  # type: ignore[override]  # a file, not a document
        found = self.newest()
        known = self.known(found.result_sha256)
        return known or self.file(take_result(found, **self.by()), found.result_sha256)


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
            return self.made(job, "api-models-compare-job", bank.slug, job.public_id)

        return self.once(ask)


class ComparisonJob(_OfComparedBank, OneOf[Job]):
    """A comparison that was asked for: how far it is."""

    shape = JobShape
    summary = "Read a job that compares models"
    reach = None

    def rows(self) -> QuerySet[Job]:
        return Job.objects.filter(kind=KIND, params__bank=self.bank.pk).select_related("created_by")
