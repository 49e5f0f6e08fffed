"""The log-in, whatever proves who somebody is: its stages, and a second factor where there is one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.account.models import Login
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.response import HttpResponseRedirect
from django.utils.http import urlencode

from annotation.models import User
from annotation.views.people.adapters import AccountAdapter
from annotation.views.site.decorators import AuthenticatedRequest

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


def sign_in(request: HttpRequest, person: User, method: str, next_page: str) -> HttpResponse:
    """Log the person in, or ask for the second factor first. ``method``: what was proven, such as "password"."""
    record_authentication(request, person, method=method)
    answer: HttpResponse = perform_login(request, Login(user=person, redirect_url=next_page))
    return answer


def proven_lately(view: View) -> View:
    """Ask for password, code or passkey again, unless the person gave one in the last minutes.

    What was sent is not kept meanwhile: the form comes up again.
    """

    @wraps(view)
    def guarded(request: AuthenticatedRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if is_reauthentication_required(request, app="allauth.mfa"):
            methods = AccountAdapter(request).get_reauthentication_methods(request.user)
            if methods:
                return HttpResponseRedirect(f"{methods[0]['url']}?{urlencode({REDIRECT_FIELD_NAME: request.path})}")
        return view(request, *args, **kwargs)

    return cast(View, guarded)
