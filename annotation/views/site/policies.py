"""Who may open which address, read from the policies that the views carry (``annotation.views.site.decorators``)."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from annotation.enums import Role

ROLES = tuple(Role)


@dataclass(frozen=True, slots=True)
class Policy:
    """Of one address. ``policy``: "anyone", "person", or "role:" and names; ``opens`` in the order of ``ROLES``."""

    name: str
    address: str
    policy: str

    @property
    def roles(self) -> frozenset[str]:
        """Empty where the policy does not ask for a role of the site."""
        return frozenset(self.policy.removeprefix("role:").split(",") if self.policy.startswith("role:") else ())

    @property
    def opens(self) -> list[bool | None]:
        """For each role: yes, no, or None where it depends on the thing, such as the own round or study."""
        if self.policy == "anyone":
            return [True] * len(ROLES)
        return [role in self.roles for role in ROLES] if self.roles else [None] * len(ROLES)

    def opens_to(self, roles: frozenset[str]) -> bool | None:
        """Of somebody who is logged in and holds these roles on the site; None where it depends on the thing."""
        if self.policy == "anyone":
            return True
        return bool(self.roles & roles) if self.roles else None


def patterns(resolver: URLResolver) -> Iterator[tuple[str, URLPattern]]:
    """Each address of the site with what guards it."""
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            for before, pattern in patterns(entry):
                yield f"{entry.pattern}{before}", pattern
        else:
            yield "", entry


@cache
def policies_by_room() -> dict[str, list[Policy]]:
    """By app and room of the view, such as "annotation: review", in the order of addresses."""
    found: dict[str, list[Policy]] = defaultdict(list)
    for before, pattern in patterns(get_resolver()):
        app, *rooms = pattern.callback.__module__.split(".")
        room = rooms[1] if len(rooms) > 1 else ""
        policy = getattr(pattern.callback, "policy", "")
        found[f"{app}: {room}"].append(Policy(pattern.name or "", f"/{before}{pattern.pattern}", policy))
    return dict(found)


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
