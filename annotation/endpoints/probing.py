"""Probe a model at an endpoint with phantom images, and say which settings of a run the newest probe refutes."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.endpoints.client import Limits, ModelClient
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoint_named, key_for
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.kernels.probe_findings import ProbeFinding, findings_of
from annotation.endpoints.kernels.probe_requests import ProbeReply, ProbeStep, next_request, seconds_between
from annotation.endpoints.kernels.probe_words import ProbeAnswer, ProbeQuestion
from annotation.endpoints.leases import LeaseLost, give_lease_back, is_leased, renew_lease, take_lease
from annotation.jobs.handlers import Params, Progress, Result
from annotation.jobs.queueing import enqueue, job_under_way
from annotation.models import EndpointProbe, Job, User
from annotation.models.endpoints import LONGEST_MODEL

KIND = "probe_endpoint"
LIMITS = Limits(total_seconds=300)
MODEL_NAME = re.compile(rf"[!-~]{{1,{LONGEST_MODEL}}}")


def ask_for_probe(endpoint: Endpoint, model: str, *, actor: User, at: datetime) -> Job:
    """A job that probes it; one that waits or runs already is enough. Raises EndpointRefused."""
    model = checked_model(endpoint, model)
    key_for(endpoint)
    params = {"endpoint": endpoint.name, "model": model}
    if under_way := job_under_way(KIND, **params):
        return under_way
    if is_leased(endpoint.name, at=at):
        raise _busy(endpoint)
    title = _("Probe of %(model)s at %(endpoint)s") % {"model": model[:100], "endpoint": endpoint.name}
    return enqueue(KIND, title, {**params, "actor": actor.pk}, actor=actor, at=at)


def run_probe(progress: Progress, params: Params) -> Result:
    """The handler. Run twice it probes twice."""
    endpoint, actor = endpoint_named(params["endpoint"]), User.objects.get(pk=params["actor"])
    made = probe(endpoint, params["model"], actor=actor, at=timezone.now(), progress=progress)
    page = reverse("model-endpoint", args=[endpoint.name])
    return {"page": f"{page}?probe={made.public_id}", **counts_of(made)}


def probe(
    endpoint: Endpoint,
    model: str,
    *,
    actor: User | None,
    at: datetime,
    progress: Progress,
    limits: Limits = LIMITS,
) -> EndpointProbe:
    """Ask with phantom images, one request after the other, and keep what was found out.

    A server that fails is no failure of the probe: what it did not answer is unknown. Raises EndpointRefused where
    there is no model to ask for, the key of the endpoint cannot be used, or calls are being made there (``busy``): they
    would slow each other down, and go over what the endpoint allows.
    """
    model, key = checked_model(endpoint, model), key_for(endpoint)
    with _alone_at(endpoint, at=at) as stay, ModelClient(endpoint, key, limits=limits) as client:
        replies = _replies(client, model, at=at, progress=progress, stay=stay)
    found = findings_of(model, replies)
    if key is not None:  # out of whole answers it is taken already; an error message is decoded once more
        found = [replace(one, sentence=key.taken_out(one.sentence)) for one in found]
    return _store(endpoint, model, found, actor=actor, at=at)


@contextmanager
def _alone_at(endpoint: Endpoint, *, at: datetime) -> Iterator[Callable[[], None]]:
    """No worker asks it meanwhile; what is given says before each request that the probe goes on.

    Raises EndpointRefused (``busy``).
    """
    holder, begun = secrets.token_hex(8), time.monotonic()

    def stay() -> None:
        with suppress(LeaseLost):  # after a request that took longer than a lease: the probe is nearly over then
            renew_lease(endpoint.name, holder, at=at + timedelta(seconds=time.monotonic() - begun))

    if not take_lease(endpoint.name, holder, at=at):
        raise _busy(endpoint)
    try:
        yield stay
    finally:
        give_lease_back(endpoint.name, holder)


def _busy(endpoint: Endpoint) -> EndpointRefused:
    sentence = _(
        "The endpoint “%(name)s” is being asked by a run or another probe. Pause the run, or wait until it is over."
    )
    return EndpointRefused("busy", sentence % {"name": endpoint.name})


def checked_model(endpoint: Endpoint, model: str) -> str:
    """The name, or that of the endpoint where none is given. Raises EndpointRefused (``no_model``, ``bad_model``)."""
    name = model.strip() or endpoint.model
    if not name:
        sentence = _("Name the model as the endpoint calls it, or give the endpoint one in REXVQA_MODEL_ENDPOINTS.")
        raise EndpointRefused("no_model", sentence, status=422, field="model")
    if not MODEL_NAME.fullmatch(name):
        sentence = _("The name of a model has 1 to 200 visible characters, without spaces.")
        raise EndpointRefused("bad_model", sentence, status=422, field="model")
    return name


def newest_probe(endpoint: str, model: str) -> EndpointProbe | None:
    """Of this model at the endpoint of this name."""
    return EndpointProbe.objects.filter(endpoint=endpoint, model=model).first()


def findings_in(made: EndpointProbe) -> list[ProbeFinding]:
    return [ProbeFinding.from_json(value) for value in made.findings]


def counts_of(made: EndpointProbe) -> dict[str, int]:
    """How many questions were answered with yes, with no, and stayed unknown."""
    counted = Counter(one["state"] for one in made.findings)
    return {word: counted[word] for word in ProbeAnswer.values()}


def refuted(
    made: EndpointProbe, *, n_images: int, has_schema: bool, wants_logprobs: bool, seed: int | None, model: str
) -> list[str]:
    """Sentences on the settings of a run that this probe refutes; a run with one of them does not start.

    ``n_images``: of the question with the most. What is unknown refutes nothing.
    """
    if made.model != model:
        sentence = _("The probe is of “%(probed)s” and not of “%(model)s”: probe that model first.")
        return [sentence % {"probed": made.model, "model": model}]
    refuting = {one.code: one for one in findings_in(made) if one.state == ProbeAnswer.NO}
    asked = {
        ProbeQuestion.OFFERED: (True, _("The model “%(model)s” is not on offer there.") % {"model": model}),
        ProbeQuestion.TEXT: (True, _("The model answers no text.")),
        ProbeQuestion.IMAGE: (n_images > 0, _("Images are sent, and the model takes none.")),
        ProbeQuestion.SECOND_IMAGE: (
            n_images > 1,
            _("Up to %(n)d images are sent with a question, and the model takes one.") % {"n": n_images},
        ),
        ProbeQuestion.SCHEMA: (has_schema, _("The prompt has a JSON schema, and the model does not keep to one.")),
        ProbeQuestion.LOGPROBS: (wants_logprobs, _("Log-probabilities are wanted, and the model gives none.")),
        ProbeQuestion.SEED: (seed is not None, _("A seed is set, and the model accepts none.")),
    }
    found = [
        f"{sentence} {refuting[code].sentence}"
        for code, (is_wanted, sentence) in asked.items()
        if is_wanted and code in refuting
    ]
    return found + _cut_images(refuting, findings_in(made), n_images)


def _cut_images(
    refuting: dict[ProbeQuestion, ProbeFinding], findings: Sequence[ProbeFinding], n_images: int
) -> list[str]:
    """Where the endpoint cuts without an error, and the images alone fill what it leaves."""
    if ProbeQuestion.LONG_PROMPT not in refuting:
        return []
    cut_at = refuting[ProbeQuestion.LONG_PROMPT].numbers.get("cut_at")
    n_large = next((one.numbers.get("n_large") for one in findings if one.code == ProbeQuestion.IMAGE_SIZE), None)
    if cut_at is None or n_large is None or n_images * n_large < cut_at:
        return []
    sentence = _(
        "%(n)d images of %(tokens)d tokens each do not fit: the endpoint cuts what it gets at about %(cut_at)d tokens, "
        "without an error. Send fewer images, or let whoever runs it give the model a longer context."
    )
    return [sentence % {"n": n_images, "tokens": n_large, "cut_at": cut_at}]


def _replies(
    client: ModelClient, model: str, *, at: datetime, progress: Progress, stay: Callable[[], None]
) -> dict[ProbeStep, ProbeReply]:
    pause, wait = seconds_between(client.endpoint.calls_per_minute), threading.Event().wait
    replies: dict[ProbeStep, ProbeReply] = {}
    while (following := next_request(model, replies)) is not None:
        step, request = following
        progress.report(len(replies), len(ProbeStep), step.value.replace("-", " "))
        if pause and replies:
            wait(pause)
        stay()
        sent = client.send(request, at=at)
        replies[step] = ProbeReply(sent.ending, sent.status, sent.body, sent.problem)
    progress.report(len(ProbeStep), len(ProbeStep))
    return replies


@transaction.atomic
def _store(
    endpoint: Endpoint, model: str, found: Sequence[ProbeFinding], *, actor: User | None, at: datetime
) -> EndpointProbe:
    made = EndpointProbe.objects.create(
        endpoint=endpoint.name, model=model, findings=[one.as_json() for one in found], probed_by=actor, probed_at=at
    )
    facts = {"endpoint": endpoint.name, "model": model, **counts_of(made)}
    record("endpoint.probed", actor=actor, at=at, subject=made, facts=facts)
    return made
