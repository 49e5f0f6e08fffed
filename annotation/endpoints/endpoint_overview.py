"""What people read of the model endpoints: where they are, what the newest probe found, what they cost today."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db.models import OuterRef, QuerySet, Subquery

from annotation.endpoints.configured_endpoints import EndpointRefused, endpoints, key_for
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.endpoints.probing import KIND, counts_of
from annotation.enums import JobState
from annotation.models import EndpointProbe, Job, Price


@dataclass(frozen=True)
class EndpointLine:
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
    return (
        job if job and job.is_unfinished else None,
        job if job and job.state == JobState.FAILED else None,
    )


def _newest_probes() -> dict[str, EndpointProbe]:
    names = [endpoint.name for endpoint in endpoints()]
    newest = EndpointProbe.objects.filter(endpoint=OuterRef("endpoint")).values("pk")[:1]
    return {probe.endpoint: probe for probe in EndpointProbe.objects.filter(endpoint__in=names, pk=Subquery(newest))}


def _prices_in_force(today: date) -> dict[tuple[str, str], Price]:
    """By endpoint and model."""
    rows = Price.objects.filter(valid_from__lte=today).order_by("valid_from")
    return {(price.endpoint, price.model): price for price in rows}
