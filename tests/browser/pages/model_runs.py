"""Runs of models in every state, for the site in which every page has something to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from annotation.call_enums import BatchState, CallOutcome, SentImages
from annotation.endpoints.kernels.completions import ChatSettings
from annotation.enums import RoundState
from annotation.jobs.running import run as run_job
from annotation.models import CallBatch, Job, ModelCall
from readerstudy.analysis.storing import VARIANTS
from readerstudy.model_runs.publishing import publish
from readerstudy.models import ModelRun
from readerstudy.predictions.listing import Target
from readerstudy.results.variants import family_of, tables_for
from tests.annotation.review.cases import images_are_there, make_round
from tests.browser.pages.place import Place
from tests.readerstudy.comparison.variant_runs import review, right_on
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import answer, end, make_prompt, planned, set_price

OUTCOMES = {1: CallOutcome.REFUSED, 2: CallOutcome.CUT, 3: CallOutcome.FAILED}


def run_models(place: Place) -> None:
    """Needs the endpoint of tests.readerstudy.model_runs.made."""
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
    _vary(place)


def _vary(place: Place) -> None:
    """A model asked in every way on a bank that Nils has reviewed; one of its runs waits, and its tables are there."""
    bank = make_questions(24, name="Varied", pixels=False, stem=place.said("Which finding is absent?"))
    images_are_there(bank)
    prompt = make_prompt(place.named("reading with images")[:100], images=SentImages.ALL)

    def run(say: Callable[[ModelCall], str], **fields: Any) -> ModelRun:
        made = planned(Target(bank), name=place.named("Varied model"), version="1", prompt=prompt, **fields)
        answer(made, say)
        end(made)
        return made

    plain = run(right_on(*range(1, 19)), n_orders=4, n_repeats=3)
    run(right_on(*range(1, 9), 20), images=SentImages.NONE, chat=ChatSettings(temperature=1.0))
    run(lambda call: "A", images=SentImages.BLANK, n_orders=4)
    planned(Target(bank), name=place.named("Varied model"), version="1", prompt=prompt, images=SentImages.FIRST)
    nils = place.people["nils"]
    closed = make_round(nils, n_questions=0, name="Varied", bank=bank, state=RoundState.CLOSED)
    for number in range(1, 19):
        review(closed, number, {nils: ("yes", "yes", "partly", "no")[number % 4]})
    tables_for(family_of(plain), at=timezone.now())
    run_job(Job.objects.get(kind=VARIANTS).public_id, clock=timezone.now)
    place.things["varied"] = plain.batch
