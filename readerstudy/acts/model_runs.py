"""What a coordinator does with a run of a model."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.acts import Act, Confirmation
from annotation.model_calls.call_batches import change_cap, pause, stop
from annotation.models import User
from readerstudy.forms.models import ModelRunCapForm, StartModelRunForm
from readerstudy.model_runs.following import ask_first_questions, resume_run, start_run
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.models import ModelRun
from readerstudy.study.permissions import may_enter_models


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


class CapModelRun(_OnCalls):
    """What the run may cost in all; it pauses before it costs more. A lower cap holds from the next call on."""

    name, route, summary = "model-run-cap", "cap/", "Change the cap of a run"
    do, form, done = change_cap, ModelRunCapForm, gettext_lazy("The cap is changed.")


MODEL_RUN_ACTS: tuple[type[ModelRunAct], ...] = (
    *(TryModelRun, StartModelRun, PauseModelRun),
    *(ResumeModelRun, StopModelRun, CapModelRun),
)
