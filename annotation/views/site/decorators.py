"""Every view names its policy with one of these; a test reads ``view.policy`` and refuses a view without one.

Who may open which address, read from the policies that the views carry (``annotation.views.site.decorators``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import Any, TypeVar, cast

from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails
from msgspec import Struct

from annotation.acts import By
from annotation.enums import Role
from annotation.models import User
from annotation.site.permissions import site_roles

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class AuthenticatedRequest(HttpRequest):
    """A request behind one of these decorators: its user is a person."""

    user: User


def by(request: AuthenticatedRequest) -> By:
    """The person of this request, now: ``act(study, **by(request))``."""
    return By(actor=request.user, at=timezone.now())


def anyone(view: View) -> View:
    """Open to people who are not logged in."""
    view.policy = "anyone"  # type: ignore[attr-defined]
    return view


def person_required(view: View) -> View:
    """Any person who is logged in; what they see is decided by the getter (a stranger's id is 404)."""
    return _guard(view, policy="person", roles=None, refusal="")


def role_required(*roles: Role, refusal: str = "") -> Callable[[View], View]:
    """People who hold one of these roles on the site; others get 403 with a sentence that says so, or what to do."""
    refusal = refusal or _("This page is for people with the role: %(roles)s.") % {
        "roles": ", ".join(r.label for r in roles)
    }

    def decorate(view: View) -> View:
        return _guard(view, policy="role:" + ",".join(roles), roles=frozenset(roles), refusal=refusal)

    return decorate


def _guard(view: View, *, policy: str, roles: frozenset[Role] | None, refusal: str) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _ask_to_log_in(request)
        if roles is not None and not roles & site_roles(request.user):
            raise PermissionDenied(refusal)
        return view(request, *args, **kwargs)

    guarded.policy = policy  # type: ignore[attr-defined]
    return cast("View", guarded)


def asks_for_part(request: HttpRequest) -> bool:
    """HTMX asks for the part of a page that changes; going back in the history of a browser asks for the whole one."""
    htmx = HtmxDetails(request)
    return bool(htmx) and not htmx.history_restore_request


def is_from_script(request: HttpRequest) -> bool:
    """HTMX or a script asks, also where the middleware has not run yet: a page would be of no use to them."""
    return bool(HtmxDetails(request)) or request.headers.get("Accept", "").startswith("application/json")


def _ask_to_log_in(request: HttpRequest) -> HttpResponse:
    """A full page goes to the log-in page and back; a fragment or a script gets 401 and says so itself."""
    if is_from_script(request):
        return HttpResponse(status=401)
    return redirect_to_login(request.get_full_path())


# --- Who may open which address, read from the policies that the views carry ----------------------
ROLES = tuple(Role)


class Policy(Struct, frozen=True):
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
