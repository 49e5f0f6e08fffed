"""Review rounds: listed, made, assigned, opened, ended and put away; who reviews what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from msgspec.structs import replace
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.acts import Act
from annotation.acts.rounds import ROUNDS_SORTED_BY, coordinated_round, listed_rounds, rounds_known_to
from annotation.api.acting import ActedOn
from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice
from annotation.api.resources import ListOf, OneOf, Shown
from annotation.enums import AssignmentState, Role, RoundState, RoundSteps, ViewerTool
from annotation.models import Assignment, ReviewForm, ReviewRound, SamplingPlan, User
from annotation.models.fields import AsRead
from annotation.people.kept_answers import MadeAnswer
from annotation.people.roles import possible_reviewers
from annotation.review.calibrating import possible_calibrations
from annotation.review.round_design import RoundDesign, newest_forms
from annotation.review.rounds import MOST_PER_QUESTION, create_round
from annotation.review.samples import MOST_REPEATED
from annotation.site.permissions import within_reach
from annotation.statistics.kernels.sampling import SEED_MAX

REACH = {"bank": "plan__bank", "round": "pk"}
MOST_REVIEWERS = 200


class RoundShape(Shown):
    id = serializers.SlugField(source="slug")
    name = serializers.CharField()
    bank = serializers.SlugField(source="plan.bank.slug")
    sample = serializers.SlugField(source="plan.slug")
    state = WordChoice(RoundState)
    steps = WordChoice(RoundSteps)
    reviewers_per_question = serializers.IntegerField()
    percent_repeated = serializers.IntegerField(help_text="of each reviewer's questions, shown twice")
    shows_decisions = serializers.BooleanField(help_text="to its reviewers, once it is closed")
    instructions = serializers.CharField()
    n_reviewers = serializers.IntegerField()
    n_assignments = serializers.IntegerField()
    n_submitted = serializers.IntegerField()
    created_by = PersonName()
    created_at = Moment()
    seed = serializers.IntegerField()
    form = serializers.IntegerField(source="form_id", allow_null=True, help_text="null: the form of the paper")
    shared_answers = serializers.SlugField(
        source="shared_answers.slug", default=None, allow_null=True, help_text="the round that calibrates for this one"
    )
    pass_mark = serializers.IntegerField(allow_null=True, help_text="percent, of the calibration")
    hidden_tools = serializers.ListField(child=WordChoice(ViewerTool), help_text="of the viewer")
    least_width = serializers.IntegerField(allow_null=True, help_text="of the window of a reviewer")
    least_height = serializers.IntegerField(allow_null=True)
    double_click = serializers.BooleanField(help_text="on an option submits the blind answer")
    display_check = serializers.BooleanField(help_text="asked of reviewers before their first question")
    opened_at = Moment(allow_null=True)
    due_at = Moment(allow_null=True)
    completed_at = Moment(allow_null=True, help_text="when its reviews became final")
    closed_at = Moment(allow_null=True)
    archived_at = Moment(allow_null=True)


class ReviewersSent(SentBody):
    reviewers = serializers.ListField(
        child=serializers.EmailField(), max_length=MOST_REVIEWERS, help_text="e-mail addresses of people who may review"
    )


class DesignSent(SentBody):
    """The parts of a design besides sample, steps and numbers. What is not sent stays as it is."""

    form = serializers.IntegerField(
        min_value=1, max_value=999_999_999, required=False, allow_null=True, help_text="null: the form of the paper"
    )
    shared_answers = serializers.SlugField(
        required=False, allow_null=True, help_text="a closed round whose few questions calibrate; null: none"
    )
    pass_mark = serializers.IntegerField(min_value=1, max_value=100, required=False, allow_null=True)
    percent_repeated = serializers.IntegerField(min_value=0, max_value=MOST_REPEATED, required=False)
    shows_decisions = serializers.BooleanField(required=False)


class RoundSent(DesignSent, ReviewersSent):
    sample = serializers.SlugField()
    name = serializers.CharField(max_length=200)
    reviewers = serializers.ListField(
        child=serializers.EmailField(),
        max_length=MOST_REVIEWERS,
        default=list,
        help_text="e-mail addresses of people who may review; none: they are assigned later",
    )
    reviewers_per_question = serializers.IntegerField(min_value=1, max_value=MOST_PER_QUESTION, default=1)
    steps = serializers.ChoiceField(choices=[(w.value, w.label) for w in RoundSteps], default=RoundSteps.FULL)
    instructions = serializers.CharField(max_length=5000, default="", allow_blank=True)
    seed = serializers.IntegerField(min_value=0, max_value=SEED_MAX, default=1)
    due_at = Moment(default=None, allow_null=True)


class RoundFilters(django_filters.FilterSet):
    bank = django_filters.CharFilter(field_name="plan__bank__slug")
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in RoundState])
    archived = django_filters.BooleanFilter(field_name="archived_at", lookup_expr="isnull", exclude=True)


def reviewers_named(addresses: Sequence[str], review_round: ReviewRound | None = None) -> list[User]:
    """People of these addresses who may review, in their order. Raises ValidationError with the ones that may not."""
    lower = [one.lower() for one in addresses]
    found = {person.email: person for person in possible_reviewers(review_round).filter(email__in=lower)}
    unknown = [one for one in lower if one not in found]
    if unknown:
        sentence = _("Nobody of this address may review here: %(addresses)s.") % {"addresses": ", ".join(unknown)}
        raise serializers.ValidationError({"reviewers": [sentence]})
    return list(dict.fromkeys(found[one] for one in lower))


def sample_named(person: User, slug: str) -> SamplingPlan:
    samples = within_reach(person, SamplingPlan.objects.filter(archived_at=None), bank="bank")
    return get_object_or_404(samples, slug=slug)


def take_design(person: User, sent: dict[str, Any], before: RoundDesign) -> RoundDesign:
    """Takes out of ``sent`` what belongs to the design; the rest is as before. Raises ValidationError."""
    names: list[str] = [str(name) for name in DesignSent().fields]
    wanted: dict[str, Any] = {name: sent.pop(name) for name in names if name in sent}
    if wanted.get("form") is not None:
        kept = before.form.pk if before.form else 0
        forms = newest_forms() | ReviewForm.objects.filter(pk=kept).select_related("created_by").order_by(
            AsRead("name")
        )
        wanted["form"] = _chosen("form", forms.filter(pk=wanted["form"]))
    if wanted.get("shared_answers") is not None:
        rounds = within_reach(person, possible_calibrations(), **REACH)
        wanted["shared_answers"] = _chosen("shared_answers", rounds.filter(slug=wanted["shared_answers"]))
    return replace(before, **wanted)


def _chosen(field: str, rows: QuerySet[Any]) -> Any:
    if (found := rows.first()) is None:
        raise serializers.ValidationError({field: [_("There is none of this name that can be chosen.")]})
    return found


class Rounds(ListOf[ReviewRound]):
    """Review rounds. A POST makes a draft on a sample, with its questions assigned where reviewers are named."""

    writers = (Role.COORDINATOR,)
    reach = REACH
    shape, body = RoundShape, RoundSent
    sorted_by = ROUNDS_SORTED_BY
    filters = RoundFilters
    makes, status = True, 201
    summary, post_summary = "List rounds", "Make a round"

    def rows(self) -> QuerySet[ReviewRound]:
        return listed_rounds(self.person)

    def post(self, request: Request, **named: Any) -> Response:
        sent = self.sent(RoundSent)
        plan = sample_named(self.person, sent.pop("sample"))
        people = reviewers_named(sent.pop("reviewers"))
        design = take_design(self.person, sent, RoundDesign(due_at=sent.pop("due_at")))
        sent["steps"] = RoundSteps(sent["steps"])

        def make() -> MadeAnswer:
            made = create_round(plan, reviewers=people, design=design, **sent, **self.by())
            return self.made(self.rows().get(pk=made.pk), "api-round", made.slug)

        return self.once(make)


class OneRound(OneOf[ReviewRound]):
    """One round, with how far its reviews are."""

    reach = REACH
    lookup = "slug"
    shape = RoundShape
    summary = "Read one round"

    def rows(self) -> QuerySet[ReviewRound]:
        return rounds_known_to(self.person)


class AssignByAddress(ActedOn, OneRound):
    def arguments(self, act: Act[Any]) -> dict[str, Any]:
        return {"reviewers": reviewers_named(self.sent(ReviewersSent)["reviewers"], act.thing)}


class AssignmentShape(Shown):
    id = serializers.CharField(source="public_id")
    reviewer = PersonName()
    question = serializers.IntegerField(source="revision.question.number")
    revision = serializers.IntegerField(source="revision.number")
    position = serializers.IntegerField(help_text="in the order of the reviewer")
    state = WordChoice(AssignmentState)
    skip_reason = serializers.CharField()
    skipped_at = Moment(allow_null=True)
    opened_at = Moment(allow_null=True)


class AssignmentFilters(django_filters.FilterSet):
    state = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in AssignmentState])
    reviewer = django_filters.CharFilter(field_name="reviewer__email", lookup_expr="iexact")


class RoundAssignments(ListOf[Assignment]):
    """Who reviews which question, and how far they are; never their answers."""

    reach = {"bank": "round__plan__bank", "round": "round"}
    shape = AssignmentShape
    filters = AssignmentFilters
    newest_first = False
    summary = "List assignments of a round"

    def rows(self) -> QuerySet[Assignment]:
        review_round = coordinated_round(self.person, self.kwargs["slug"])
        return review_round.assignments.select_related("reviewer", "revision__question")
