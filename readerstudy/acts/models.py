"""Which models, files of predictions and runs of models a person knows, and what is done with them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation.acts import Act, Confirmation
from annotation.acts.banks import COORDINATORS
from annotation.call_enums import CallOutcome
from annotation.model_calls.call_batches import change_cap, end, pause, stop
from annotation.model_calls.next_calls import tally
from annotation.models import Job, QuestionBank, Upload, User
from annotation.models.fields import AsRead
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sorted_tables import Columns
from readerstudy.enums import EntryState
from readerstudy.forms.models import ExplanationsForm, ModelRunCapForm, StartModelRunForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.model_runs.following import ask_first_questions, resume_run, start_run
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.model_runs.publishing import ask_to_publish, read_again
from readerstudy.models import ModelEntry, ModelRun, PredictionRun
from readerstudy.predictions import uploads
from readerstudy.predictions.entries import UPLOADS, knows_scores
from readerstudy.predictions.graded_explanations import draw_explanations
from readerstudy.predictions.listing import (
    close_submissions,
    entries_known_to,
    open_submissions,
    runs_known_to,
    targets_for,
)
from readerstudy.predictions.runs import name_run, withdraw_run
from readerstudy.predictions.uploads import PredictionFileParams
from readerstudy.results.comparison_job import banks_compared
from readerstudy.study.permissions import coordinates_a_study, may_change_model, may_enter_models


def check_works_with_models(person: User) -> None:
    """To everybody else models do not exist, and nothing is asked about them."""
    if not may_enter_models(person) and not is_administrator(person):
        raise Http404


def known_entry(person: User, public_id: str) -> ModelEntry:
    check_works_with_models(person)
    return get_object_or_404(entries_known_to(person), public_id=public_id)


def changeable_entry(person: User, public_id: str) -> ModelEntry:
    entry = known_entry(person, public_id)
    _check_may_change(person, entry)
    return entry


def check_changeable(person: User, public_ids: Collection[str]) -> None:
    """As ``changeable_entry``, for several in one query."""
    entries = list(entries_known_to(person).filter(public_id__in=public_ids)) if public_ids else []
    if len({entry.public_id for entry in entries}) < len(public_ids):
        raise Http404
    for entry in entries:
        _check_may_change(person, entry)


def _check_may_change(person: User, entry: ModelEntry) -> None:
    if not may_change_model(person, entry):
        raise PermissionDenied(_("Only coordinators and whoever entered a model change it."))


def known_run(person: User, public_id: str) -> PredictionRun:
    check_works_with_models(person)
    run = get_object_or_404(runs_known_to(person), public_id=public_id)
    known_entry(person, run.entry.public_id)
    return run


def changeable_run(person: User, public_id: str) -> PredictionRun:
    run = known_run(person, public_id)
    changeable_entry(person, run.entry.public_id)
    return run


MODELS_SORTED_BY: Columns = {
    "model": AsRead("name"),
    "version": "version",
    "state": "state",
    "who": AsRead("submitter__name"),
}


def check_enters_models(person: User) -> None:
    """Raises PermissionDenied."""
    if not may_enter_models(person):
        raise PermissionDenied(_("This page is for people who coordinate studies or submit models."))


def check_lists_models(person: User) -> None:
    """As ``check_enters_models``; administrators look on."""
    if not is_administrator(person):
        check_enters_models(person)


def listed_entry(person: User, public_id: str) -> ModelEntry:
    """The model, to send predictions of it."""
    entry = changeable_entry(person, public_id)
    if entry.state != EntryState.LISTED:
        raise PermissionDenied(_("This model takes no predictions any more."))
    return entry


def import_of(person: User, public_id: str) -> tuple[Upload, Job]:
    """A sent file with the job that stores or checks it; only for who may still send it."""
    [found] = imports_of(person, [public_id])
    return found


def imports_of(person: User, public_ids: Sequence[str]) -> list[tuple[Upload, Job]]:
    """Several of them, in this order, with as many queries as for one. Raises Http404 where any is not theirs."""
    check_works_with_models(person)
    rows = Upload.objects.select_related("job", "created_by").filter(public_id__in=public_ids, purpose=UPLOADS)
    sent, stored = {row.public_id: row for row in rows}, uploads.FILES.store_jobs(public_ids)
    found = []
    for public_id in public_ids:
        job = stored.get(public_id) or (sent[public_id].job if public_id in sent else None)
        if job is None:
            raise Http404
        found.append((sent[public_id], job))
    _check_may_send(person, [job.params for _upload, job in found])
    return found


def _check_may_send(person: User, asked: Sequence[PredictionFileParams]) -> None:
    """Raises Http404 for a model or a target that the person does not know, PermissionDenied for another's model."""
    if not is_coordinator(person) and not all(params["entry"] for params in asked):
        raise Http404  # a model that is made with its predictions
    check_changeable(person, {params["entry"] for params in asked if params["entry"]})
    targets = {(one.study.slug if one.study else "", one.bank.slug) for one in targets_for(person)}
    if not targets.issuperset((params["study"], params["bank"]) for params in asked):
        raise Http404


def check_runs_models(person: User) -> None:
    """Raises PermissionDenied."""
    if not is_coordinator(person) and not coordinates_a_study(person):
        raise PermissionDenied(_("This page is for people who coordinate."))


def bank_compared(person: User, slug: str) -> QuestionBank:
    """Raises PermissionDenied for who may not know scores, Http404 for a bank without a main run."""
    check_knows_scores(person)
    return get_object_or_404(banks_compared(), slug=slug)


def check_knows_scores(person: User) -> None:
    """Refused before any bank is looked up: to others none is compared."""
    if not knows_scores(person):
        raise PermissionDenied(_("Only coordinators and administrators see how models score on a bank."))


# --- what is done ---------------------------------------------------------------------------------
class RunAct(Act[PredictionRun]):
    found_by, then = ("public_id",), "prediction-run"

    @classmethod
    def find(cls, person: User, **named: Any) -> PredictionRun:
        return changeable_run(person, named["public_id"])


class NamePredictionRun(RunAct):
    """Figures and tables show this run of its model. After a result was seen this is stored as chosen afterwards."""

    name, route, summary = "prediction-run-name", "name/", "Make a run the main run"
    do, done = name_run, gettext_lazy("Figures and tables show this run.")


class WithdrawPredictionRun(RunAct):
    """Out of the figures; its predictions stay stored."""

    name, route, summary = "prediction-run-withdraw", "withdraw/", "Withdraw a run of predictions"
    do, form, misread = withdraw_run, ReasonForm, gettext_lazy("Say why the run is withdrawn.")
    done = gettext_lazy("The run is withdrawn. Its predictions stay stored.")


class ReadRunAgain(RunAct):
    """The same answers by the rule of extraction of now, as a run of its own; the run stays what it is."""

    name, route, summary = "prediction-run-read-again", "read-again/", "Read the answers of a run again"
    do, done = read_again, gettext_lazy("The answers are read again, as a run of their own.")


class SubmissionsAct(Act[QuestionBank]):
    roles, rows, reach = COORDINATORS, QuestionBank.objects.all, {"bank": "pk"}

    def page(self) -> str:
        return reverse("models")


class OpenSubmissions(SubmissionsAct):
    """Submitters of models can send predictions for the bank from now on. Twice changes nothing."""

    name, route, summary = "submissions-open", "open/", "Open a bank to submitters"
    do, done = open_submissions, gettext_lazy("Model submitters can send predictions for this bank now.")


class CloseSubmissions(SubmissionsAct):
    """They cannot any more; what was sent stays. Twice changes nothing."""

    name, route, summary = "submissions-close", "close/", "Close a bank to submitters"
    do, done = close_submissions, gettext_lazy("Model submitters cannot send predictions for this bank any more.")


class DrawExplanations(Act[QuestionBank]):
    """A sample of explanations that models gave, drawn evenly over these runs. A round made of it grades them blind to
    the model, and shows rates by model once it is closed.
    """

    name, route, summary = "models-compare-explanations", "explanations/", "Draw explanations of models to be graded"
    roles, rows, reach = COORDINATORS, QuestionBank.objects.all, {"bank": "pk"}
    do = draw_explanations

    def form_for(self, sent: Mapping[str, Any]) -> ExplanationsForm:
        return ExplanationsForm(self.thing, self.person, sent)

    drawn = ""  # the page of the sample, once there is one

    def says(self, arguments: dict[str, Any], result: Any) -> str:
        self.drawn = reverse("sample", args=[result.slug])
        return _("The explanations are drawn: make a round of the sample “%(name)s”.") % {"name": result}

    def page(self) -> str:
        return self.drawn or f"{reverse('models-compare')}?{urlencode({'bank': self.thing.slug})}"


RUN_ACTS: tuple[type[RunAct], ...] = (NamePredictionRun, WithdrawPredictionRun, ReadRunAgain)
SUBMISSION_ACTS: tuple[type[SubmissionsAct], ...] = (OpenSubmissions, CloseSubmissions)
COMPARISON_ACTS: tuple[type[Act[QuestionBank]], ...] = (DrawExplanations,)


def run_of(person: User, public_id: str) -> ModelRun:
    """To everybody but coordinators runs do not exist, nor to coordinators those on what they read."""
    if not may_enter_models(person):
        raise Http404
    runs = runs_seen_by(person).select_related("batch__permission", "batch__created_by")
    return get_object_or_404(runs, batch__public_id=public_id)


class ModelRunAct(Act[ModelRun]):
    found_by = ("public_id",)

    @classmethod
    def find(cls, person: User, **named: Any) -> ModelRun:
        return run_of(person, named["public_id"])

    def page(self) -> str:
        return reverse("model-run", args=[self.thing.batch.public_id])


class _OnCalls(ModelRunAct):
    """What is the same for the calls of every room."""

    def run(self, arguments: dict[str, Any], at: datetime) -> Any:
        return type(self).do(self.thing.batch, **arguments, actor=self.person, at=at)


class TryModelRun(ModelRunAct):
    """Ask the first questions, by which the rest is estimated. Their answers are part of the run."""

    name, route, summary = "model-run-try", "try/", "Ask the first questions of a run"
    do, done = ask_first_questions, gettext_lazy("The first questions are being asked.")


class StartModelRun(ModelRunAct):
    """Ask all questions. Refused where nobody knows what it will cost, unless that is accepted, and where the cap is
    below the estimate.
    """

    name, route, summary = "model-run-start", "start/", "Start a run of a model"
    do, form, done = start_run, StartModelRunForm, gettext_lazy("The run is started.")


class PauseModelRun(_OnCalls):
    """Nothing more is sent; answers that are under way are still stored."""

    name, route, summary = "model-run-pause", "pause/", "Pause a run of a model"
    do, done = pause, gettext_lazy("Paused. Answers to questions already sent are still stored.")


class ResumeModelRun(ModelRunAct):
    """Go on with what has no answer of the model yet."""

    name, route, summary = "model-run-resume", "resume/", "Resume a run of a model"
    do, done = resume_run, gettext_lazy("The run goes on.")


class StopModelRun(_OnCalls):
    """For good: what was answered stays stored, and nothing of it is published."""

    name, route, summary = "model-run-stop", "stop/", "Stop a run of a model for good"
    do, done = stop, gettext_lazy("The run is stopped.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
        return Confirmation(
            about=str(self.thing.entry),
            title=_("Stop this run for good?"),
            sentences=[_("It cannot be resumed. What was answered stays stored, and nothing of it is published.")],
            label=_("Stop for good"),
            back=self.page(),
        )


class EndModelRun(_OnCalls):
    """Complete it without the questions that the endpoint refuses: they are missing in every table, and not wrong."""

    name, route, summary = "model-run-end", "end/", "End a run of a model without what the endpoint refused"
    do, done = end, gettext_lazy("The run is complete. Refused questions are missing in its results.")

    def confirmation(self, arguments: dict[str, Any], at: datetime) -> Confirmation:
        n_refused = tally(self.thing.batch).n(CallOutcome.REJECTED)
        sentence = ngettext(
            "%(n)d question was refused by the endpoint. It is counted apart on this page, and missing in tables: "
            "neither right nor wrong. It cannot be asked again afterwards.",
            "%(n)d questions were refused by the endpoint. They are counted apart on this page, and missing in "
            "tables: neither right nor wrong. They cannot be asked again afterwards.",
            n_refused,
        )
        return Confirmation(
            about=str(self.thing.entry),
            title=_("End this run without the refused questions?"),
            sentences=[sentence % {"n": n_refused}],
            label=_("End without the refused questions"),
            back=self.page(),
        )


class PublishModelRun(ModelRunAct):
    """A job publishes the answers of a complete run that is not published yet. One that waits or runs is enough."""

    name, route, summary = "model-run-publish", "publish/", "Publish a run of a model"
    do, done = ask_to_publish, gettext_lazy("The answers are being published.")


class CapModelRun(_OnCalls):
    """What the run may cost in all; it pauses before it costs more. A lower cap holds from the next call on."""

    name, route, summary = "model-run-cap", "cap/", "Change the cap of a run"
    do, form, done = change_cap, ModelRunCapForm, gettext_lazy("The cap is changed.")


MODEL_RUN_ACTS: tuple[type[ModelRunAct], ...] = (
    *(TryModelRun, StartModelRun, PauseModelRun),
    *(ResumeModelRun, EndModelRun, StopModelRun, CapModelRun, PublishModelRun),
)
