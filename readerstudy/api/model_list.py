"""Models, and the runs of their predictions: counts of what a file held, never whether an answer was right."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody, cleaned
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.models import known_entry, known_run
from readerstudy.enums import EntryState, PredictionForm
from readerstudy.forms.models import ModelForm
from readerstudy.models import ModelEntry, PredictionRun
from readerstudy.predictions.entries import enter_model
from readerstudy.predictions.listing import entries_known_to, runs_known_to
from readerstudy.views.predictions.models import SORTED_BY, check_enters_models, check_lists_models


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
    name = django_filters.CharFilter(lookup_expr="icontains")


class OfModels(Resource):
    """The functions that say which models and runs somebody knows say what a token reaches, too."""

    reach = None


class Models(OfModels, ListOf[ModelEntry]):
    """Models: all for coordinators and administrators of the site, for others their own. A POST enters one."""

    shape, body = ModelShape, ModelSent
    sorted_by = SORTED_BY
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
            entry = enter_model(fields, **self.by())
            return MadeAnswer(201, self.shown(entry), reverse("api-model", args=[entry.public_id]))

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
