"""How a round is designed: its draft changed, what reviewers see it with, until when; forms of one's own."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.acts.rounds import coordinated_round, with_counts
from annotation.api.bodies import SentBody
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.api.review.round_list import DesignSent, OneRound, sample_named, take_design
from annotation.api.shown_fields import Moment, PersonName, WordChoice
from annotation.enums import Flag, GradeName, Role, RoundSteps
from annotation.models import ReviewForm, ReviewRound
from annotation.outcomes.fresh_rounds import fresh_round
from annotation.people.kept_answers import MadeAnswer
from annotation.review.kernels.form_design import ANCHOR_LIMIT, CHOICE_LABELS, CHOSEN, anchored, make_design
from annotation.review.kernels.sampling import SEED_MAX
from annotation.review.round_design import design_of_round, newest_forms, store_form
from annotation.review.rounds import MOST_PER_QUESTION, change_draft


class DraftSent(DesignSent):
    sample = serializers.SlugField(required=False)
    name = serializers.CharField(max_length=200, required=False)
    reviewers_per_question = serializers.IntegerField(min_value=1, max_value=MOST_PER_QUESTION, required=False)
    steps = WordChoice(RoundSteps, required=False)
    instructions = serializers.CharField(max_length=5000, required=False, allow_blank=True)
    seed = serializers.IntegerField(min_value=0, max_value=SEED_MAX, required=False)


class EditRound(OneRound):
    """Change the design of a draft; what is not sent stays. What assignments follow from (sample, steps, numbers, seed)
    takes them away.
    """

    http_method_names = ["post"]
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


class FreshRound(OneRound):
    """A draft with the questions of this round that were revised since, without reviewers."""

    http_method_names = ["post"]
    makes, status = True, 201
    summary = "Make a round of revised questions"

    def post(self, request: Request, **named: Any) -> Response:
        review_round = coordinated_round(self.person, named["slug"])

        def make() -> MadeAnswer:
            made = fresh_round(review_round, **self.by())
            shown = self.shown(with_counts(ReviewRound.objects.all()).get(pk=made.pk))
            return MadeAnswer(201, shown, reverse("api-round", args=[made.slug]))

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
            return MadeAnswer(201, self.shown(made), reverse("api-review-form", args=[made.pk]))

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
