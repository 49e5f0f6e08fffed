"""Trials of two versions of a prompt: planned, asked, drawn, and what they found once their round is closed."""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.model_calls.asked_models import (
    AskingSent,
    CallsShape,
    ConfirmedSent,
    calls_shown,
    chat_of,
    check_confirmed,
    prompt_chosen,
)
from annotation.api.model_calls.generation_list import GenerationPlanShape
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ActOn, ListOf, OneOf, Resource, Shown
from annotation.api.shown_fields import Moment, PersonName
from annotation.call_enums import PromptPurpose
from annotation.endpoints.configured_endpoints import endpoint_named
from annotation.endpoints.probing import checked_model
from annotation.enums import Role
from annotation.feedback.kernels.trial_pairs import TrialAssumptions
from annotation.feedback.kernels.trial_states import TrialState
from annotation.feedback.prompt_story import standing_of
from annotation.feedback.prompt_trials import draw_trial, runs_of, start_trial, trials_with_runs
from annotation.feedback.trial_plans import TrialPlan, TrialWanted, plan_trial, store_trial
from annotation.generation.generation_progress import GenerationProgress
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.models import PromptTrial, PromptVersion, User
from annotation.people.kept_answers import MadeAnswer
from annotation.sampling.kernels.drawing import SEED_MAX


class TrialSent(AskingSent):
    bank = serializers.SlugField(help_text="whose reports are written about")
    first = serializers.CharField(max_length=40, help_text="id of a prompt that writes questions")
    second = serializers.CharField(max_length=40, help_text="id of the prompt that is compared with it")
    first_findings = serializers.CharField(max_length=40, default=None, allow_null=True, help_text="id of a prompt")
    second_findings = serializers.CharField(
        max_length=40, default=None, allow_null=True, help_text="null: as for the first"
    )
    issue_rate = serializers.FloatField(min_value=0, max_value=1, help_text="of the first version, as you expect it")
    difference = serializers.FloatField(min_value=-1, max_value=1, help_text="first minus second, to be found")
    power = serializers.FloatField(min_value=0, max_value=1, default=0.8)
    correlation = serializers.FloatField(min_value=0, max_value=1, default=0, help_text="within an exam")
    n_exams = serializers.IntegerField(
        min_value=1, max_value=999_999_999, default=None, allow_null=True, help_text="null: as many as it needs"
    )
    per_exam = serializers.IntegerField(min_value=1, max_value=MOST_QUESTIONS, default=1)
    max_tokens = serializers.IntegerField(min_value=1, max_value=1_000_000, default=None, allow_null=True)
    seed = serializers.IntegerField(min_value=0, max_value=SEED_MAX, default=1)


class TrialPlanShape(Shown):
    pairs = serializers.IntegerField(help_text="that it needs")
    exams = serializers.IntegerField()
    calls = serializers.IntegerField(help_text="of both versions")
    first = GenerationPlanShape()
    second = GenerationPlanShape()


class TrialLine(Shown):
    id = serializers.CharField(source="public_id")
    bank = serializers.SlugField(source="first_run.bank.slug")
    first = serializers.CharField(source="first_run.questions_prompt", help_text="name and version")
    second = serializers.CharField(source="second_run.questions_prompt")
    issue_rate = serializers.FloatField()
    difference = serializers.FloatField()
    power = serializers.FloatField()
    correlation = serializers.FloatField()
    pairs_planned = serializers.IntegerField(source="n_planned")
    sample = serializers.SlugField(source="sample.slug", default=None, allow_null=True, help_text="null: not drawn")
    created_by = PersonName()
    created_at = Moment()


class TrialShape(TrialLine):
    state = serializers.ChoiceField(choices=[(word.value, word.label) for word in TrialState])
    round = serializers.SlugField(allow_null=True, help_text="that counts")
    calls = serializers.ListField(child=serializers.DictField(), help_text="of the first version, then of the second")
    result = serializers.DictField(allow_null=True, help_text="null until the round is closed")

    def to_representation(self, instance: PromptTrial) -> Any:
        standing = standing_of(instance)
        progress = [GenerationProgress(run) for run in runs_of(instance)]
        trial: Any = instance
        trial.state, trial.round = standing.state, standing.review_round.slug if standing.review_round else None
        trial.calls = [dict(CallsShape(calls_shown(*one)).data) for each in progress for one in each.calls]
        trial.result = standing.result.as_json() if standing.result else None
        return super().to_representation(trial)


class _OfTrials(Resource):
    roles = (Role.COORDINATOR,)
    reach = {"bank": "first_run__bank"}

    def rows(self) -> QuerySet[PromptTrial]:
        return trials_with_runs()


def trial_wanted(person: User, sent: dict[str, Any]) -> TrialWanted:
    """Raises ValidationError, EndpointRefused; 404 for a bank that a token does not reach."""
    assumed = {name: sent.pop(name) for name in ("issue_rate", "difference", "power", "correlation")}
    prompts = {
        "first": prompt_chosen("first", sent["first"], PromptPurpose.QUESTIONS),
        "second": prompt_chosen("second", sent["second"], PromptPurpose.QUESTIONS),
        "first_findings": prompt_chosen("first_findings", sent["first_findings"], PromptPurpose.BULLETS),
        "second_findings": prompt_chosen("second_findings", sent["second_findings"], PromptPurpose.BULLETS),
    }
    named: dict[str, PromptVersion | Any] = prompts
    return TrialWanted(
        **named,
        bank=bank_named(person, sent["bank"]),
        endpoint=sent["endpoint"],
        model=checked_model(endpoint_named(sent["endpoint"]), sent["model"]),
        assumed=TrialAssumptions(**assumed),
        per_exam=sent["per_exam"],
        seed=sent["seed"],
        n_exams=sent["n_exams"],
        chat=chat_of(sent, max_tokens=sent["max_tokens"]),
        cap=sent["cap"],
    )


class PlanTrial(Resource):
    """How many pairs, exams and calls a trial needs. It stores and sends nothing."""

    roles = (Role.COORDINATOR,)
    http_method_names = ["post"]
    shape, body = TrialPlanShape, TrialSent
    summary = "Plan a trial of prompts without storing it"

    def post(self, request: Request, **named: Any) -> Response:
        wanted = trial_wanted(self.person, self.sent(TrialSent))
        return Response(self.shown(plan_trial(wanted, dry_run=True, **self.by()).as_json()))


class PromptTrials(_OfTrials, ListOf[PromptTrial]):
    """Trials of two versions of a prompt. A POST stores the plan of one: nothing is sent before it is started."""

    shape, body = TrialLine, TrialSent
    makes, status = True, 201
    summary, post_summary = "List trials of prompts", "Plan a trial of prompts"

    def post(self, request: Request, **named: Any) -> Response:
        wanted = trial_wanted(self.person, self.sent(TrialSent))

        def store(plan: TrialPlan) -> MadeAnswer:
            trial = store_trial(plan, **self.by()).trial
            assert trial is not None
            shown = self.shown(self.rows().get(pk=trial.pk))
            return MadeAnswer(201, shown, reverse("api-prompt-trial", args=[trial.public_id]))

        return self.once_planned(lambda: plan_trial(wanted, dry_run=True, **self.by()), store)


class OnePromptTrial(_OfTrials, OneOf[PromptTrial]):
    """One trial: its state, its calls, and once its round is closed what it found."""

    shape = TrialShape
    summary = "Read one trial of prompts"


class StartTrial(OnePromptTrial):
    """Ask for the questions of both versions, or go on with what was paused. The number of calls that both make at
    most, four for each exam, must be confirmed.
    """

    http_method_names = ["post"]
    body = ConfirmedSent
    summary = "Start a trial of prompts"

    def post(self, request: Request, **named: Any) -> Response:
        trial, sent = self.one(), self.sent(ConfirmedSent)
        check_confirmed(sent, sum(2 * run.bullets_batch.n_calls for run in runs_of(trial)))
        start_trial(trial, **self.by())
        return Response(self.shown(self.one()))


class DrawTrial(ActOn[PromptTrial], OnePromptTrial):
    """Draw the planned pairs as one sample that does not tell which version wrote a question."""

    summary = "Draw the sample of a trial"

    def act_on(self, trial: PromptTrial) -> None:
        draw_trial(get_object_or_404(PromptTrial, pk=trial.pk), **self.by())
