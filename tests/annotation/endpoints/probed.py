"""A stand-in that the settings name as an endpoint, and what a test needs to probe it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from pytest_django import Settings

from annotation.call_enums import EndpointPlace
from annotation.endpoints.kernels.endpoint_list import Endpoint
from tests.annotation.endpoints.stand_in import StandIn, StandInFault, StandInHabit

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
