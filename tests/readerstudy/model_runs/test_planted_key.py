"""A key that its endpoint echoes back is in nothing that a run leaves behind: rows, logs, pages, files, commands."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from django.apps import apps
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotation.call_enums import BatchState, EndpointPlace
from annotation.jobs import queueing
from annotation.model_calls.asking import ask_endpoint
from annotation.models import CallAttempt, CallBatch, User
from tests.annotation.endpoints.stand_in import StandIn, StandInFault
from tests.annotation.model_calls.simulated_calls import ENDPOINT, SHORT, asked_server
from tests.annotation.review.cases import NOON, images_are_there
from tests.readerstudy.design.made import make_questions
from tests.readerstudy.model_runs.made import MODEL, make_prompt, permit

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "sk-planted<9f8e7d6c5b>&more"
MARKS = ("sk-planted", "9f8e7d6c5b", quote(SECRET, safe=""), "c2stcGxhbnRlZD")  # the last: the key in base64


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    monkeypatch.setattr(queueing, "nudge", lambda public_id: None)
    monkeypatch.setenv("REXVQA_MODEL_KEY_STAND_IN", SECRET)
    with asked_server(StandInFault.KEY_ECHOED, place=EndpointPlace.MACHINE, model=MODEL) as found:
        yield found


def ask() -> BatchState:
    ask_endpoint(ENDPOINT, clock=lambda: NOON, limits=SHORT)
    return BatchState(CallBatch.objects.get().state)


def printed(command: str, *arguments: str) -> str:
    out = io.StringIO()
    call_command(command, *arguments, stdout=out, stderr=out)
    return out.getvalue()


def everything(client: Client) -> Iterator[tuple[str, str]]:
    """What is kept, shown and written, by where it is found."""
    for model in apps.get_models():
        yield model.__name__, repr(list(model._default_manager.values()))
    batch, attempt = CallBatch.objects.get(), CallAttempt.objects.filter(status=401).get()
    for name in ("model-run", "model-run-calls", "model-run-variants"):
        yield name, client.get(reverse(name, args=[batch.public_id])).content.decode()
    call = client.get(reverse("model-run-call", args=[batch.public_id, attempt.call.number])).content.decode()
    assert "[key removed]" in call
    yield "model-run-call", call
    for name in ("model-runs", "model-endpoints", "jobs"):
        yield name, client.get(reverse(name)).content.decode()
    yield "show_call", printed("show_call", f"{batch.public_id}-{attempt.call.number}")
    yield "run_model", printed("run_model", "--run", batch.public_id, "--json")
    yield "replay_model_run", printed("replay_model_run", batch.public_id, "--json")


def test_a_key_that_is_echoed_is_nowhere(
    server: StandIn, client: Client, cora: User, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    bank = make_questions(6, pixels=False)
    images_are_there(bank)
    make_prompt()
    permit(bank)
    client.force_login(cora)
    plan = ("--model", "M", "--version", "1", "--endpoint", ENDPOINT, "--bank", "bank")
    printed("run_model", *plan, "--start", "--accept-unknown-cost")
    assert ask() == BatchState.PAUSED
    run = CallBatch.objects.get().public_id
    assert "refused the key" in printed("run_model", "--run", run)
    printed("export_model_requests", run, "--output", str(tmp_path / "requests.jsonl"))
    printed("run_model", "--run", run, "--start")
    assert ask() == BatchState.COMPLETE
    assert {entry.has_key for entry in server.ledger} == {True}
    found = [*everything(client), ("log", caplog.text), ("file", (tmp_path / "requests.jsonl").read_text())]
    assert [where for where, text in found for mark in MARKS if mark in text] == []
