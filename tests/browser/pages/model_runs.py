"""Runs of models in every state, for the site in which every page has something to show."""

from __future__ import annotations

from typing import Any

from django.utils import timezone

from annotation.enums import BatchState, CallOutcome
from annotation.models import CallBatch, ModelCall
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target
from readerstudy.running.publishing import publish
from tests.browser.pages.place import Place
from tests.readerstudy.running.made import answer, end, make_prompt, planned, set_price

OUTCOMES = {1: CallOutcome.REFUSED, 2: CallOutcome.CUT, 3: CallOutcome.FAILED}


def run_models(place: Place) -> None:
    """Needs the endpoint of tests.readerstudy.running.made."""
    prompt = make_prompt(place.named("reading of a run")[:100], text=place.said("{{question}}\n{{options}}"))
    set_price()

    def make(name: str, **fields: Any) -> ModelRun:
        target = Target(place.things["study draft"].bank)
        run = planned(target, name=place.named("Model at work"), version=name, prompt=prompt, **fields)
        CallBatch.objects.filter(pk=run.batch_id).update(created_by=place.people["cora"])
        place.things[f"at work {name}"] = run.batch
        return run

    make("new")
    answer(make("estimated", n_repeats=20, cap=12), lambda call: place.said("B"), n=8)
    end(make("tried"), BatchState.TRYING)
    running = make("running", n_orders=4, n_repeats=2)
    answer(running, lambda call: place.said("The answer is B."), outcomes=OUTCOMES, n=20)
    ModelCall.objects.filter(batch=running.batch, number=5).update(n_sent=2)
    end(running, BatchState.RUNNING)
    paused = make("paused")
    end(paused, BatchState.PAUSED)
    CallBatch.objects.filter(pk=paused.batch_id).update(paused_because=place.said("The endpoint refused the key."))
    end(make("stopped"), BatchState.STOPPED)
    complete = make("complete", n_repeats=2)
    answer(complete, lambda call: place.said("B"), outcomes=OUTCOMES)
    end(complete)
    publish(complete, actor=place.people["cora"], at=timezone.now())
    place.things["run of a model"] = complete.published.select_related("run").get(repeat=0).run
