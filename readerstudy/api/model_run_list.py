"""Models at work, by the rules of their pages; and files of predictions, checked by a job, stored by another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import Http404
from django.utils import timezone
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from annotation.api.bodies import BodyRefused, Moment, PersonName, SentBody, WordChoice, cleaned
from annotation.api.resources import ListOf, OneOf, OnlyPost, Resource, Shown
from annotation.call_enums import BatchState, PromptPurpose, SentImages
from annotation.enums import JobState
from annotation.imaging.kernels.picture_policies import QUARTER
from annotation.jobs.queueing import facts_of_result, refusals_of
from annotation.model_calls.next_calls import tallies
from annotation.model_calls.versions import prompts_for
from annotation.models import Job, Upload
from annotation.people.kept_answers import MadeAnswer
from readerstudy.acts.models import check_runs_models, check_works_with_models, import_of, listed_entry, run_of
from readerstudy.api.model_list import OfModels
from readerstudy.enums import FILE_FORMS
from readerstudy.forms.models import ModelRunForm, PredictionsForm, target_value
from readerstudy.model_runs.following import RunProgress, outlasts_permission, why_unknown
from readerstudy.model_runs.planning import MOST_REPEATS, RunPlan, plan_run, runs_seen_by, store_run, targets_to_run
from readerstudy.models import ModelRun
from readerstudy.predictions import uploads
from readerstudy.predictions.kernels.records import FIRST, LAST, VOTED
from readerstudy.predictions.listing import Target, targets_for


class PredictionImportShape(Shown):
    """Of the job that stores the file, or while there is none of the one that checks it."""

    id = serializers.CharField(source="upload.public_id")
    file = serializers.CharField(source="job.params.name")
    model_name = serializers.CharField(source="job.params.model")
    bank = serializers.SlugField(source="job.params.bank")
    study = serializers.CharField(source="job.params.study", help_text="empty: the whole bank")
    created_by = PersonName(source="upload.created_by")
    created_at = Moment(source="upload.created_at")
    is_stored = serializers.SerializerMethodField(help_text="whether it is the job that stores, and that is done")
    may_be_stored = serializers.SerializerMethodField(help_text="the check is done and was good: POST to its store/")
    state = WordChoice(JobState, source="job.state")
    message = serializers.CharField(source="job.message")
    error = serializers.CharField(source="job.error", help_text="why its job failed")
    done = serializers.IntegerField(source="job.progress_done", help_text="bytes")
    total = serializers.IntegerField(source="job.progress_total")
    result = serializers.SerializerMethodField(help_text="counts, and run_id once it is stored")
    refusals = serializers.SerializerMethodField(help_text="rows that were not taken, with the reason")

    def get_is_stored(self, row: Mapping[str, Any]) -> bool:
        job: Job = row["job"]
        return job.kind == uploads.STORE and job.state == JobState.SUCCEEDED

    def get_may_be_stored(self, row: Mapping[str, Any]) -> bool:
        return uploads.may_store(row["job"])

    def get_result(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return facts_of_result(row["job"])

    def get_refusals(self, row: Mapping[str, Any]) -> list[Any]:
        return refusals_of(row["job"])


class AnswersSent(SentBody):
    file = serializers.FileField(allow_empty_file=True, help_text="JSON, JSON Lines, CSV, TSV or XLSX")
    duplicates = serializers.ChoiceField(
        choices=[
            (FIRST, "the first counts"),
            (LAST, "the last counts"),
            (VOTED, "the one that the harness chose counts"),
        ],
        required=False,
        help_text="which of several answers counts; otherwise a file in which they differ is refused",
    )


class PredictionsSent(AnswersSent):
    model = serializers.CharField(help_text="its id")
    study = serializers.SlugField(required=False, help_text="of its cases")
    bank = serializers.SlugField(required=False, help_text="of all of its questions; either this or a study")
    form = serializers.ChoiceField(
        choices=[(word.value, word.label) for word in FILE_FORMS], required=False, help_text="found, if you do not say"
    )


class PredictionFiles(Resource):
    """A file of predictions of one model for a study or a bank. 202: a job checks it and stores nothing. Once it was
    found good, POST to its ``store/``.
    """

    parser_classes = [MultiPartParser]
    shape, body = PredictionImportShape, PredictionsSent
    makes, status = True, 202
    summary = "Send a file of predictions"

    def post(self, request: Request, **named: Any) -> Response:
        check_works_with_models(self.person)
        sent = self.sent(PredictionsSent)
        entry = listed_entry(self.person, sent["model"])
        target = target_named(targets_for(self.person), sent)
        data = {"target": target_value(target), **{name: sent.get(name, "") for name in ("form", "duplicates")}}
        chosen = cleaned(PredictionsForm([target], data, {"file": sent["file"]}))
        asked = uploads.UploadRequest(entry, target, chosen["form"], chosen["duplicates"])

        def receive() -> MadeAnswer:
            file = chosen["file"]
            upload = uploads.receive_file(file.chunks(), file.name, asked=asked, **self.by())
            address = reverse("api-prediction-import", args=[upload.public_id])
            return MadeAnswer(202, self.shown({"upload": upload, "job": upload.job}), address)

        return self.once(receive)


def target_named(targets: Iterable[Target], sent: Mapping[str, Any]) -> Target:
    """The one that a body names as ``study`` or ``bank``. Raises Http404 where it is not among them."""
    study, bank = sent.get("study", ""), sent.get("bank", "")
    if bool(study) == bool(bank):
        raise BodyRefused("which_target", "Name a study or a bank.", status=422, field="study")
    for target in targets:
        if bool(target.study) == bool(study) and target.slug == (study or bank):
            return target
    raise Http404


class OnePredictionImport(OneOf[Upload]):
    """One file of predictions: how far its check or its import is, and what was not taken."""

    shape = PredictionImportShape
    summary = "Read one import of predictions"

    def one(self) -> Upload:
        return import_of(self.person, self.kwargs["public_id"])[0]

    def get(self, request: Request, **named: Any) -> Response:
        return self.conditional(self.shown(self.found(), self.only()))

    def found(self) -> dict[str, Any]:
        upload, job = import_of(self.person, self.kwargs["public_id"])
        return {"upload": upload, "job": job}


class StorePredictions(OnlyPost, OnePredictionImport):
    """Store a file that was checked and found good. Asking twice stores it once."""

    status = 202
    summary = "Store checked predictions"

    def post(self, request: Request, **named: Any) -> Response:
        uploads.store_checked(self.found()["upload"], **self.by())
        response = Response(self.shown(self.found()), status=202)
        response["Location"] = reverse("api-prediction-import", args=[named["public_id"]])
        return response


COUNTED = {"outcomes", "n_done", "n_asked_twice", "input_tokens", "output_tokens", "cost"}  # of all calls


class ModelRunOutcomes(Shown):
    """Calls; “refused”, “cut” and “failed” count as wrong, “not asked” never does."""

    answered = serializers.IntegerField()
    failed = serializers.IntegerField(help_text="answers from which no option could be taken")
    refused = serializers.IntegerField()
    cut = serializers.IntegerField(help_text="at the token limit")
    not_asked = serializers.IntegerField(help_text="not yet, or the way to the model failed: asked again")


class ModelRunExpected(Shown):
    """A total of the whole run with its 95 % interval."""

    value = serializers.FloatField()
    low = serializers.FloatField()
    high = serializers.FloatField()


class ModelRunEstimate(Shown):
    """From the first questions; null where it is not known."""

    calls = serializers.IntegerField(default=None, allow_null=True)
    made = serializers.IntegerField(default=None, allow_null=True, help_text="calls from which it is estimated")
    connections = serializers.IntegerField(default=None, allow_null=True, help_text="calls at once")
    method = serializers.CharField(default=None, allow_null=True)
    bytes = ModelRunExpected(default=None, allow_null=True)
    input_tokens = ModelRunExpected(default=None, allow_null=True)
    output_tokens = ModelRunExpected(default=None, allow_null=True)
    hours = ModelRunExpected(default=None, allow_null=True)
    cost = ModelRunExpected(default=None, allow_null=True)
    at = serializers.CharField(default=None, allow_null=True, help_text="of the start; null before it")


class ModelRunLine(Shown):
    id = serializers.CharField(source="run.batch.public_id")
    model = serializers.CharField(source="run.entry.public_id")
    model_name = serializers.CharField(source="run.entry")
    bank = serializers.SlugField(source="run.batch.bank.slug")
    study = serializers.SlugField(
        source="run.study.slug", default=None, allow_null=True, help_text="null: the whole bank"
    )
    state = WordChoice(BatchState)
    endpoint = serializers.CharField(source="run.batch.endpoint")
    endpoint_model = serializers.CharField(source="run.batch.model")
    prompt = serializers.CharField(source="run.batch.prompt.name")
    prompt_number = serializers.IntegerField(source="run.batch.prompt.number")
    images = WordChoice(SentImages, source="run.batch.images")
    picture_policy = serializers.CharField(source="run.batch.picture_policy")
    n_orders = serializers.IntegerField(source="run.batch.n_orders")
    n_repeats = serializers.IntegerField(source="run.batch.n_repeats")
    n_calls = serializers.IntegerField(source="run.batch.n_calls")
    n_done = serializers.IntegerField(source="tally.n_done", help_text="calls with an answer of the model")
    outcomes = ModelRunOutcomes(source="counts")
    n_asked_twice = serializers.IntegerField(
        source="tally.n_asked_twice", help_text="under way when a worker was stopped: paid twice"
    )
    input_tokens = serializers.IntegerField(source="tally.n_input")
    output_tokens = serializers.IntegerField(source="tally.n_output")
    cost = serializers.CharField(source="spent", allow_null=True, help_text="a decimal; null without a price")
    cap = serializers.CharField(source="run.batch.cap", allow_null=True, help_text="a decimal; null: none")
    currency = serializers.CharField(help_text="of the price; empty without one")
    created_by = PersonName(source="run.batch.created_by")
    created_at = Moment(source="run.batch.created_at")
    started_at = Moment(source="run.batch.started_at", allow_null=True)
    finished_at = Moment(source="run.batch.finished_at", allow_null=True)


class ModelRunShape(ModelRunLine):
    says = serializers.CharField(source="sentence", help_text="where the run stands, and why it paused")
    chat_settings = serializers.DictField(source="run.batch.chat_settings")
    permission_until = Moment(source="run.batch.permission.expires_at")
    estimate = ModelRunEstimate(
        source="shown_estimate", allow_null=True, help_text="before the start that of now, afterwards that of the start"
    )
    cost_unknown = serializers.SerializerMethodField(
        help_text="why nobody knows what it will cost; a start then needs accepts_unknown_cost. Empty otherwise"
    )
    outlasts_permission = serializers.SerializerMethodField(
        help_text="whether it may still be going on when its permission ends; of a planned run"
    )
    is_at_work = serializers.BooleanField(help_text="whether something goes on by itself: ask again")
    prediction_runs = serializers.SerializerMethodField(help_text="as which it was published, by repeat")

    def get_cost_unknown(self, found: RunProgress) -> str:
        is_known = found.estimate is not None and found.estimate.cost is not None
        return "" if is_known or found.state != BatchState.PLANNED else why_unknown(found.run, found.estimate)

    def get_outlasts_permission(self, found: RunProgress) -> bool:
        return found.estimate is not None and outlasts_permission(found.run, found.estimate, timezone.now())

    def get_prediction_runs(self, found: RunProgress) -> list[str]:
        return [one.public_id for one in found.published]


class ModelRunSent(SentBody):
    """A run of one model over the questions of a study or a bank. What is not sent keeps the default of the page."""

    name = serializers.CharField(help_text="of the model in figures; one that is not listed is entered")
    version = serializers.CharField(default="", allow_blank=True)
    study = serializers.SlugField(required=False, help_text="its cases")
    bank = serializers.SlugField(required=False, help_text="all of its questions; either this or a study")
    endpoint = serializers.CharField(help_text="its name")
    endpoint_model = serializers.CharField(
        default="", allow_blank=True, help_text="as the endpoint calls the model; empty: as it is set there"
    )
    prompt = serializers.CharField(help_text="its name")
    prompt_number = serializers.IntegerField(
        required=False, min_value=1, max_value=100_000, help_text="the newest version, if you do not say"
    )
    images = serializers.ChoiceField(
        choices=[(word.value, word.label) for word in SentImages], required=False, help_text="those of the prompt"
    )
    picture_policy = serializers.CharField(default=QUARTER, help_text="quarter-1, stored-1, longest-1024-1")
    n_orders = serializers.IntegerField(default=1, help_text="1, or 4: all rotations of the options")
    n_repeats = serializers.IntegerField(default=1, min_value=1, max_value=MOST_REPEATS)
    cap = serializers.DecimalField(
        max_digits=12, decimal_places=4, required=False, allow_null=True, help_text="in the currency of the price"
    )
    temperature = serializers.FloatField(default=0, allow_null=True, help_text="0 to 2; null: not sent")
    max_tokens = serializers.IntegerField(default=None, allow_null=True, help_text="of an answer; null: not sent")
    seed = serializers.IntegerField(default=1, help_text="of the questions that are asked first")


class ModelRunFilters(django_filters.FilterSet):
    state = django_filters.ChoiceFilter(
        field_name="batch__state", choices=[(word.value, word.label) for word in BatchState]
    )
    model = django_filters.CharFilter(field_name="entry__public_id")
    bank = django_filters.CharFilter(field_name="batch__bank__slug")
    study = django_filters.CharFilter(field_name="study__slug")


class ModelRuns(OfModels, ListOf[ModelRun]):
    """Runs of models on this site, the newest first: those that the person coordinates, and reads nothing of. A POST
    plans one: nothing is sent to the model by it. POST to its ``try/`` for an estimate, then to its ``start/``.
    """

    shape, body = ModelRunLine, ModelRunSent
    filters = ModelRunFilters
    makes, status = True, 201
    summary, post_summary = "List runs of models", "Plan a run of a model"

    def rows(self) -> QuerySet[ModelRun]:
        check_runs_models(self.person)
        return runs_seen_by(self.person).select_related("batch__created_by")

    def listed(self, rows: Sequence[Any], cursor: str, only: Sequence[str] | None) -> Response:
        found = [RunProgress(run) for run in rows]
        if only is None or COUNTED & set(only):
            counted = tallies([run.batch_id for run in rows])
            for one in found:
                one.tally = counted[one.run.batch_id]
        return super().listed(found, cursor, only)

    def post(self, request: Request, **named: Any) -> Response:
        check_runs_models(self.person)
        sent = self.sent(ModelRunSent)
        targets = targets_to_run(self.person)
        versions = prompts_for(PromptPurpose.ANSWER).filter(name=sent["prompt"])
        if number := sent.get("prompt_number"):
            versions = versions.filter(number=number)
        prompt = versions.first()
        chosen = {"target": target_value(target_named(targets, sent)), "prompt": prompt.pk if prompt else 0}
        form = ModelRunForm(targets, {**sent, **chosen})
        cleaned(form)

        def store(plan: RunPlan) -> MadeAnswer:
            run = store_run(plan, **self.by()).stored_run
            return MadeAnswer(201, self.shown(RunProgress(run)), reverse("api-model-run", args=[run.batch.public_id]))

        return self.once_planned(lambda: plan_run(form.wanted(), **self.by()), store)


class OneModelRun(OfModels, OneOf[ModelRun]):
    """One run: what it asks, how far it is, what its calls came to and cost. Before the start its estimate; once it is
    complete, the runs of predictions as which it was published.
    """

    shape = ModelRunShape
    summary = "Read one run of a model"
    locks = ("batch",)

    def one(self) -> ModelRun:
        return run_of(self.person, self.kwargs["public_id"])

    def shown(self, row: Any, only: Sequence[str] | None = None) -> Any:
        return super().shown(RunProgress(row), only)
