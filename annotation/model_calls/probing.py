"""Probe a model at an endpoint with three short chats; what the newest probe refutes, and what people read of it.

Who asks an endpoint now: one worker or probe at a time, for as long as it says so every few seconds.
"""

from __future__ import annotations

import io
import json
import math
import secrets
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from typing import TypedDict

from django.conf import settings
from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from msgspec import Struct

from annotation.audit.recording import record
from annotation.call_enums import Ending, ProbeAnswer, ProbeQuestion
from annotation.endpoints.client import Exchange, Limits, ModelClient, names_in, printable
from annotation.endpoints.configured_endpoints import EndpointRefused, checked_model, endpoint_named, endpoints, key_for
from annotation.endpoints.kernels.completions import (
    AT_THE_LIMIT,
    BUSY,
    ChatSettings,
    Completion,
    Message,
    ModelRequest,
    Route,
    chat_request,
    read_completion,
)
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import JobQueue, JobState
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import EndpointLease, EndpointProbe, Job, Price, User


class LeaseLost(Exception):
    """Another worker asks this endpoint by now: this one was thought dead."""


def lease_until(at: datetime) -> datetime:
    """As long as a job of a silent worker is left alone."""
    return at + timedelta(seconds=settings.JOB_STALE_SECONDS)


def is_leased(endpoint: str, *, at: datetime) -> bool:
    return EndpointLease.objects.filter(endpoint=endpoint, expires_at__gt=at).exists()


def take_lease(endpoint: str, holder: str, *, at: datetime) -> bool:
    """False while somebody else holds it."""
    with transaction.atomic():
        _lease, is_new = EndpointLease.objects.get_or_create(
            endpoint=endpoint, defaults={"holder": holder, "expires_at": lease_until(at)}
        )
        over = EndpointLease.objects.filter(endpoint=endpoint, expires_at__lte=at)
        return is_new or bool(over.update(holder=holder, expires_at=lease_until(at)))


def lock_lease(endpoint: str, holder: str, *, at: datetime) -> None:
    """Nobody else can take it until the transaction of the caller ends; renewed where a third of it is over.

    Raises LeaseLost.
    """
    own = EndpointLease.objects.select_for_update().filter(endpoint=endpoint, holder=holder).first()
    if own is None:
        raise LeaseLost
    if own.expires_at - at < timedelta(seconds=settings.JOB_STALE_SECONDS * 2 / 3):
        renew_lease(endpoint, holder, at=at)


def renew_lease(endpoint: str, holder: str, *, at: datetime) -> None:
    """Raises LeaseLost."""
    own = EndpointLease.objects.filter(endpoint=endpoint, holder=holder)
    if not own.update(expires_at=lease_until(at)):
        raise LeaseLost


def give_lease_back(endpoint: str, holder: str) -> None:
    """Another worker need not wait."""
    EndpointLease.objects.filter(endpoint=endpoint, holder=holder).delete()


# --- Probe a model at an endpoint with three short chats, and say which settings of a -------------
class ProbeParams(TypedDict):
    endpoint: str
    model: str
    actor: int


KIND: JobKind[ProbeParams] = JobKind("probe_endpoint", JobQueue.MODELS)
LIMITS = Limits(total_seconds=300)
N_CALLS = 3
RESTS = (1, 4, 15)  # seconds before a busy server is asked once more
ASKED = "Is anything bright in the middle of the picture? Answer yes or no."
SCHEMA = json.dumps({"type": "object", "properties": {"bright": {"enum": ["yes", "no"]}}, "required": ["bright"]})
SIDE = 896  # pixels of the picture
N_WORDS = 9_000  # of one token each at the least: above 4,096 and 8,192, where some servers cut
LEAST_OF_IMAGE = 16  # tokens: a server that drops an image may put a mark of a few tokens in its place
WRONG_SETTING = (400, 422)  # status of an endpoint that has the model, and refuses what was sent
REFUSING = (*WRONG_SETTING, 404, 405, 413, 415, 501)  # what has another status may be taken later
LONGEST_SHOWN = 200  # characters
Found = tuple[ProbeAnswer, str, dict[str, int]]
YES, NO, UNKNOWN = ProbeAnswer


def ask_for_probe(endpoint: Endpoint, model: str, *, actor: User, at: datetime) -> Job:
    """A job that probes it; one that waits or runs already is enough. Raises EndpointRefused."""
    model = checked_model(endpoint, model)
    key_for(endpoint)
    if under_way := job_under_way(KIND, endpoint=endpoint.name, model=model):
        return under_way
    if is_leased(endpoint.name, at=at):
        raise _busy(endpoint)
    title = _("Probe of %(model)s at %(endpoint)s") % {"model": model[:100], "endpoint": endpoint.name}
    params = ProbeParams(endpoint=endpoint.name, model=model, actor=actor.pk)
    return enqueue(KIND, title, params, actor=actor, at=at)


def run_probe(progress: Progress, params: ProbeParams) -> Result:
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
    progress: Progress | None = None,
    limits: Limits = LIMITS,
) -> EndpointProbe:
    """Ask, one request after the other, and keep what was found out.

    A server that fails is no failure of the probe: what it did not answer is unknown. Raises EndpointRefused where
    there is no model to ask for, the key of the endpoint cannot be used, or calls are being made there (``busy``).
    """
    model, key = checked_model(endpoint, model), key_for(endpoint)
    holder, began, replies = secrets.token_hex(8), time.monotonic(), list[Exchange]()
    per_minute = endpoint.calls_per_minute or N_CALLS
    pause = 60 / per_minute if per_minute < N_CALLS else 0
    if not take_lease(endpoint.name, holder, at=at):
        raise _busy(endpoint)
    try:
        with ModelClient(endpoint, key, limits=limits) as client:
            while request := next_request(model, replies):
                if progress:
                    progress.report(len(replies), N_CALLS)
                time.sleep(pause if replies else 0)
                with suppress(LeaseLost):  # after a call that took longer than a lease: the probe is nearly over then
                    renew_lease(endpoint.name, holder, at=at + timedelta(seconds=time.monotonic() - began))
                replies.append(client.send(request, at=at))
                for rest in RESTS:
                    if replies[-1].status not in BUSY:
                        break
                    time.sleep(rest)
                    replies[-1] = client.send(request, at=at)
            found = findings_of(replies)
            if replies[-1].ending in (Ending.ANSWERED, Ending.HTTP_ERROR):
                listing = client.send(ModelRequest(Route.MODELS, b""), at=at)
                found |= {ProbeQuestion.LISTED: _listed(model, listing.body)}
    finally:
        give_lease_back(endpoint.name, holder)
    return _store(endpoint, model, found, actor=actor, at=at)


def newest_probe(endpoint: str, model: str) -> EndpointProbe | None:
    """Of this model at the endpoint of this name."""
    return EndpointProbe.objects.filter(endpoint=endpoint, model=model).first()


def counts_of(made: EndpointProbe) -> dict[str, int]:
    """How many questions were answered with yes, with no, and stayed unknown."""
    counted = Counter(one["state"] for one in made.findings)
    return {word: counted[word] for word in ProbeAnswer.values()}


def refuted(made: EndpointProbe, *, n_images: int, has_schema: bool) -> list[str]:
    """Sentences on the settings of a run that this probe refutes; a run with one of them does not start.

    ``n_images``: of the question with the most. What is unknown refutes nothing.
    """
    findings = {one["code"]: one for one in made.findings}
    wanted = {
        ProbeQuestion.TEXT: (True, _("The model answers no text.")),
        ProbeQuestion.IMAGE: (n_images > 0, _("Images are sent, and the model takes none.")),
        ProbeQuestion.SCHEMA: (has_schema, _("The prompt has a JSON schema, and the model does not keep to one.")),
    }
    found = [
        f"{sentence} {findings[code]['sentence']}"
        for code, (is_wanted, sentence) in wanted.items()
        if is_wanted and code in findings and findings[code]["state"] == NO
    ]
    numbers = {name: value for one in made.findings for name, value in one["numbers"].items()}
    if n_images and n_images * numbers.get("n_large", 0) >= numbers.get("cut_at", math.inf):
        sentence = _("%(n)d images do not fit: the endpoint cuts at %(cut_at)d tokens, without an error. Send fewer.")
        found.append(sentence % {"n": n_images, "cut_at": numbers["cut_at"]})
    return found


def next_request(model: str, replies: Sequence[Exchange]) -> ModelRequest | None:
    """A text, a picture with it, a long text: each with a schema, unless the first was refused with it.

    None where no more can be told. No limit of the answer is sent, since endpoints disagree on its name.
    """
    from PIL import Image  # loads Pillow: not at every start

    is_refused = bool(replies) and _answer_in(replies[0]) is None
    if len(replies) == N_CALLS or (is_refused and replies[0].status not in WRONG_SETTING):
        return None
    picture = io.BytesIO()  # bright in its middle, and of no patient
    Image.radial_gradient("L").point(lambda grey: 255 - grey).resize((SIDE, SIDE)).save(picture, "PNG")
    long = f"{' '.join(['lung', 'rib'] * (N_WORDS // 2))}\n{ASKED}"
    parts: tuple[str | bytes, ...] = ((ASKED,), (picture.getvalue(), ASKED), (long,))[len(replies)]
    return chat_request(model, [Message("user", parts)], ChatSettings(schema="" if is_refused else SCHEMA))


def findings_of(replies: Sequence[Exchange]) -> dict[ProbeQuestion, Found]:
    """Of an endpoint that answers nothing, that alone. Servers leave out images, and cut prompts, without a word."""
    said = [_answer_in(one) for one in replies]
    counts = [one.usage.n_input if one and one.usage else None for one in said]
    answered = [count for one, count in zip(said, counts, strict=True) if one]
    if not answered:
        return {ProbeQuestion.TEXT: _failed(replies[0], "A short text")}
    is_counted = None not in answered and (len(answered) == 1 or len(set(answered)) > 1)
    usage = (
        "The tokens of the input are counted." if is_counted else "Tokens are not counted, or their number is fixed."
    )
    plain, image, long = counts if is_counted else [None] * N_CALLS
    found = {
        ProbeQuestion.SCHEMA: _schema(said[0]) if said[0] else _failed(replies[0], "A JSON schema"),
        ProbeQuestion.IMAGE: _image(plain, image) if said[1] else _failed(replies[1], "An image"),
        ProbeQuestion.LONG_PROMPT: _long(long) if said[2] else _failed(replies[2], f"A prompt of {N_WORDS:,} words"),
    }
    text = YES, "A short text was answered.", dict[str, int]()
    return {ProbeQuestion.TEXT: text, ProbeQuestion.USAGE: (YES if is_counted else NO, usage, {}), **found}


def unlisted(made: EndpointProbe) -> str:
    """What the probe says of a name that the endpoint does not list; empty: it lists it, or nothing is known."""
    codes = (one for one in made.findings if (one["code"], one["state"]) == (ProbeQuestion.LISTED, NO))
    return next((one["sentence"] for one in codes), "")


def _listed(model: str, body: bytes) -> Found:
    """Whether the list holds the name; Ollama lists ``name:latest`` for what is asked for as ``name``."""
    if (names := names_in(body)) is None:
        return UNKNOWN, "The endpoint gives no list of its models.", {}
    if {model, f"{model}:latest"} & set(names):
        return YES, "The endpoint lists a model of this name.", {}
    some = printable(", ".join(names[:5]).encode(errors="replace")[:LONGEST_SHOWN]) or "none"
    return NO, f"The endpoint lists {len(names):,} models, and none of this name: {some}.", {}


def _answer_in(reply: Exchange) -> Completion | None:
    found = read_completion(reply.body)
    return found if reply.ending == Ending.ANSWERED and found.has_choice else None


def _failed(reply: Exchange, what: str) -> Found:
    """What it means that this was not answered: it is refused, or unknown."""
    if reply.ending != Ending.HTTP_ERROR:
        return UNKNOWN, f"{what} was not answered: {reply.ending.label}.", {}
    why = f"status {reply.status}, “{printable(reply.body[:LONGEST_SHOWN])}”"
    if reply.status in REFUSING or b"not support" in reply.body:  # as llama.cpp says of images, with status 500
        return NO, f"{what} was refused: {why}.", {}
    return UNKNOWN, f"{what} was not answered: {why}.", {}


def _schema(said: Completion) -> Found:
    with suppress(ValueError, RecursionError):
        if json.loads(said.text) in ({"bright": "yes"}, {"bright": "no"}):
            return YES, "The answer keeps to the schema.", {}
    if said.finish_reason.lower() in AT_THE_LIMIT:
        return UNKNOWN, "The answer was cut before it was whole.", {}
    return NO, "A JSON schema is accepted and ignored: the answer does not keep to it.", {}


def _image(n_without: int | None, n_with: int | None) -> Found:
    if n_with is None or n_without is None:
        return UNKNOWN, "An image was accepted; without a count of tokens nothing shows whether the model gets it.", {}
    if n_with - n_without < LEAST_OF_IMAGE:
        return NO, "An image was accepted and left out: the input has no more tokens with it.", {}
    return YES, f"An image adds {n_with - n_without:,} tokens to the input.", {"n_large": n_with - n_without}


def _long(n_input: int | None) -> Found:
    if n_input is None:
        return UNKNOWN, "It was answered; without a count of tokens nothing shows whether it was cut.", {}
    if n_input < N_WORDS:
        return NO, f"A long prompt is cut without an error, at {n_input:,} tokens.", {"cut_at": n_input}
    return YES, f"A prompt of {N_WORDS:,} words came whole: {n_input:,} tokens.", {}


def _busy(endpoint: Endpoint) -> EndpointRefused:
    sentence = _(
        "The endpoint “%(name)s” is being asked by a run or another probe. Pause the run, or wait until it is over."
    )
    return EndpointRefused("busy", sentence % {"name": endpoint.name})


@transaction.atomic
def _store(
    endpoint: Endpoint, model: str, found: dict[ProbeQuestion, Found], *, actor: User | None, at: datetime
) -> EndpointProbe:
    findings = [
        {"code": code.value, "state": state.value, "sentence": sentence, "numbers": numbers}
        for code, (state, sentence, numbers) in found.items()
    ]
    asked = {"endpoint": endpoint.name, "model": model}
    made = EndpointProbe.objects.create(**asked, findings=findings, probed_by=actor, probed_at=at)
    record("endpoint.probed", actor=actor, at=at, subject=made, facts={**asked, **counts_of(made)})
    return made


class EndpointLine(Struct, frozen=True):
    """One endpoint in the list. ``model``: that of the list of endpoints, else the one that was probed last."""

    endpoint: Endpoint
    model: str
    has_key: bool
    probe: EndpointProbe | None  # the newest, of whichever model
    counts: dict[str, int]
    price: Price | None  # of ``model``, today


def endpoint_lines(today: date) -> list[EndpointLine]:
    """All endpoints, in the order of the list."""
    probes, prices = _newest_probes(), _prices_in_force(today)
    lines = []
    for endpoint in endpoints():
        probe = probes.get(endpoint.name)
        model = endpoint.model or (probe.model if probe else "")
        lines.append(
            EndpointLine(
                endpoint=endpoint,
                model=model,
                has_key=has_usable_key(endpoint),
                probe=probe,
                counts=counts_of(probe) if probe else {},
                price=prices.get((endpoint.name, model)),
            )
        )
    return lines


def has_usable_key(endpoint: Endpoint) -> bool:
    """What is wrong with a key that cannot be used is reported by whatever would use it, such as a probe."""
    try:
        return key_for(endpoint) is not None
    except EndpointRefused:
        return False


def probes_of(endpoint: Endpoint) -> QuerySet[EndpointProbe]:
    """The newest first."""
    return EndpointProbe.objects.filter(endpoint=endpoint.name).select_related("probed_by")


def prices_of(endpoint: Endpoint, today: date) -> list[tuple[Price, bool]]:
    """By model, the newest first; with whether it holds today."""
    in_force = {price.pk for price in _prices_in_force(today).values()}
    rows = Price.objects.filter(endpoint=endpoint.name).select_related("set_by")
    return [(price, price.pk in in_force) for price in rows]


def probe_jobs(endpoint: Endpoint) -> tuple[Job | None, Job | None]:
    """The newest job if it waits or runs, and the newest if it failed."""
    job = Job.objects.filter(kind=KIND, params__endpoint=endpoint.name).order_by("-pk").first()
    return (job if job and job.is_unfinished else None, job if job and job.state == JobState.FAILED else None)


def _newest_probes() -> dict[str, EndpointProbe]:
    names = [endpoint.name for endpoint in endpoints()]
    newest = EndpointProbe.objects.filter(endpoint=OuterRef("endpoint")).values("pk")[:1]
    return {probe.endpoint: probe for probe in EndpointProbe.objects.filter(endpoint__in=names, pk=Subquery(newest))}


def _prices_in_force(today: date) -> dict[tuple[str, str], Price]:
    """By endpoint and model."""
    rows = Price.objects.filter(valid_from__lte=today).order_by("valid_from")
    return {(price.endpoint, price.model): price for price in rows}
