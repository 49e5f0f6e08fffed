"""Samples: drawn, listed, read, put away."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import SentBody
from annotation.api.questionbank.chosen_questions import MOST_NAMED, search_by
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import Role, Task
from annotation.models import SampledQuestion, SamplingPlan
from annotation.people.kept_answers import MadeAnswer
from annotation.review.kernels.sampling import SEED_MAX, RatedBy, StratifyBy
from annotation.review.samples import (
    DEFAULT_PER_THOUSAND,
    DEFAULT_SEED,
    SAMPLES_SORTED_BY,
    counted_samples,
    draw_sample,
)


class StratumShape(Shown):
    stratum = serializers.CharField()
    n_frame = serializers.IntegerField()
    n_drawn = serializers.IntegerField()


class SampleShape(Shown):
    id = serializers.SlugField(source="slug")
    name = serializers.CharField()
    bank = serializers.SlugField(source="bank.slug")
    by = WordChoice(StratifyBy, source="stratify_by")
    per_thousand = serializers.IntegerField()
    seed = serializers.IntegerField()
    rule = serializers.CharField()
    n_frame = serializers.IntegerField()
    n_drawn = serializers.IntegerField()
    left_out = serializers.DictField(
        source="frame.left_out",
        child=serializers.IntegerField(),
        default=None,
        allow_null=True,
        help_text="how many questions are not in the frame, by why; null where that was not counted",
    )
    n_waiting = serializers.IntegerField(
        source="frame.n_waiting", default=None, allow_null=True, help_text="of the frame: their images have not come"
    )
    frame_sha256 = serializers.CharField()
    strata = StratumShape(many=True)
    created_by = PersonName()
    created_at = Moment()
    archived_at = Moment(allow_null=True)


class SampleSent(SentBody):
    bank = serializers.SlugField()
    name = serializers.CharField(max_length=200, required=False, default="", allow_blank=True)
    by = serializers.ChoiceField(choices=[(w.value, w.label) for w in StratifyBy], default=StratifyBy.DIFFICULTY)
    rated_by = serializers.ChoiceField(choices=[(w.value, w.label) for w in RatedBy], default=RatedBy.STATED)
    per_thousand = serializers.IntegerField(min_value=1, max_value=1000, default=DEFAULT_PER_THOUSAND)
    seed = serializers.IntegerField(min_value=0, max_value=SEED_MAX, default=DEFAULT_SEED)
    filters = serializers.DictField(
        child=serializers.CharField(), default=dict, help_text="of the list of questions: what is drawn from"
    )
    numbers = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=999_999_999),
        default=list,
        max_length=MOST_NAMED,
        help_text="draw from these questions alone; with 1000 per thousand all of them",
    )


class SampleFilters(django_filters.FilterSet):
    bank = django_filters.CharFilter(field_name="bank__slug")
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)


class _OfSamples(Resource):
    roles: ClassVar[tuple[Role, ...]] = (Role.COORDINATOR, Role.ADMINISTRATOR)
    writers: ClassVar[tuple[Role, ...] | None] = (Role.COORDINATOR,)
    reach = {"bank": "bank"}
    shape: ClassVar[type[Shown]] = SampleShape

    def rows(self) -> QuerySet[SamplingPlan]:
        return counted_samples()


class Samples(_OfSamples, ListOf[SamplingPlan]):
    """Samples of banks. A POST draws one and stores it: the same seed draws the same sample."""

    body = SampleSent
    sorted_by = SAMPLES_SORTED_BY
    filters = SampleFilters
    makes, status = True, 201
    summary, post_summary = "List samples", "Draw a sample"

    def post(self, request: Request, **named: Any) -> Response:
        sent = self.sent(SampleSent)
        bank = bank_named(self.person, sent["bank"])
        wanted = dict(search_by(sent["filters"], bank, self.person).wanted)

        def draw() -> MadeAnswer:
            plan = draw_sample(
                bank,
                name=sent["name"],
                by=StratifyBy(sent["by"]),
                rated_by=RatedBy(sent["rated_by"]),
                per_thousand=sent["per_thousand"],
                seed=sent["seed"],
                wanted=wanted,
                numbers=sent["numbers"],
                **self.by(),
            )
            shown = self.shown(self.rows().get(pk=plan.pk))
            return MadeAnswer(201, shown, reverse("api-sample", args=[plan.slug]))

        return self.once(draw)


class OneSample(_OfSamples, OneOf[SamplingPlan]):
    """One sample: how it was drawn."""

    lookup = "slug"
    summary = "Read one sample"


class SampledShape(Shown):
    position = serializers.IntegerField()
    number = serializers.IntegerField(source="revision.question.number")
    revision = serializers.IntegerField(source="revision.number")
    task = WordChoice(Task, source="revision.task")
    stratum = serializers.CharField()


class SampledQuestions(ListOf[SampledQuestion]):
    """The drawn questions, in the order of the sample."""

    roles = Samples.roles
    reach = {"bank": "plan__bank"}
    shape = SampledShape
    newest_first = False
    summary = "List questions of a sample"

    def rows(self) -> QuerySet[SampledQuestion]:
        rows = SampledQuestion.objects.filter(plan__in=SamplingPlan.objects.filter(slug=self.kwargs["slug"]))
        return rows.select_related("revision__question")
