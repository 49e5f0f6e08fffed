"""The answers that the policies give: of each address and method, to each person, for each thing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import get_resolver

from annotation.models import User
from annotation.refusals import Refused
from annotation.site.permissions import site_roles
from annotation.views.site.decorators import patterns
from tests.permissions.people import Asker
from tests.permissions.rule_of_routes import NOT_THERE, RULES, SENDING
from tests.permissions.rules import ROLE, Rule
from tests.permissions.things import Thing

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
SAFE = ("GET", "HEAD")
ANYONE, PERSON = "anyone", "person"


class Answer(StrEnum):
    """How an address answers; what it says of what was sent, or of the state of the thing, is no question of rights."""

    OPENS = "yes"
    LOG_IN = "log in"
    FORBIDDEN = "403"
    NOT_FOUND = "404"
    NO_METHOD = "405"


@dataclass(frozen=True)
class Route:
    name: str
    address: str
    parts: tuple[str, ...]
    view: Any

    @property
    def is_api(self) -> bool:
        return self.name.startswith("api-")

    @property
    def methods(self) -> frozenset[str]:
        return methods_of(self.view)

    def gate(self, method: str) -> str:
        """Who is let through before anything is looked up: anyone, a person, or "role:" and the roles of the site."""
        writers = getattr(getattr(self.view, "cls", None), "writers", None)
        if writers is not None and method not in SAFE:
            return "role:" + ",".join(sorted(writers))
        policy: str = self.view.policy
        return "role:" + ",".join(sorted(roles_of(policy))) if roles_of(policy) else policy

    def rule(self, method: str) -> Rule:
        """Raises KeyError for an address of which no row says whom it lets in."""
        sent = SENDING.get(self.name) if method not in SAFE else None
        return sent or (RULES.get(self.name, ROLE) if self.gate(method) != PERSON else RULES[self.name])


def roles_of(policy: str) -> frozenset[str]:
    return frozenset(policy.removeprefix("role:").split(",")) if policy.startswith("role:") else frozenset()


def routes() -> Iterator[Route]:
    for before, pattern in patterns(get_resolver()):
        address = f"/{before}{pattern.pattern}".replace("^", "").replace("\\.", ".").replace("$", "")
        parts = tuple(pattern.pattern.converters or pattern.pattern.regex.groupindex)
        yield Route(str(pattern.name), address, parts, pattern.callback)


def things_for(route: Route, things: Mapping[str, list[Thing]]) -> list[Thing]:
    """Those whose values fill the address, by the longest beginning of its name. Raises LookupError for none."""
    if not route.parts:
        return [Thing("", {})]
    name = route.name.removeprefix("api-")
    key = max((key for key in things if name.startswith(key)), key=len)
    found = [one for one in things[key] if not set(route.parts) - set(one.values)]
    if not found:
        raise LookupError(f"{route.name}: nothing stands for {', '.join(route.parts)}")
    return found


def expected(route: Route, method: str, person: User | None, thing: Thing) -> Answer:
    """As the policies say; of a method that the address does not take, 405 to whoever passes its gate."""
    gate = route.gate(method)
    if person is None:
        return _in(route, method) if gate == ANYONE else Answer.LOG_IN
    roles = roles_of(gate)
    if roles and not roles & site_roles(person):
        return Answer.FORBIDDEN
    if method not in route.methods:
        return Answer.NO_METHOD
    return Answer.OPENS if gate == ANYONE else _decided(route.rule(method), person, tuple(thing.values.items()))


@cache
def _decided(rule: Rule, person: User, values: tuple[tuple[str, Any], ...]) -> Answer:
    """Once for all addresses of which the same rule decides."""
    try:
        rule.asks(person, dict(values))
    except PermissionDenied:
        return Answer.FORBIDDEN
    except Http404:
        return Answer.NOT_FOUND
    except Refused as refusal:
        if refusal.status != HTTPStatus.NOT_FOUND:
            raise
        return Answer.NOT_FOUND
    return Answer.OPENS


def _in(route: Route, method: str) -> Answer:
    return Answer.OPENS if method in route.methods else Answer.NO_METHOD


@dataclass(frozen=True)
class Line:
    """What everybody is answered at an address, by a method, about a thing; in the order of the columns."""

    route: Route
    method: str
    thing: Thing
    answers: tuple[Answer, ...]


def lines(people: Mapping[Asker, User | None], things: Mapping[str, list[Thing]]) -> Iterator[Line]:
    """Of every address and method that it takes. HEAD is asked as GET is."""
    for route in routes():
        for method in METHODS:
            if method in route.methods and (method != "HEAD" or "GET" not in route.methods):
                for thing in things_for(route, things):
                    answers = tuple(expected(route, method, person, thing) for person in people.values())
                    yield Line(route, method, thing, answers)


def is_there(route: Route) -> bool:
    return route.name not in NOT_THERE


def methods_of(view: Callable[..., Any] | None) -> frozenset[str]:
    """The methods that a view lets in, as its class or its decorators say; GET and POST where neither says it."""
    if (resource := getattr(view, "cls", None)) is not None:
        names = {name.upper() for name in resource.http_method_names if hasattr(resource, name)}
        return frozenset(names | {"HEAD"} if "GET" in names else names)
    found: frozenset[str] | None = None
    while view is not None:
        closed = inspect.getclosurevars(view).nonlocals if inspect.isfunction(view) else {}
        if "request_method_list" in closed:
            allowed = frozenset(closed["request_method_list"])
            found = allowed if found is None else found & allowed
        view = getattr(view, "__wrapped__", None)
    return frozenset({"GET", "POST"}) if found is None else found
