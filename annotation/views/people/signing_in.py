"""The log-in, whatever proves who somebody is: its stages, and a second factor where there is one.

What allauth asks this site: sign-up is closed, messages are ours, and secrets are sealed. The lock after wrong tries,
of passwords, codes and recovery codes alike.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any, TypeVar, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records, perform_login, record_authentication
from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.account.models import Login
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from axes.handlers.proxy import AxesProxyHandler
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import REDIRECT_FIELD_NAME, authenticate
from django.contrib.auth.signals import user_login_failed
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.http.response import HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _

from annotation.models import User
from annotation.people import second_factors
from annotation.people.accounts import UNKNOWN_ADDRESS
from annotation.people.backend import has_failed_too_often
from annotation.views.site.decorators import AuthenticatedRequest

BACKEND = "annotation.people.backend.PersonBackend"


class AccountAdapter(DefaultAccountAdapter):
    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """People come by invitation, or from the provider of the settings."""
        return False

    def login(self, request: HttpRequest, user: Any) -> None:
        user.backend = BACKEND
        super().login(request, user)

    def respond_user_inactive(self, request: HttpRequest, user: Any) -> HttpResponse:
        messages.error(request, _("This account cannot log in. Ask an administrator."))
        return redirect("login")

    def reauthenticate(self, user: Any, password: str) -> bool:
        """Wrong passwords count as those of the log-in page do."""
        found = authenticate(context.request, username=user.email, password=password)
        return found is not None and found.pk == user.pk

    def is_reauthentication_required(self, *, app: str, **more: Any) -> bool:
        """Not right after logging in."""
        records = get_authentication_records(context.request, context.request.user)
        return not records or time.time() - records[-1]["at"] > settings.ACCOUNT_REAUTHENTICATION_TIMEOUT

    def get_client_ip(self, request: HttpRequest) -> str:
        return request.META.get("REMOTE_ADDR") or UNKNOWN_ADDRESS

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        """Of errors alone; our views report what was done."""
        if message:
            messages.add_message(request, level, message, extra_tags=extra_tags)


class FactorAdapter(DefaultMFAAdapter):
    error_messages = {
        **DefaultMFAAdapter.error_messages,
        "incorrect_code": _("This code or key does not fit. A code of the app works once, and for a minute."),
    }

    def _get_site_name(self) -> str:
        return _("Reading room")

    def generate_authenticator_name(self, user: Any, type: Authenticator.Type) -> str:
        n = Authenticator.objects.filter(user=user, type=type).count() + 1
        return _("Passkey %(n)s") % {"n": n}

    def encrypt(self, text: str) -> str:
        return second_factors.sealed(text)

    def decrypt(self, encrypted_text: str) -> str:
        return second_factors.unsealed(encrypted_text)


# --- The log-in, whatever proves who somebody is: its stages, and a second factor where -----------
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


# --- The lock after wrong tries, of passwords, codes and recovery codes alike ---------------------
def locked_page(request: HttpRequest, account: str) -> HttpResponse | None:
    """The page that says when it ends, where nothing is looked at now: neither a password nor a code."""
    if not settings.AXES_ENABLED:
        return None
    is_locked = has_failed_too_often(account, request.META.get("REMOTE_ADDR", ""), at=timezone.now())
    if not is_locked and AxesProxyHandler.is_allowed(request, {"username": account}):
        return None
    context = {"cooloff_timedelta": timedelta(hours=settings.AXES_COOLOFF_TIME)}
    return render(request, settings.AXES_LOCKOUT_TEMPLATE, context, status=429)


def note_wrong_code(request: HttpRequest, account: str) -> None:
    """Count a wrong code or key as a wrong password is counted."""
    if settings.AXES_ENABLED:
        user_login_failed.send(sender=__name__, credentials={"username": account}, request=request)
