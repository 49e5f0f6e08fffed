"""What stands before a round opens: samples drawn, its draft, what reviewers see it with, forms of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

import django_filters
from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts.rounds import coordinated_round, with_counts
from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice
from annotation.api.questionbank.question_acts import MOST_NAMED, search_by
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.api.review.round_list import DesignSent, OneRound, sample_named, take_design
from annotation.enums import Flag, GradeName, Role, RoundSteps, Task
from annotation.models import ReviewForm, ReviewRound, SampledQuestion, SamplingPlan
from annotation.outcomes.prompt_flags import fresh_round
from annotation.people.kept_answers import MadeAnswer
from annotation.review.kernels.form_design import ANCHOR_LIMIT, CHOICE_LABELS, CHOSEN, anchored, make_design
from annotation.review.round_design import design_of_round, newest_forms, store_form
from annotation.review.rounds import MOST_PER_QUESTION, change_draft
from annotation.review.samples import (
    DEFAULT_PER_THOUSAND,
    DEFAULT_SEED,
    SAMPLES_SORTED_BY,
    counted_samples,
    draw_sample,
)
from annotation.statistics.kernels.sampling import SEED_MAX, RatedBy, StratifyBy


class DraftSent(DesignSent):
    sample = serializers.SlugField(required=False)
    name = serializers.CharField(max_length=200, required=False)
    reviewers_per_question = serializers.IntegerField(min_value=1, max_value=MOST_PER_QUESTION, required=False)
    steps = WordChoice(RoundSteps, required=False)
    instructions = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    seed = serializers.IntegerField(min_value=0, max_value=SEED_MAX, required=False)


class EditRound(OnlyPost, OneRound):
    """Change the design of a draft; what is not sent stays. What assignments follow from (sample, steps, numbers, seed)
    takes them away.
    """

    body = DraftSent
    summary = "Change a draft"

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])
        change_draft(review_round, **self.changes(review_round), **self.by())
        return Response(self.shown(self.one()))

    def changes(self, review_round: ReviewRound) -> dict[str, Any]:
        sent = {name: getattr(review_round, name) for name in ("name", "steps", "instructions")} | self.sent(DraftSent)
        plan = sample_named(self.person, sent.pop("sample")) if "sample" in sent else review_round.plan
        design = take_design(self.person, sent, design_of_round(review_round))
        return {**sent, "steps": RoundSteps(sent["steps"]), "plan": plan, "design": design}


class DueSent(SentBody):
    due_at = Moment(allow_null=True, help_text="null: no due date")


class FreshRound(OnlyPost, OneRound):
    """A draft with the questions of this round that were revised since, without reviewers."""

    makes, status = True, 201
    summary = "Make a round of revised questions"

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])

        def make() -> MadeAnswer:
            made = fresh_round(review_round, **self.by())
            return self.made(with_counts(ReviewRound.objects.all()).get(pk=made.pk), "api-round", made.slug)

        return self.once(make)


# --- forms of one's own ---------------------------------------------------------------------------
class AnchorShape(Shown):
    field = serializers.CharField()
    value = serializers.CharField()
    text = serializers.CharField()

    def to_representation(self, instance: Any) -> Any:
        return dict(zip(("field", "value", "text"), instance, strict=True))


class ReviewFormShape(Shown):
    id = serializers.IntegerField(source="pk")
    name = serializers.CharField()
    version = serializers.IntegerField()
    grades = serializers.ListField(source="design.grades", child=WordChoice(GradeName))
    choices = serializers.ListField(source="design.choices", child=serializers.ChoiceField(choices=list(CHOICE_LABELS)))
    flags = serializers.ListField(source="design.flags", child=WordChoice(Flag))
    anchors = AnchorShape(source="design.anchors", many=True, help_text="that are not those of the paper")
    created_by = PersonName()
    created_at = Moment()


class AnchorSent(SentBody):
    field = serializers.CharField()
    value = serializers.CharField(help_text="1 to 5 of a grade; yes, partly or no of a choice")
    text = serializers.CharField(max_length=ANCHOR_LIMIT)


class ReviewFormSent(SentBody):
    name = serializers.CharField(max_length=80, help_text="one that is there: its next version")
    grades = serializers.ListField(child=WordChoice(GradeName), default=list)
    choices = serializers.ListField(child=serializers.ChoiceField(choices=list(CHOICE_LABELS)), default=list)
    flags = serializers.ListField(
        child=serializers.ChoiceField(choices=[(flag.value, flag.label) for flag in CHOSEN]), default=list
    )
    anchors = serializers.ListField(
        child=AnchorSent(), default=list, help_text="what values mean here; of others, the anchors of the paper"
    )


class ReviewForms(ListOf[ReviewForm]):
    """The newest version of each form of one's own. A POST stores another form, or the next version of one; the same
    design again is the version that is there.
    """

    roles = (Role.COORDINATOR,)
    shape, body = ReviewFormShape, ReviewFormSent
    newest_first = False
    makes, status = True, 201
    summary, post_summary = "List review forms", "Store a review form"
    reach = None

    def rows(self) -> QuerySet[ReviewForm]:
        return newest_forms()

    def post(self, request: Request, **named: Any) -> Response:
        sent = self.sent(ReviewFormSent)
        anchors = {(one["field"], one["value"]): one["text"] for one in sent.pop("anchors")}
        if unknown := [f"{field} {value}" for field, value in anchors if (field, value) not in anchored()]:
            raise serializers.ValidationError({"anchors": [f"There is no such value: {', '.join(unknown)}."]})

        def store() -> MadeAnswer:
            name = sent.pop("name")
            made = store_form(name, make_design(anchors=anchors, **sent), **self.by())
            return self.made(made, "api-review-form", made.pk)

        return self.once(store)


class OneReviewForm(OneOf[ReviewForm]):
    """One version of a form. It never changes."""

    roles = (Role.COORDINATOR,)
    lookup = "pk"
    shape = ReviewFormShape
    summary = "Read a review form"
    reach = None

    def rows(self) -> QuerySet[ReviewForm]:
        return ReviewForm.objects.select_related("created_by")


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
            return self.made(self.rows().get(pk=plan.pk), "api-sample", plan.slug)

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
