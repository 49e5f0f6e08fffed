"""A probe of a real server over a socket: what is found in each of its behaviours, and what a run may not ask then."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pytest_django import Settings

from annotation.call_enums import Ending, EndpointPlace, ProbeAnswer
from annotation.endpoints import client
from annotation.endpoints.client import Exchange, Limits, models_listed
from annotation.endpoints.configured_endpoints import EndpointRefused
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import JobState
from annotation.jobs import running
from annotation.model_calls import probing
from annotation.model_calls.probing import (
    ask_for_probe,
    findings_of,
    give_lease_back,
    is_leased,
    newest_probe,
    next_request,
    probe,
    refuted,
    take_lease,
)
from annotation.models import AuditEvent, EndpointProbe, Job, User
from tests.annotation.endpoints.simulated_models import GOOD, MODELS, OBEYS_SCHEMA, TEXT_ONLY
from tests.annotation.endpoints.stand_in import StandIn, StandInFault, StandInHabit
from tests.conftest import NOON
from tests.dripping_server import dripping_server
from tests.jobs import worked
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


YES, NO, UNKNOWN = ProbeAnswer
KEPT = '{"bright": "no"}'
SECRET = "sk-planted/+=<&>9f8e7d6c5b"


@dataclass
class Told:
    """A progress that writes down what it is told."""

    steps: list[tuple[int, int, str]] = field(default_factory=list)

    def report(self, done: int, total: int, message: str = "") -> None:
        self.steps.append((done, total, message))


@contextmanager
def named_stand_in(
    settings: Settings, *faults: StandInFault, model: str = "stand-in-good", habit: StandInHabit | None = None
) -> Iterator[tuple[StandIn, Endpoint]]:
    with StandIn(seed=1, faults=faults, habit=habit) as server:
        endpoint = Endpoint("local", server.url, EndpointPlace.MACHINE, model)
        settings.MODEL_ENDPOINTS = (endpoint,)
        yield server, endpoint


@dataclass
class HeldLease:
    """Looks at each step whether the endpoint is leased."""

    at: datetime = NOON
    found: list[bool] = field(default_factory=list)

    def report(self, done: int, total: int, message: str = "") -> None:
        self.found.append(is_leased("local", at=self.at))


@pytest.fixture(autouse=True)
def own_home(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.HOME = tmp_path
    monkeypatch.setattr(probing, "RESTS", (0, 0, 0))


def probed(
    settings: Settings,
    noon: datetime,
    *faults: StandInFault,
    model: str = OBEYS_SCHEMA,
    limits: Limits | None = None,
    habit: StandInHabit | None = None,
) -> EndpointProbe:
    with named_stand_in(settings, *faults, habit=habit) as (_server, endpoint):
        return probe(endpoint, model, actor=None, at=noon, limits=limits or Limits())


def test_the_models_that_an_endpoint_lists(settings: Settings, noon: datetime) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        assert models_listed(endpoint.name, at=noon) == sorted(MODELS)
    with refuses(EndpointRefused, "no_list", match="gives no list of its models \\(connection failed\\)"):
        models_listed(endpoint.name, at=noon)
    with refuses(EndpointRefused, "no_endpoint"):
        models_listed("nowhere", at=noon)


def test_a_list_that_drips_is_not_waited_for(
    settings: Settings, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LISTING", Limits(total_seconds=0.2))
    with dripping_server() as server, refuses(EndpointRefused, "no_list", match="timed out"):
        settings.MODEL_ENDPOINTS = (Endpoint("slow", f"{server.url}/v1", place=EndpointPlace.MACHINE),)
        models_listed("slow", at=noon)


def test_what_is_no_list_of_models(settings: Settings, noon: datetime) -> None:
    wrong: list[Any] = [[], {"data": []}, {"data": [{"id": "two words"}]}, {"data": [{}]}, {"data": {"id": "a"}}]
    with dripping_server() as server:
        settings.MODEL_ENDPOINTS = (Endpoint("odd", f"{server.url}/v1", place=EndpointPlace.MACHINE),)
        for said in wrong:
            server.answers["/v1/models"] = said
            with refuses(EndpointRefused, "no_list"):
                models_listed("odd", at=noon)


def states(made: EndpointProbe) -> dict[str, str]:
    return {one["code"]: one["state"] for one in made.findings}


def test_a_good_model(settings: Settings, noon: datetime, ada: User) -> None:
    told = Told()
    with named_stand_in(settings, model=OBEYS_SCHEMA) as (server, endpoint):
        made = probe(endpoint, "", actor=ada, at=noon, progress=told)
    assert (made.endpoint, made.model, made.probed_by, made.probed_at) == ("local", OBEYS_SCHEMA, ada, noon)
    assert states(made) == dict.fromkeys(("text", "usage", "schema", "image", "long_prompt", "listed"), "yes")
    assert [entry.n_images for entry in server.ledger] == [0, 1, 0]
    assert [done for done, _total, _message in told.steps] == [0, 1, 2]
    event = AuditEvent.objects.get()
    assert (event.act, event.actor, event.subject_id) == ("endpoint.probed", ada, made.public_id)
    assert event.facts == {"endpoint": "local", "model": OBEYS_SCHEMA, "yes": 6, "no": 0, "unknown": 0}


@pytest.mark.parametrize(
    ("body", "state"),
    [
        (b'{"data": [{"id": "medgemma:latest"}]}', YES),
        (b'{"data": [{"id": "medgemma-27b"}, {"id": "b\\u0000\\ud800"}]}', NO),
        (b'{"data": []}', NO),
        (b'{"data": [{}]}', UNKNOWN),
        (b"[]", UNKNOWN),
        (b"<html>", UNKNOWN),
        (b"", UNKNOWN),
    ],
)
def test_a_name_that_the_endpoint_does_not_list_is_told(body: bytes, state: ProbeAnswer) -> None:
    found, sentence, _numbers = probing._listed("medgemma", body)
    assert found == state
    assert sentence.isprintable()


@pytest.mark.parametrize(
    ("model", "habit", "refutes"),
    [
        (
            GOOD,
            None,
            ["The prompt has a JSON schema, and the model does not keep to one. A JSON schema is accepted and"],
        ),
        (
            TEXT_ONLY,
            None,
            ["Images are sent, and the model takes none. An image was refused: status 400", "The prompt has a JSON"],
        ),
        (OBEYS_SCHEMA, StandInHabit.NO_IMAGE, ["Images are sent, and the model takes none. An image was accepted and"]),
        (OBEYS_SCHEMA, StandInHabit.FIXED_COUNT, []),
        (OBEYS_SCHEMA, StandInHabit.CUT_PROMPT, ["16 images do not fit: the endpoint cuts at 4096 tokens"]),
        ("gpt-0", None, ["The model answers no text. A short text was refused: status 404"]),
    ],
)
def test_what_a_model_cannot_do_refutes_a_run_that_needs_it(
    settings: Settings, noon: datetime, model: str, habit: StandInHabit | None, refutes: list[str]
) -> None:
    made = probed(settings, noon, model=model, habit=habit)
    found = refuted(made, n_images=16, has_schema=True)
    assert len(found) == len(refutes)
    for sentence, begins in zip(found, refutes, strict=True):
        assert sentence.startswith(begins)
    needs_nothing = refuted(made, n_images=0, has_schema=False)
    assert len(needs_nothing) == (model == "gpt-0")


def test_what_earlier_versions_found_refutes_as_it_did(noon: datetime) -> None:
    """The questions that are no longer asked refute nothing."""
    old = [("seed", {}), ("image_size", {"n_small": 64, "n_large": 256}), ("long_prompt", {"cut_at": 4096})]
    findings = [{"code": code, "state": "no", "sentence": "Old.", "numbers": numbers} for code, numbers in old]
    made = EndpointProbe.objects.create(endpoint="local", model=GOOD, findings=findings, probed_at=noon)
    assert refuted(made, n_images=15, has_schema=True) == []
    assert len(refuted(made, n_images=16, has_schema=True)) == 1


@pytest.mark.parametrize(
    "fault",
    ["429-retry-after", "500", "cut-body", "html", "redirect", "endless", "slow-body"],
)
def test_an_endpoint_that_fails_is_asked_once_and_refutes_nothing(
    settings: Settings, noon: datetime, fault: str
) -> None:
    short = Limits(read_seconds=0.4, total_seconds=0.8, answer_bytes=100_000)
    made = probed(settings, noon, *repeat(StandInFault(fault), 4), limits=short)
    assert (states(made)["text"], len(made.findings)) == ("unknown", 2 if "listed" in states(made) else 1)
    assert made.findings[0]["sentence"]
    assert refuted(made, n_images=2, has_schema=True) == []


def test_an_endpoint_that_fails_once_leaves_one_answer_unknown(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, StandInFault.OTHER_MODEL, StandInFault.BROKEN)
    assert [code for code, state in states(made).items() if state != "yes"] == ["image"]


def test_nobody_listens(settings: Settings, noon: datetime) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        pass
    made = probe(endpoint, GOOD, actor=None, at=noon)
    assert states(made) == {"text": "unknown"}
    assert "connection failed" in made.findings[0]["sentence"]


# --- what each reply shows ---
def answer(n_input: int | None, text: str = KEPT, **choice: Any) -> Exchange:
    body: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}, **choice}]}
    if n_input is not None:
        body["usage"] = {"prompt_tokens": n_input, "completion_tokens": 2}
    return Exchange("", Ending.ANSWERED, NOON, status=200, body=json.dumps(body).encode())


def refused(status: int, body: bytes = b"") -> Exchange:
    return Exchange("", Ending.HTTP_ERROR, NOON, status=status, body=body)


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ((answer(20), answer(84), answer(9_020)), (YES, YES, YES, YES)),
        ((answer(20), answer(25), answer(4_096)), (YES, YES, NO, NO)),  # a mark in place of the image
        ((answer(20), answer(20), answer(20)), (NO, YES, UNKNOWN, UNKNOWN)),  # a count that never changes
        ((answer(None), answer(None), answer(None)), (NO, YES, UNKNOWN, UNKNOWN)),
        ((answer(20), refused(400), refused(400, b"8192 at most")), (YES, YES, NO, NO)),
        ((answer(20), refused(429), refused(500)), (YES, YES, UNKNOWN, UNKNOWN)),
        ((answer(20), refused(500, b"image input is not supported"), answer(9_020)), (YES, YES, NO, YES)),
        ((refused(400), answer(84), answer(9_020)), (YES, NO, UNKNOWN, YES)),  # without a schema all is well
        ((answer(20, "Yes."), answer(84), answer(9_020)), (YES, NO, YES, YES)),
        ((answer(20, '{"bright": "maybe"}'), answer(84), answer(9_020)), (YES, NO, YES, YES)),
        ((answer(20, '{"bright": "no", "more": 1}'), answer(84), answer(9_020)), (YES, NO, YES, YES)),
        ((answer(20, '{"br', finish_reason="length"), answer(84), answer(9_020)), (YES, UNKNOWN, YES, YES)),
    ],
)
def test_what_replies_show(replies: tuple[Exchange, ...], expected: tuple[ProbeAnswer, ...]) -> None:
    found = findings_of(replies)
    assert [state for state, _sentence, _numbers in found.values()] == [YES, *expected]
    assert all(len(sentence) < 300 for _state, sentence, _numbers in found.values())


def test_what_an_endpoint_says_is_shown_in_one_line_and_not_at_length() -> None:
    ((_state, sentence, _numbers),) = findings_of([refused(422, b"No\n\x00images" + b"x" * 1000)]).values()
    assert "status 422, “No  imagesxxx" in sentence
    assert len(sentence) < 300


def test_a_busy_server_is_asked_again(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, StandInFault.TOO_MANY, StandInFault.UNAVAILABLE, StandInFault.TOO_MANY)
    assert set(states(made).values()) == {"yes"}


def test_what_cannot_be_told_is_not_asked() -> None:
    assert next_request(GOOD, [refused(503)]) is None
    assert next_request(GOOD, [refused(404)]) is None
    for first, has_schema in ((answer(20), True), (refused(400), False)):
        replies = [first]
        while request := next_request(GOOD, replies):
            sent = json.loads(request.body)
            assert ("response_format" in sent) is has_schema
            assert not {"max_tokens", "max_completion_tokens"} & set(sent)
            replies.append(answer(20))
        assert len(replies) == 3


@pytest.mark.parametrize(("calls_per_minute", "waits"), [(None, [0, 0, 0]), (3, [0, 0, 0]), (2, [0, 30, 30])])
def test_a_probe_waits_only_where_it_would_ask_too_often(
    settings: Settings, noon: datetime, monkeypatch: pytest.MonkeyPatch, calls_per_minute: int | None, waits: list[int]
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("annotation.model_calls.probing.time.sleep", waited.append)
    with named_stand_in(settings) as (_server, endpoint):
        probe(replace(endpoint, calls_per_minute=calls_per_minute), GOOD, actor=None, at=noon)
    assert waited == waits


# --- whom it asks, and how ---
@pytest.mark.parametrize(("model", "code"), [(" ", "no_model"), ("two words", "bad_model"), ("m" * 201, "bad_model")])
def test_no_model_to_ask_for(settings: Settings, noon: datetime, model: str, code: str) -> None:
    with named_stand_in(settings, model="") as (server, endpoint), refuses(EndpointRefused, code):
        probe(endpoint, model, actor=None, at=noon)
    assert server.ledger == []
    assert not EndpointProbe.objects.exists()


def test_the_newest_probe_is_of_this_model(settings: Settings, noon: datetime) -> None:
    assert newest_probe("local", OBEYS_SCHEMA) is None
    first, second = probed(settings, noon), probed(settings, noon)
    other = probed(settings, noon, model=TEXT_ONLY)
    assert newest_probe("local", OBEYS_SCHEMA) == second != first
    assert newest_probe("local", TEXT_ONLY) == other
    assert newest_probe("elsewhere", OBEYS_SCHEMA) is None


def test_as_a_job(settings: Settings, noon: datetime, ada: User) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        job = ask_for_probe(endpoint, "", actor=ada, at=noon)
        assert ask_for_probe(endpoint, GOOD, actor=ada, at=noon) == job
        assert ask_for_probe(endpoint, TEXT_ONLY, actor=ada, at=noon) != job
        worked(job, at=noon)
    made = EndpointProbe.objects.get()
    assert job.state == JobState.SUCCEEDED
    assert job.result == {"page": f"/endpoints/local/?probe={made.public_id}", "yes": 5, "no": 1, "unknown": 0}
    assert made.probed_by == ada


def test_a_job_whose_endpoint_is_gone_says_so(settings: Settings, noon: datetime, ada: User) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        job = ask_for_probe(endpoint, "", actor=ada, at=noon)
    settings.MODEL_ENDPOINTS = ()
    assert worked(job, at=noon).state == JobState.FAILED
    assert "REXVQA_MODEL_ENDPOINTS" in job.error


# --- the key ---
@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "model_keys" / "local"
    path.parent.mkdir()
    path.write_text(SECRET)
    path.chmod(0o600)
    return path


def everything_kept() -> Iterator[str]:
    for made in EndpointProbe.objects.all():
        yield json.dumps([made.model, made.findings])
    for event in AuditEvent.objects.all():
        yield json.dumps(event.facts)
    for job in Job.objects.all():
        yield json.dumps([job.title, job.params, job.result, job.message, job.error])


@pytest.mark.parametrize("n_good", [0, 1])
def test_a_key_that_is_echoed_is_kept_nowhere(
    settings: Settings, noon: datetime, ada: User, key_file: Path, caplog: pytest.LogCaptureFixture, n_good: int
) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [StandInFault.OTHER_MODEL] * n_good + [StandInFault.KEY_ECHOED] * 3
    with named_stand_in(settings, *faults) as (server, endpoint):
        job = ask_for_probe(endpoint, "", actor=ada, at=noon)
        running.run(job.public_id, clock=lambda: noon)
    assert {entry.has_key for entry in server.ledger} == {True}
    kept = list(everything_kept())
    assert len(kept) == 3
    assert "[key removed]" in kept[0]
    for text in (*kept, caplog.text):
        assert "planted" not in text
        assert "9f8e7d6c5b" not in text


@pytest.mark.parametrize(("mode", "content", "code"), [(0o644, SECRET, "key_open"), (0o600, "short", "bad_key")])
def test_a_key_that_cannot_be_used_stops_the_probe(
    settings: Settings, noon: datetime, ada: User, key_file: Path, mode: int, content: str, code: str
) -> None:
    key_file.write_text(content)
    key_file.chmod(mode)
    with named_stand_in(settings) as (server, endpoint):
        with refuses(EndpointRefused, code):
            probe(endpoint, GOOD, actor=ada, at=noon)
        with refuses(EndpointRefused, code):
            ask_for_probe(endpoint, GOOD, actor=ada, at=noon)
    assert server.ledger == []
    assert not Job.objects.exists()


def test_a_probe_and_a_worker_do_not_ask_beside_each_other(settings: Settings, noon: datetime, ada: User) -> None:
    """Their requests together would go over what the endpoint allows."""
    assert take_lease("local", "a worker", at=noon)
    with named_stand_in(settings) as (server, endpoint):
        with refuses(EndpointRefused, "busy", match="is being asked by a run or another probe"):
            probe(endpoint, GOOD, actor=None, at=noon)
        with refuses(EndpointRefused, "busy"):
            ask_for_probe(endpoint, GOOD, actor=ada, at=noon)
        assert not server.ledger
        give_lease_back("local", "a worker")
        held = HeldLease(at=noon)
        probe(endpoint, GOOD, actor=None, at=noon, progress=held)
    assert set(held.found) == {True}
    assert not is_leased("local", at=noon)
