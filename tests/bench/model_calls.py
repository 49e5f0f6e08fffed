"""Questions with two prepared images each, asked of the stand-in server, beside a bare loop that posts the same bytes.

The stand-in is a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench import turns_beside_calls
from tests.bench.measuring import peak_mb, seconds, told_by
from tests.bench.rows import Row, median, on_both_databases
from tests.browsers import find_chromium
from tests.processes import ROOT

N_QUESTIONS = 2_000
N_SLOW = 3_200
N_POSTED = 300  # by the bare loop
CONNECTIONS, SLOW_CONNECTIONS, SLOW_MS = 8, 32, 200
N_PICTURES, SIDES = 20, (512, 625)  # a quarter of 2048 x 2500
DATABASE = "rexvqa_bench_calls"


def measure() -> list[Row]:
    return [row for one in (_measured, _beside, _painted) for row in on_both_databases(one, DATABASE)]


def _measured(name: str, url: str) -> list[Row]:
    rows = []
    for milliseconds, n_questions in ((0, N_QUESTIONS), (SLOW_MS, N_SLOW)):
        connections = SLOW_CONNECTIONS if milliseconds else CONNECTIONS
        with _stand_in(milliseconds) as endpoint:
            asked = {"REXVQA_MODEL_ENDPOINTS": f"{endpoint} connections={connections}"}
            told = told_by(run, milliseconds, n_questions, database_url=url, **asked)
        what = f"answering after {milliseconds} ms, {connections} connections" if milliseconds else "answering at once"
        goal = "144" if milliseconds else "100"
        title = f"{name}: questions with 2 images a second, {what} ({told['mb']:.0f} MB)"
        base = f"a bare loop with the same bytes over {connections if milliseconds else 1}"
        rows.append(Row(title, told["per_second"], "1/s", goal, base, told["baseline"]))
    return rows


def _beside(name: str, url: str) -> list[Row]:
    with _stand_in(0) as endpoint:
        return turns_beside_calls.measure_on(name, url, endpoint)


def _painted(name: str, url: str) -> list[Row]:
    executable = find_chromium()
    if not executable or not Path(executable).exists():
        print("No Chromium: what a reviewer sees beside calls was not measured.")
        return []
    with _stand_in(0) as endpoint:
        return turns_beside_calls.measure_painted(name, url, endpoint)


@contextmanager
def _stand_in(milliseconds: int) -> Iterator[str]:
    """Its entry of REXVQA_MODEL_ENDPOINTS."""
    command = [sys.executable, "-m", "tests.annotation.endpoints.stand_in", str(milliseconds)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if line.startswith("REXVQA_MODEL_ENDPOINTS="):
                break
        yield line.strip().partition("=")[2]
    finally:
        process.terminate()
        process.wait()


def run(milliseconds: int, n_questions: int) -> dict[str, Any]:
    """The measurements of the database that the environment names, which is emptied first."""
    from django.core.management import call_command
    from django.utils import timezone

    from annotation.model_calls.asking import ask_endpoint
    from annotation.model_calls.next_calls import tally
    from annotation.models import CallBatch

    call_command("flush", verbosity=0, interactive=False)
    batch = filled(n_questions)
    spent = seconds(lambda: ask_endpoint("stand-in", clock=timezone.now))
    batch = CallBatch.objects.get(pk=batch.pk)
    assert tally(batch).n_done == n_questions, (batch.state, batch.paused_because)
    megabytes = peak_mb()
    baseline = _posted(batch, SLOW_CONNECTIONS if milliseconds else 1)
    return {"per_second": n_questions / spent, "baseline": baseline, "mb": megabytes}


def filled(n_questions: int) -> Any:
    """A batch at work whose pictures are made."""
    import io
    from datetime import timedelta

    import numpy as np
    from django.db.models import OuterRef, Subquery
    from django.utils import timezone
    from PIL import Image as Picture

    from annotation.call_enums import SentImages
    from annotation.enums import ImageState
    from annotation.imaging.kernels.picture_policies import STORED
    from annotation.ingest import storage
    from annotation.models import Image, ModelCall, ModelPicture, Revision
    from tests.annotation.model_calls.simulated_calls import NOON, make_batch, make_permission
    from tests.annotation.review.cases import make_bank

    draw = np.random.default_rng(1)
    rows, columns = np.mgrid[0 : SIDES[1], 0 : SIDES[0]]
    pictures = []
    for number in range(N_PICTURES):
        smooth = 120 + 80 * np.sin(rows / (90 + number)) * np.cos(columns / 110)
        file = io.BytesIO()
        greys = (smooth + draw.normal(0, 2, smooth.shape)).clip(0, 255).astype(np.uint8)
        Picture.fromarray(greys).save(file, "PNG", compress_level=1)
        stored = {"sha256": storage.store_by_hash(file.getvalue()), "n_bytes": len(file.getvalue())}
        pictures.append({**stored, "policy": STORED, "width": SIDES[0], "height": SIDES[1], "made_at": NOON})
    bank = make_bank("Asked")
    permission = make_permission(bank, expires_at=timezone.now() + timedelta(days=1))
    batch = make_batch(n_questions, bank=bank, permission=permission, images=SentImages.ALL, picture_policy=STORED)
    asked = Revision.objects.filter(pk=OuterRef("revision")).values("question__exam")[:1]
    ModelCall.objects.update(exam_id=Subquery(asked))
    Image.objects.update(state=ImageState.AVAILABLE)
    ModelPicture.objects.bulk_create(
        (ModelPicture(image_id=pk, **pictures[pk % N_PICTURES]) for pk in Image.objects.values_list("pk", flat=True)),
        batch_size=1_000,
    )
    return batch


def _posted(batch: Any, connections: int) -> float:
    """Requests a second of a bare loop over each of so many connections: what endpoint and machine allow at most."""
    from concurrent.futures import ThreadPoolExecutor

    from django.conf import settings

    from annotation.model_calls.request_bodies import request_of

    calls = batch.calls.select_related("batch__prompt", "revision__question", "exam").order_by("number")[:N_POSTED]
    bodies = [request_of(call).body for call in calls]
    url = f"{settings.MODEL_ENDPOINTS[0].url}/chat/completions"
    shares = [(bodies * (2 if connections > 1 else 1))[first::connections] for first in range(connections)]
    with ThreadPoolExecutor(connections) as threads:
        spent = [seconds(lambda: list(threads.map(_post_all, [url] * connections, shares))) for _turn in range(3)]
    return sum(map(len, shares)) / median(spent)


def _post_all(url: str, bodies: list[bytes]) -> None:
    import requests

    with requests.Session() as session:
        for body in bodies:
            session.post(url, data=body, headers={"Content-Type": "application/json"}).raise_for_status()
