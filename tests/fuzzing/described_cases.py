"""Requests that Schemathesis makes of the OpenAPI document, and what stands against their answers.

Half of what an address and a body name is there: names and values of the site stand in place of made-up ones.
Some requests break the document on purpose. Chains of requests follow the links of the document.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from schemathesis import Case, GenerationMode, Response
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.generation.stateful.state_machine import StepInput, StepOutput
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.annotation.api.schema import FILE, document
from tests.fuzzing.fuzzed_server import FuzzedSite

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
NAME = re.compile(r"(?:([\w-]+)/)?\{(\w+)\}")
BUSIEST = "coordinator, session"
STEPS = 6  # requests of a chain, at most
MODES = [GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE]


@dataclass
class FuzzTally:
    """What was asked and answered."""

    n_cases: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    answered: set[str] = field(default_factory=set)  # operations that were answered with what they are for
    asked: set[str] = field(default_factory=set)
    faults: dict[str, str] = field(default_factory=dict)  # one of each kind, with the request that shows it

    def __str__(self) -> str:
        statuses = ", ".join(f"{n:,} times {status}" for status, n in sorted(self.statuses.items()))
        seen = f"{len(self.answered)} answered with what they are for, {len(self.asked)} asked"
        return f"{self.n_cases:,} requests ({statuses}): {seen}"

    def hear(self, case: Case[Any], response: Response) -> None:
        self.n_cases += 1
        self.statuses[response.status_code] += 1
        self.asked.add(case.operation.label)
        if response.status_code >= 400:
            self.codes[f"{response.status_code} {_code_of(response)}"] += 1
        if response.status_code < 400:
            self.answered.add(case.operation.label)

    def object_to(self, failures: FailureGroup, case: Case[Any], response: Response) -> None:
        for failure in failures.exceptions:
            assert isinstance(failure, Failure)
            what = f"{case.operation.label} {response.status_code}: {failure.title}: {failure.message[:600]}"
            request = response.request
            self.faults.setdefault(
                f"{case.operation.label} {response.status_code} {failure.title} {failure.message[:60]}",
                f"{what}\n  {request.method} {request.url}\n  {request.body!r:.600}\n  {response.content!r:.400}",
            )


def _code_of(response: Response) -> str:
    try:
        return str(response.json()["code"])
    except (ValueError, KeyError, TypeError):
        return "?"


class Fuzzing:
    """Asks a site as the document says, with each of its tokens, and keeps what stands against the answers."""

    def __init__(self, site: FuzzedSite, number: int) -> None:
        self.site, self.number, self.heard = site, number, FuzzTally()
        self.schema = schemathesis.openapi.from_path(FILE)
        self.schema.config.generation.update(with_security_parameters=False)  # ways in are real ones
        self.operations = [one.ok() for one in self.schema.get_all_operations() if isinstance(one, Ok)]
        self.line, self.chance = requests.Session(), Random(number)

    def ask(self, n_cases: int) -> None:
        """So many requests that have nothing to do with each other."""
        strategies = {
            (one.label, mode): one.as_strategy(generation_mode=mode) for one in self.operations for mode in set(MODES)
        }
        labels = [one.label for one in self.operations]

        @seed(self.number)
        @_settings(n_cases)
        @given(st.data())
        def run(data: st.DataObject) -> None:
            label, mode = data.draw(st.sampled_from(labels)), data.draw(st.sampled_from(MODES))
            case = data.draw(strategies[label, mode])
            self._name_what_is_there(case)
            self.answer(case, self._some_way())

        run()

    def chain(self, n_cases: int) -> None:
        """At least so many requests in chains along the links of the document, each chain with one token."""
        machine, number = self._chains(), self.number
        while self.heard.n_cases < n_cases:
            seed(number)(machine)
            with suppress(Flaky):  # what the site answers decides where a chain goes on, so none comes twice
                machine.run(settings=_settings(n_cases, stateful_step_count=STEPS))
            number += 1

    def _chains(self) -> Any:
        fuzzing = self

        class Chain(self.schema.as_state_machine()):  # type: ignore[misc]  # a class that is made of the document
            def setup(self) -> None:
                self.way = fuzzing._some_way()

            def step(self, input: StepInput) -> StepOutput:
                if input.transition is None:  # it begins here
                    fuzzing._name_what_is_there(input.case)
                return StepOutput(fuzzing.answer(input.case, self.way), input.case)

        return Chain

    def answer(self, case: Case[Any], way: str) -> Response:
        way_in = dict(self.site.ways_in[way])
        response = case.call(base_url=self.site.address, session=self.line, headers=way_in, timeout=60)
        self.heard.hear(case, response)
        try:
            case.validate_response(response, checks=CHECKS)
        except FailureGroup as failures:
            self.heard.object_to(failures, case, response)
        return response

    def _some_way(self) -> str:
        """Half of them let in to most that there is."""
        ways = sorted(self.site.ways_in)
        return self.chance.choice([*ways, *[BUSIEST] * len(ways)])

    def _name_what_is_there(self, case: Case[Any]) -> None:
        parts = {name: self.site.names[word or name] for word, name in NAME.findall(case.path)}
        if parts and self._mostly():
            case.path_parameters = {name: self.chance.choice(known) for name, known in parts.items()}
        if self._mostly():  # what always leads to a refusal
            case.query = {name: value for name, value in case.query.items() if name != "cursor"}
            case.headers.pop("If-Match", None)
        if isinstance(case.body, Mapping) and self._mostly():
            if case.media_type == "application/json" and self.chance.random() < 0.5:
                case.body = self._example(case)
            known = {name: self.site.values[name] for name in case.body if name in self.site.values}
            case.body = {**case.body, **{name: self.chance.choice(some) for name, some in known.items()}}

    def _example(self, case: Case[Any]) -> dict[str, Any]:
        operation = document()["paths"][case.path][case.method.lower()]
        found: dict[str, Any] = operation["requestBody"]["content"][case.media_type]["example"]
        chosen = set(found) if self._mostly() else set(self.chance.sample(sorted(found), len(found) // 2))
        return {name: value for name, value in found.items() if name in chosen}

    def _mostly(self) -> bool:
        return self.chance.random() < 0.8


def _settings(n: int, **more: Any) -> settings:
    return settings(
        max_examples=n,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        derandomize=False,
        suppress_health_check=list(HealthCheck),
        **more,
    )
