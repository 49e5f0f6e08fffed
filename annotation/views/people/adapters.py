"""What allauth asks this site: sign-up is closed, messages are ours, and secrets are sealed."""

from __future__ import annotations

import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from annotation.people import second_factors
from annotation.people.open_sessions import UNKNOWN_ADDRESS

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
