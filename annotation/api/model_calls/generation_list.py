"""Prompts by version, and runs in which a model writes questions from reports of a bank. No word of a report leaves."""

from __future__ import annotations

from typing import Any

import django_filters
from django.db.models import QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.bodies import Moment, PersonName, SentBody, WordChoice
from annotation.api.compared_etags import lock_rows
from annotation.api.model_calls.asked_endpoints import (
    AskingSent,
    CallPlanShape,
    CallsShape,
    ConfirmedSent,
    OfNoPlace,
    check_confirmed,
    prompt_chosen,
)
from annotation.api.questionbank.question_list import bank_named
from annotation.api.resources import ActOn, ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.audit.recording import lock_log
from annotation.call_enums import BatchState, PromptPurpose, ReportSource, SentImages
from annotation.enums import Role
from annotation.generation.generation_plans import (
    GenerationPlan,
    GenerationWanted,
    begin_generation,
    generation_wanted,
    plan_generation,
)
from annotation.generation.generation_progress import GenerationProgress
from annotation.generation.kernels.answer_forms import MOST_QUESTIONS
from annotation.generation.kernels.sent_reports import MOST_REPORTS, sent_values
from annotation.model_calls.call_batches import act_named
from annotation.model_calls.kernels.filling import LONGEST_SCHEMA
from annotation.model_calls.versions import LONGEST_NAME, LONGEST_REASON, LONGEST_TEXT, PROMPT_IMAGES, next_version
from annotation.models import CallBatch, GenerationRun, PromptVersion, QuestionBank
from annotation.people.kept_answers import MadeAnswer


class GenerationSent(AskingSent):
    """Reports come from one of ``exams``, ``every_exam``, ``chosen`` and ``reports``."""

    exams = serializers.IntegerField(
        min_value=1,
        max_value=MOST_REPORTS,
        default=None,
        allow_null=True,
        source="n_exams",
        help_text="so many of the bank, drawn by the seed; one report each",
    )
    every_exam = serializers.BooleanField(default=False, help_text="all of the bank that have a report")
    chosen = serializers.ListField(
        child=serializers.CharField(max_length=1000), default=list, max_length=MOST_REPORTS, help_text="ids of exams"
    )
    reports = serializers.ListField(
        child=serializers.DictField(),
        default=None,
        allow_null=True,
        min_length=1,
        max_length=MOST_REPORTS,
        help_text="of exams of the bank: each study_id, and report, or Findings and Impression",
    )
    mask = serializers.BooleanField(
        default=False, source="masks", help_text="mask what looks like an identifier; else its report is held back"
    )
    per_exam = serializers.IntegerField(
        min_value=1, max_value=MOST_QUESTIONS, default=3, help_text="questions, at most"
    )
    seed = serializers.IntegerField(min_value=0, max_value=2**31 - 1, default=1)
    bullets_prompt = serializers.CharField(
        max_length=40, default=None, allow_null=True, help_text="id of a prompt for findings; null: that of the program"
    )
    questions_prompt = serializers.CharField(
        max_length=40, default=None, allow_null=True, help_text="id of a prompt for questions"
    )


class GenerationBegun(ConfirmedSent, GenerationSent):
    pass


def wanted_from(bank: QuestionBank, sent: dict[str, Any]) -> GenerationWanted:
    """Raises ValidationError, EndpointRefused and FileRefused."""
    purposes = {"bullets_prompt": PromptPurpose.BULLETS, "questions_prompt": PromptPurpose.QUESTIONS}
    prompts = {name: prompt_chosen(name, sent[name], purpose) for name, purpose in purposes.items()}
    reports = sent_values(sent["reports"]) if sent["reports"] is not None else None
    return generation_wanted(bank, **{**sent, **prompts, "chosen": tuple(sent["chosen"]), "reports": reports})


class GenerationPlanShape(CallPlanShape):
    """What a run would ask, and under which permission. Nothing is stored or sent by it."""

    reports = serializers.IntegerField()
    characters = serializers.IntegerField(help_text="of all reports")
    refused = serializers.ListField(child=serializers.DictField(), help_text="exams that the identifier check left out")
    masked = serializers.ListField(child=serializers.DictField(), help_text="exams of which masked texts are sent")
    per_exam = serializers.IntegerField()
    seed = serializers.IntegerField()
    questions_at_most = serializers.IntegerField()
    prompts = serializers.ListField(child=serializers.CharField())


class GenerationRunLine(Shown):
    id = serializers.CharField(source="run.public_id")
    endpoint = serializers.CharField(source="run.bullets_batch.endpoint")
    model = serializers.CharField(source="run.bullets_batch.model")
    reports_of = WordChoice(ReportSource, source="run.source")
    per_exam = serializers.IntegerField(source="run.per_exam")
    seed = serializers.IntegerField(source="run.seed")
    state = WordChoice(BatchState, source="run.batch_state", help_text="of the calls that are asked at the moment")
    n_made = serializers.IntegerField(source="run.n_made", help_text="questions")
    created_by = PersonName(source="run.created_by")
    created_at = Moment(source="run.created_at")
    finished_at = Moment(source="run.finished_at", allow_null=True)


class GenerationRunShape(GenerationRunLine):
    says = serializers.CharField(source="sentence", read_only=True, help_text="its state, and what can be done")
    acts = serializers.SerializerMethodField(help_text="that are possible now")
    n_reports = serializers.IntegerField(read_only=True)
    refused = serializers.ListField(
        source="run.refused", child=serializers.DictField(), help_text="exams that the identifier check left out"
    )
    masked = serializers.ListField(
        source="run.masked", child=serializers.DictField(), help_text="exams of which masked texts are sent"
    )
    n_findings = serializers.IntegerField(source="n_bullets", read_only=True)
    n_findings_usable = serializers.IntegerField(source="n_usable", read_only=True)
    n_not_made = serializers.IntegerField(
        read_only=True, help_text="questions that the model wrote and a rule kept out"
    )
    not_made = serializers.SerializerMethodField(help_text="by rule")
    calls = serializers.SerializerMethodField(help_text="for findings, then for questions")

    def get_acts(self, row: GenerationProgress) -> list[str]:
        return [name for name, _label in row.acts]

    def get_not_made(self, row: GenerationProgress) -> dict[str, int]:
        return {one.rule: one.n for one in row.not_made}

    def get_calls(self, row: GenerationProgress) -> list[dict[str, Any]]:
        return [dict(CallsShape({"batch": batch, "tally": tally}).data) for batch, tally in row.calls]


def batch_now(run: GenerationRun) -> CallBatch:
    """That is asked at the moment, or was last."""
    return run.questions_batch or run.bullets_batch


class _OfGeneration(Resource):
    """Begins with the bank of the address, which a token reaches or not."""

    roles = (Role.COORDINATOR,)
    reach = None

    @property
    def bank(self) -> QuestionBank:
        return bank_named(self.person, self.kwargs["slug"])

    def rows(self) -> QuerySet[GenerationRun]:
        rows = GenerationRun.objects.filter(bank=self.bank).select_related("created_by", "questions_prompt")
        steps = ("bullets_batch", "questions_batch")
        rows = rows.annotate(batch_state=Coalesce("questions_batch__state", "bullets_batch__state"))
        return rows.select_related(*(f"{step}__{part}" for step in steps for part in ("prompt", "price")))


class PlanGeneration(OnlyPost, _OfGeneration):
    """How many calls a run would make, of which reports and under which permission. It stores and sends nothing."""

    shape, body = GenerationPlanShape, GenerationSent
    summary = "Plan a run that writes questions"

    def post(self, request: Request, **named: Any) -> Response:
        wanted = wanted_from(self.bank, self.sent(GenerationSent))
        return Response(self.shown(plan_generation(wanted, at=timezone.now()).as_json()))


class GenerationRuns(_OfGeneration, ListOf[GenerationRun]):
    """Runs in which a model writes questions from reports. A POST begins one: the number of its calls, which the plan
    tells, must be confirmed; a worker asks the model then.
    """

    shape, body = GenerationRunLine, GenerationBegun
    makes, status = True, 201
    summary, post_summary = "List runs that write questions", "Begin a run that writes questions"

    def listed(self, rows: Any, cursor: str, only: Any) -> Response:
        return super().listed([GenerationProgress(one) for one in rows], cursor, only)

    def post(self, request: Request, **named: Any) -> Response:
        bank, sent = self.bank, self.sent(GenerationBegun)
        confirmed, wanted = sent.pop("confirmed_calls"), wanted_from(bank, sent)

        def begin(plan: GenerationPlan) -> MadeAnswer:
            check_confirmed(confirmed, plan.n_calls)
            run = begin_generation(plan, **self.by()).stored_run
            shown = GenerationProgress(self.rows().get(pk=run.pk))
            return self.made(shown, "api-generation-run", bank.slug, run.public_id)

        return self.once_planned(lambda: plan_generation(wanted, at=timezone.now()), begin)


class OneGenerationRun(_OfGeneration, OneOf[GenerationRun]):
    """One run: how far it is, what it made and what not by which rule, tokens and cost."""

    shape = GenerationRunShape
    summary = "Read one run that writes questions"

    def shown(self, row: Any, only: Any = None) -> Any:
        return super().shown(GenerationProgress(row), only)

    def lock(self) -> None:
        lock_rows(batch_now(self.one()))


class ActOnGenerationRun(ActOn[GenerationRun], OneGenerationRun):
    """``pause``, ``resume`` or ``stop`` (for good) the calls that are asked at the moment."""

    summary = "Pause, resume or stop a run that writes questions"

    def act_on(self, run: GenerationRun) -> None:
        act_named(batch_now(run), self.kwargs["act"], **self.by())


READERS: tuple[Role, ...] = (Role.COORDINATOR, Role.ADMINISTRATOR)


class PromptLine(Shown):
    id = serializers.CharField(source="public_id")
    name = serializers.CharField()
    number = serializers.IntegerField(help_text="of this name")
    purpose = WordChoice(PromptPurpose)
    images = WordChoice(SentImages)
    sha256 = serializers.CharField(help_text="over everything that is sent")
    made_from = serializers.CharField(source="parent.public_id", default=None, allow_null=True)
    reason = serializers.CharField()
    author = PersonName(help_text="null: it came with the program")
    made_at = Moment()


class PromptShape(PromptLine):
    instruction = serializers.CharField()
    text = serializers.CharField()
    variables = serializers.ListField(child=serializers.CharField())
    schema = serializers.CharField(help_text="of the answer, as JSON; empty: plain text")


class PromptFilters(django_filters.FilterSet):
    name = django_filters.CharFilter()
    purpose = django_filters.ChoiceFilter(choices=[(word.value, word.label) for word in PromptPurpose])


class Prompts(OfNoPlace, ListOf[PromptVersion]):
    """Versions of prompts. Each never changes."""

    roles = READERS
    shape = PromptLine
    filters = PromptFilters
    summary = "List prompts"

    def rows(self) -> QuerySet[PromptVersion]:
        return PromptVersion.objects.select_related("author", "parent").defer("instruction", "text", "schema")


class OnePrompt(OfNoPlace, OneOf[PromptVersion]):
    """One version of a prompt, everything as it is sent."""

    roles = READERS
    writers = (Role.COORDINATOR,)
    shape = PromptShape
    summary = "Read one prompt"

    def rows(self) -> QuerySet[PromptVersion]:
        return PromptVersion.objects.select_related("author", "parent")

    def lock(self) -> None:
        lock_log()  # what makes the next version locks it first


class PromptSent(SentBody):
    """What is not sent is as in the version before."""

    reason = serializers.CharField(max_length=LONGEST_REASON, help_text="what is changed, and why")
    name = serializers.CharField(
        max_length=LONGEST_NAME, required=False, help_text="another one begins a prompt of its own"
    )
    instruction = serializers.CharField(
        max_length=LONGEST_TEXT, required=False, allow_blank=True, trim_whitespace=False
    )
    text = serializers.CharField(max_length=LONGEST_TEXT, required=False, trim_whitespace=False)
    variables = serializers.ListField(child=serializers.CharField(max_length=100), required=False, max_length=100)
    images = serializers.ChoiceField(choices=[(word.value, word.label) for word in PROMPT_IMAGES], required=False)
    schema = serializers.CharField(max_length=LONGEST_SCHEMA, required=False, allow_blank=True)


class NextPrompt(OnlyPost, OnePrompt):
    """Store the next version of a prompt, of which nothing makes use before somebody names it."""

    body = PromptSent
    makes, status = True, 201
    summary = "Write the next version of a prompt"

    def post(self, request: Request, **named: Any) -> Response:
        parent, sent = self.one(), self.sent(PromptSent)

        def make() -> MadeAnswer:
            made = next_version(parent, **sent, **self.by())
            return self.made(made, "api-prompt", made.public_id)

        return self.once(make)
