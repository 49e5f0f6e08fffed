"""``make proof-servers``: 57 questions with two images each, asked of real servers by a served site and its worker.

``transformers serve`` has a vision model of random weights, made on the spot; the proxy of ``litellm`` stands before
it. Each is installed into an environment of its own (``tests/tools/``). What the model says is chance: the proof is
that every question comes to an answer of the model, that none is lost, and that all are published.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.processes import ROOT, Server, environment, free_port, manage, printed_by
from tests.tools.installing import ToolMissing, programs_of

MODULE = "tests.readerstudy.model_runs.real_servers"
N_QUESTIONS = 57
PATIENCE = 300  # seconds, of a start and of a run
SERVE, PROXY = "transformers-serve", "litellm"
OF_MODEL = ("answered", "failed", "two")  # outcomes: whatever letters it says


def main() -> int:
    try:
        serve, proxy = programs_of(SERVE), programs_of(PROXY)
    except ToolMissing as why:
        print(f"No real server was asked: {why}")
        return 0
    key = f"sk-{secrets.token_hex(16)}"
    with (
        tempfile.TemporaryDirectory(prefix="rexvqa-servers-") as folder,
        _model(serve, Path(folder)) as (url, model),
        _proxy(proxy, Path(folder), url, model, key) as behind,
    ):
        endpoints = f"{SERVE}={url} place=machine model={model}, {PROXY}={behind} place=machine model={PROXY}"
        settings = {"REXVQA_MODEL_ENDPOINTS": endpoints, f"REXVQA_MODEL_KEY_{PROXY.upper()}": key}
        env = environment(Path(folder) / "home", DJANGO_SETTINGS_MODULE="rexvqa_site.settings", **settings)
        manage("migrate", "--verbosity", "0", env=env).check_returncode()
        printed_by(MODULE, "fill", SERVE, PROXY, env=env)
        found = [_asked(endpoint, env) for endpoint in (SERVE, PROXY)]
    return 0 if all(found) else 1


@contextmanager
def _model(programs: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """Base URL, and what the server calls the model: its folder."""
    model, port = folder / "model", free_port()
    maker = ROOT / "tests" / "tools" / "tiny_vision_model.py"
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "hub")}
    subprocess.run([programs / "python", maker, model], env=os.environ | offline, check=True, stderr=subprocess.DEVNULL)
    command = ["transformers", "serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with _started(programs, command, offline, folder / "serve.log", f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}/v1", str(model)


@contextmanager
def _proxy(programs: Path, folder: Path, url: str, model: str, key: str) -> Iterator[str]:
    """Its base URL. It starts with a key alone, and passes on what it is sent under the name of the proxy."""
    config, port = folder / "proxy.yaml", free_port()
    passed_on = {"model": f"openai/{model}", "api_base": url, "api_key": "none"}
    config.write_text(json.dumps({"model_list": [{"model_name": PROXY, "litellm_params": passed_on}]}))
    command = ["litellm", "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    said = {"LITELLM_MASTER_KEY": key, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with _started(programs, command, said, folder / "proxy.log", f"http://127.0.0.1:{port}/health/liveliness"):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def _started(programs: Path, command: list[str], more: dict[str, str], log: Path, greets: str) -> Iterator[None]:
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "DJANGO_", "REXVQA_"))}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [programs / command[0], *command[1:]],
            env=clean | more | {"PATH": path},
            cwd=log.parent,
            stdout=output,
            stderr=output,
        )
    try:
        until = time.monotonic() + PATIENCE
        while not _answers(greets):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{command[0]} does not serve: {log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.5)
        yield
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except (OSError, urllib.error.HTTPError):
        return False


def _asked(endpoint: str, env: dict[str, str]) -> bool:
    """Whether every question of a run there has an answer of the model, and a prediction; printed in one line."""
    server = Server(env)
    try:
        server.wait_until_greeted()
        planned = ("--model", "Random letters", "--version", endpoint, "--endpoint", endpoint, "--bank", "bank")
        run = _told(*planned, "--max-tokens", "500", "--start", "--accept-unknown-cost", env=env)
        until = time.monotonic() + PATIENCE
        while not run["published"] and run["state"] != "paused" and time.monotonic() < until:
            time.sleep(3)
            run = _told("--run", run["run"], env=env)
    finally:
        server.stop()
    rows = printed_by(MODULE, "rows", run["run"], env=env)
    n_answered = sum(run["outcomes"][outcome] for outcome in OF_MODEL)
    is_whole = run["state"] == "complete" and run["calls"] == n_answered == rows["predictions"] == N_QUESTIONS
    print(f"{endpoint}: {n_answered} of {N_QUESTIONS} answered, run {run['state']}; rows: {rows}", flush=True)
    return is_whole and not run["asked_twice"]


def _told(*words: str, env: dict[str, str]) -> dict[str, Any]:
    done = manage("run_model", *words, "--json", env=env)
    if done.returncode:
        raise RuntimeError(done.stderr)
    told: dict[str, Any] = json.loads(done.stdout)
    return told


# --- within the site ------------------------------------------------------------------------------
def fill(*endpoints: str) -> int:
    """A bank of questions with two pictures each, and permission to send all of it there."""
    from tests.readerstudy.design.made import make_questions
    from tests.readerstudy.model_runs.made import permit

    bank = make_questions(N_QUESTIONS)
    for endpoint in endpoints:
        permit(bank, endpoint=endpoint)
    return bank.questions.count()


def rows_of(run: str) -> dict[str, Any]:
    """What the rows of a run say."""
    from annotation.models import CallAttempt, ModelCall
    from readerstudy.models import ModelRun, Prediction

    batch = ModelRun.objects.get(batch__public_id=run).batch
    calls = ModelCall.objects.filter(batch=batch)
    attempts = CallAttempt.objects.filter(call__batch=batch).values_list("status", "finish_reason")
    return {
        "predictions": Prediction.objects.filter(run__made_by__model_run__batch=batch).count(),
        "outcomes": Counter(calls.values_list("outcome", flat=True)),
        "pictures": Counter(len(one or ()) for one in calls.values_list("pictures", flat=True)),
        "attempts": Counter(f"{status} {reason}" for status, reason in attempts),
    }


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(main())
    import django

    django.setup()
    what, *words = sys.argv[1:]
    print(json.dumps(fill(*words) if what == "fill" else rows_of(*words)))
