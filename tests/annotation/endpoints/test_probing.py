"""A probe of a real server over a socket: what is found in each of its behaviours, and what a run may not ask then."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotation.endpoints.client import Limits
from annotation.endpoints.configured_endpoints import EndpointRefused
from annotation.endpoints.kernels.probe_words import ProbeAnswer, ProbeQuestion
from annotation.endpoints.kernels.simulated_models import GOOD, OBEYS_SCHEMA, TEXT_ONLY
from annotation.endpoints.leases import give_lease_back, is_leased, take_lease
from annotation.endpoints.probing import (
    ask_for_probe,
    counts_of,
    findings_in,
    newest_probe,
    probe,
    refuted,
)
from annotation.endpoints.stand_in import Reply, StandInFault, StandInHabit
from annotation.enums import JobState
from annotation.jobs import running
from annotation.models import AuditEvent, EndpointProbe, Job, User
from tests.annotation.endpoints.probed import SECRET, Told, named_stand_in
from tests.conftest import NOON
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

YES, NO, UNKNOWN = ProbeAnswer.YES, ProbeAnswer.NO, ProbeAnswer.UNKNOWN
Q = ProbeQuestion
MANY = 30  # requests; a probe has fewer
PLAIN: dict[str, Any] = {"n_images": 0, "has_schema": False, "wants_logprobs": False, "seed": None}
EVERYTHING: dict[str, Any] = {"n_images": 2, "has_schema": True, "wants_logprobs": True, "seed": 7}


@dataclass
class HeldLease(Told):
    """Looks at each step whether the endpoint is leased."""

    at: datetime = NOON
    found: list[bool] = field(default_factory=list)

    def report(self, done: int, total: int, message: str = "") -> None:
        self.found.append(is_leased("local", at=self.at))


@pytest.fixture(autouse=True)
def own_home(settings: Settings, tmp_path: Path) -> None:
    settings.HOME = tmp_path


def probed(
    settings: Settings,
    noon: datetime,
    *faults: StandInFault,
    model: str = GOOD,
    limits: Limits | None = None,
    habit: StandInHabit | None = None,
) -> EndpointProbe:
    with named_stand_in(settings, *faults, habit=habit) as (_server, endpoint):
        return probe(endpoint, model, actor=None, at=noon, progress=Told(), limits=limits or Limits())


def states(made: EndpointProbe) -> dict[ProbeQuestion, ProbeAnswer]:
    return {one.code: one.state for one in findings_in(made)}


def test_a_good_model(settings: Settings, noon: datetime, ada: User) -> None:
    told = Told()
    with named_stand_in(settings) as (server, endpoint):
        made = probe(endpoint, "", actor=ada, at=noon, progress=told)
    assert (made.endpoint, made.model, made.probed_by, made.probed_at) == ("local", GOOD, ada, noon)
    found = states(made)
    assert {question for question, state in found.items() if state == NO} == {Q.SCHEMA, Q.IMAGE_SIZE}
    assert list(found.values()).count(YES) == 9
    assert [entry.n_images for entry in server.ledger] == [0, 0, 1, 2, 1, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    assert told.steps[0][0] == 0
    assert told.steps[-1][0] == told.steps[-1][1]
    event = AuditEvent.objects.get()
    assert (event.act, event.actor, event.subject_id) == ("endpoint.probed", ada, made.public_id)
    assert event.facts == {"endpoint": "local", "model": GOOD, "yes": 9, "no": 2, "unknown": 0}


def test_a_model_that_keeps_to_a_schema(settings: Settings, noon: datetime) -> None:
    assert states(probed(settings, noon, model=OBEYS_SCHEMA))[Q.SCHEMA] == YES


def test_text_only(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, model=TEXT_ONLY)
    found = states(made)
    assert (found[Q.TEXT], found[Q.IMAGE], found[Q.SECOND_IMAGE]) == (YES, NO, UNKNOWN)
    assert refuted(made, **PLAIN, model=TEXT_ONLY) == []
    (sentence,) = refuted(made, **PLAIN | {"n_images": 1}, model=TEXT_ONLY)
    assert sentence.startswith("Images are sent, and the model takes none. An image was refused: status 400, “stand-in")


@pytest.mark.parametrize(
    ("habit", "words"), [(StandInHabit.ONE_IMAGE, "was refused: status 400"), (StandInHabit.FIRST_IMAGE, "left out")]
)
def test_a_second_image_refused_or_left_out(
    settings: Settings, noon: datetime, habit: StandInHabit, words: str
) -> None:
    made = probed(settings, noon, habit=habit)
    assert (states(made)[Q.IMAGE], states(made)[Q.SECOND_IMAGE]) == (YES, NO)
    assert refuted(made, **PLAIN | {"n_images": 1}, model=GOOD) == []
    (sentence,) = refuted(made, **PLAIN | {"n_images": 2}, model=GOOD)
    assert words in sentence


def test_a_long_prompt_that_is_cut_without_an_error(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, habit=StandInHabit.CUT_PROMPT)
    found = {one.code: one for one in findings_in(made)}
    assert found[Q.LONG_PROMPT].state == NO
    assert found[Q.LONG_PROMPT].numbers == {"cut_at": 4096, "n_long": 4096, "n_longer": 4096}
    assert refuted(made, **PLAIN | {"n_images": 15}, model=GOOD) == []
    (sentence,) = refuted(made, **PLAIN | {"n_images": 16}, model=GOOD)
    assert sentence.startswith("16 images of 256 tokens each do not fit: the endpoint cuts what it gets at about 4096")


def test_without_usage_what_tokens_would_show_is_unknown(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, *repeat(StandInFault.NO_USAGE, MANY))
    found = states(made)
    assert found[Q.USAGE] == NO
    assert {found[question] for question in (Q.IMAGE, Q.SECOND_IMAGE, Q.IMAGE_SIZE, Q.LONG_PROMPT)} == {UNKNOWN}
    assert refuted(made, **PLAIN | {"n_images": 2}, model=GOOD) == []


def test_answers_that_differ(settings: Settings, noon: datetime) -> None:
    before = [StandInFault.OTHER_MODEL] * 10  # another name changes nothing that is asked
    made = probed(settings, noon, *before, StandInFault.LENGTH)
    (equal,) = [one for one in findings_in(made) if one.code == Q.EQUAL]
    assert (equal.state, equal.numbers["n_different"]) == (NO, 1)


def test_a_model_that_is_not_there(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, model="gpt-0")
    assert counts_of(made) == {"yes": 0, "no": 2, "unknown": 9}
    first, second = refuted(made, **PLAIN, model="gpt-0")
    assert first.startswith(
        "The model “gpt-0” is not on offer there. It is not among the models on offer: stand-in-good"
    )
    assert second.startswith("The model answers no text.")


def test_every_setting_that_is_refuted_is_said(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, model=TEXT_ONLY)
    assert [sentence.partition(".")[0] for sentence in refuted(made, **EVERYTHING, model=TEXT_ONLY)] == [
        "Images are sent, and the model takes none",
        "The prompt has a JSON schema, and the model does not keep to one",
        "Log-probabilities are wanted, and the model gives none",
    ]
    (other,) = refuted(made, **EVERYTHING, model=GOOD)
    assert other == f"The probe is of “{TEXT_ONLY}” and not of “{GOOD}”: probe that model first."


@pytest.mark.parametrize(
    "fault",
    [
        StandInFault.TOO_MANY_RETRY_AFTER,
        StandInFault.BROKEN,
        StandInFault.UNAVAILABLE,
        StandInFault.CUT_BODY,
        StandInFault.BROKEN_JSON,
        StandInFault.HTML,
        StandInFault.REDIRECT,
        StandInFault.ENDLESS,
        StandInFault.SLOW_BODY,
    ],
)
def test_an_endpoint_that_fails_leaves_everything_unknown_with_the_reason(
    settings: Settings, noon: datetime, fault: StandInFault
) -> None:
    short = Limits(read_seconds=0.4, total_seconds=0.8, answer_bytes=100_000)
    made = probed(settings, noon, *repeat(fault, MANY), limits=short)
    assert set(states(made).values()) == {UNKNOWN}
    assert all(one.sentence for one in findings_in(made))
    assert refuted(made, **EVERYTHING, model=GOOD) == []


def test_an_endpoint_that_fails_once_leaves_one_answer_unknown(settings: Settings, noon: datetime) -> None:
    made = probed(settings, noon, StandInFault.OTHER_MODEL, StandInFault.OTHER_MODEL, StandInFault.UNAVAILABLE)
    found = states(made)
    assert (found[Q.OFFERED], found[Q.TEXT], found[Q.IMAGE], found[Q.SEED]) == (YES, YES, UNKNOWN, YES)


def test_nobody_listens(settings: Settings, noon: datetime) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        pass
    made = probe(endpoint, GOOD, actor=None, at=noon, progress=Told())
    assert set(states(made).values()) == {UNKNOWN}
    assert "the connection failed" in findings_in(made)[0].sentence


@pytest.mark.parametrize(("model", "code"), [(" ", "no_model"), ("two words", "bad_model"), ("m" * 201, "bad_model")])
def test_no_model_to_ask_for(settings: Settings, noon: datetime, model: str, code: str) -> None:
    with named_stand_in(settings, model="") as (server, endpoint), refuses(EndpointRefused, code):
        probe(endpoint, model, actor=None, at=noon, progress=Told())
    assert server.ledger == []
    assert not EndpointProbe.objects.exists()


def test_the_newest_probe_is_of_this_model(settings: Settings, noon: datetime) -> None:
    assert newest_probe("local", GOOD) is None
    first, second = probed(settings, noon), probed(settings, noon)
    other = probed(settings, noon, model=TEXT_ONLY)
    assert newest_probe("local", GOOD) == second != first
    assert newest_probe("local", TEXT_ONLY) == other
    assert newest_probe("elsewhere", GOOD) is None


def test_as_a_job(settings: Settings, noon: datetime, ada: User) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        job = ask_for_probe(endpoint, "", actor=ada, at=noon)
        assert ask_for_probe(endpoint, GOOD, actor=ada, at=noon) == job
        assert ask_for_probe(endpoint, TEXT_ONLY, actor=ada, at=noon) != job
        assert running.run(job.public_id, clock=lambda: noon)
    job.refresh_from_db()
    made = EndpointProbe.objects.get()
    assert job.state == JobState.SUCCEEDED
    assert job.result == {"page": f"/endpoints/local/?probe={made.public_id}", "yes": 9, "no": 2, "unknown": 0}
    assert made.probed_by == ada


def test_a_job_whose_endpoint_is_gone_says_so(settings: Settings, noon: datetime, ada: User) -> None:
    with named_stand_in(settings) as (_server, endpoint):
        job = ask_for_probe(endpoint, "", actor=ada, at=noon)
    settings.MODEL_ENDPOINTS = ()
    running.run(job.public_id, clock=lambda: noon)
    job.refresh_from_db()
    assert job.state == JobState.FAILED
    assert "REXVQA_MODEL_ENDPOINTS" in job.error


# The key


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


@pytest.mark.parametrize("n_good", [0, 2])
def test_a_key_that_is_echoed_is_kept_nowhere(
    settings: Settings, noon: datetime, ada: User, key_file: Path, caplog: pytest.LogCaptureFixture, n_good: int
) -> None:
    caplog.set_level(logging.DEBUG)
    faults = [StandInFault.OTHER_MODEL] * n_good + [StandInFault.KEY_ECHOED] * MANY
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


def test_a_key_in_the_names_of_models_is_kept_nowhere(settings: Settings, noon: datetime, key_file: Path) -> None:
    escaped = "".join(f"\\u{ord(one):04x}" for one in SECRET)
    with named_stand_in(settings) as (server, endpoint):
        server.reply = Reply(200, json.dumps({"data": [{"id": SECRET}, {"id": escaped}]}).encode())
        made = probe(endpoint, "", actor=None, at=noon, progress=Told())
    assert states(made)[Q.OFFERED] == NO
    assert "planted" not in json.dumps(made.findings)
    assert json.dumps(made.findings).count("[key removed]") == 2


@pytest.mark.parametrize(("mode", "content", "code"), [(0o644, SECRET, "key_open"), (0o600, "short", "bad_key")])
def test_a_key_that_cannot_be_used_stops_the_probe(
    settings: Settings, noon: datetime, ada: User, key_file: Path, mode: int, content: str, code: str
) -> None:
    key_file.write_text(content)
    key_file.chmod(mode)
    with named_stand_in(settings) as (server, endpoint):
        with refuses(EndpointRefused, code):
            probe(endpoint, GOOD, actor=ada, at=noon, progress=Told())
        with refuses(EndpointRefused, code):
            ask_for_probe(endpoint, GOOD, actor=ada, at=noon)
    assert server.ledger == []
    assert not Job.objects.exists()


def test_a_probe_and_a_worker_do_not_ask_beside_each_other(settings: Settings, noon: datetime, ada: User) -> None:
    """Their requests together would go over what the endpoint allows."""
    assert take_lease("local", "a worker", at=noon)
    with named_stand_in(settings) as (server, endpoint):
        with refuses(EndpointRefused, "busy", match="is being asked by a run or another probe"):
            probe(endpoint, GOOD, actor=None, at=noon, progress=Told())
        with refuses(EndpointRefused, "busy"):
            ask_for_probe(endpoint, GOOD, actor=ada, at=noon)
        assert not server.ledger
        give_lease_back("local", "a worker")
        held = HeldLease(at=noon)
        probe(endpoint, GOOD, actor=None, at=noon, progress=held)
    assert set(held.found) == {True}
    assert not is_leased("local", at=noon)
