"""The command as a person starts it."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from annotation.call_enums import Ending
from annotation.endpoints.client import ModelClient
from annotation.endpoints.kernels.endpoint_list import endpoints_from
from annotation.endpoints.kernels.model_requests import models_request
from annotation.endpoints.stand_in import StandIn
from tests.processes import ROOT, environment, manage


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_ended_and_says_that_it_is_simulated(tmp_path: Path, number: signal.Signals) -> None:
    """However it was started: a shell has SIGINT ignored by what it starts in the background."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", sys.executable, str(ROOT / "manage.py")]
    command += ["model_stand_in", "--port", "0"]
    with subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Simulated models: stand-in-good,")
            (endpoint,) = endpoints_from(process.stdout.readline().strip().partition("=")[2])
            with ModelClient(endpoint, None) as client:
                exchange = client.send(models_request(), at=datetime(2026, 3, 2, tzinfo=UTC))
            process.send_signal(number)
            assert process.wait(timeout=30) == 0
        finally:
            process.kill()
    assert exchange.ending == Ending.ANSWERED


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with StandIn(seed=1) as server:
        done = manage("model_stand_in", "--port", str(server.server_port), env=environment(tmp_path))
    assert done.returncode == 2
    assert done.stderr.strip() == "CommandError: Address already in use. The stand-in did not start."
