"""Endpoints of models of the site in which every page has something to show: probed, being probed, and neither."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from django.utils import timezone

from annotation.call_enums import EndpointPlace, ProbeAnswer, ProbeQuestion
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.enums import JobState
from annotation.models import EndpointProbe, Job, Price
from tests.browser.pages.place import Place

LONG_MODEL = "an-organisation-of-many-words/a-vision-language-model-with-a-rather-long-name-7B-instruct-2026-11"
ENDPOINTS = (
    Endpoint("probed", "http://127.0.0.1:9/v1", EndpointPlace.MACHINE, LONG_MODEL, 60, 100_000, 8),
    Endpoint("probing", "http://10.0.0.5:9/v1", EndpointPlace.NETWORK, "model"),
    Endpoint("plain", "https://models.example.org/v1"),
)


def probe_endpoints(place: Place) -> None:
    ada, now = place.people["ada"], timezone.now()
    states = list(ProbeAnswer)
    findings = [
        {
            "code": question.value,
            "state": states[number % len(states)].value,
            "sentence": place.said("An image was accepted and adds 256 tokens to the input."),
            "numbers": {},
        }
        for number, question in enumerate(ProbeQuestion)
    ]
    for model, actor in ((LONG_MODEL, ada), ("model", None)):
        EndpointProbe.objects.create(endpoint="probed", model=model, findings=findings, probed_by=actor, probed_at=now)
    for day, amount in ((1, "2.5"), (2, "99999999.9999")):
        Price.objects.create(
            endpoint="probed",
            model=LONG_MODEL,
            currency="EUR",
            per_million_input=Decimal(amount),
            per_million_cached=Decimal("0.25"),
            per_million_output=Decimal(amount),
            valid_from=date(2026, 1, day),
            set_by=ada,
            set_at=now,
        )
    Job.objects.create(
        kind="probe_endpoint",
        title=place.named("Probe of model at probing"),
        params={"endpoint": "probing", "model": "model"},
        state=JobState.RUNNING,
        progress_done=1,
        progress_total=3,
        created_by=ada,
        created_at=now,
        heartbeat_at=now,
    )
