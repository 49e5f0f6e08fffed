"""The steps of allauth with second factors, in our look. Loaded when one is asked: passkeys and their cryptography take
a twentieth of a start."""

from __future__ import annotations

from typing import Any

from allauth.account.views import ReauthenticateView as AskPassword
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.recovery_codes.views import GenerateRecoveryCodesView, ViewRecoveryCodesView
from allauth.mfa.totp.views import ActivateTOTPView, DeactivateTOTPView
from allauth.mfa.webauthn.views import (
    AddWebAuthnView,
    LoginWebAuthnView,
    ReauthenticateWebAuthnView,
    RemoveWebAuthnView,
)
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.forms.factors import AppForm, CodeAgainForm, PasskeyForm, PasswordAgainForm
from annotation.people import second_factors
from annotation.views.people.signing_in import locked_page, note_wrong_code
from annotation.views.site.decorators import AuthenticatedRequest

PLACE = "annotation/people/factors"


# At log-in


class AskForFactor(AuthenticateView):
    template_name = f"{PLACE}/ask.html"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        account = self.stage.login.user.email
        locked = locked_page(request, account)
        if locked is not None:
            return locked
        answer: HttpResponse = super().post(request, *args, **kwargs)
        if self.form.errors:
            note_wrong_code(request, account)
        return answer


class LogInWithPasskey(LoginWebAuthnView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return locked_page(request, "") or super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        note_wrong_code(self.request, "")
        answer: HttpResponse = super().form_invalid(form)
        return answer


# Again, before something that matters


class PasswordAgain(AskPassword):
    template_name = f"{PLACE}/again.html"

    def get_form_class(self) -> type[PasswordAgainForm]:
        return PasswordAgainForm


class CodeAgain(ReauthenticateView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/again.html"

    def get_form_class(self) -> type[CodeAgainForm]:
        return CodeAgainForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return locked_page(request, self.request.user.email) or super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        note_wrong_code(self.request, self.request.user.email)
        answer: HttpResponse = super().form_invalid(form)
        return answer


class PasskeyAgain(ReauthenticateWebAuthnView):
    template_name = f"{PLACE}/again_passkey.html"


# On the profile


class SetUpApp(ActivateTOTPView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/app.html"

    def get_form_class(self) -> type[AppForm]:
        return AppForm

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        now = timezone.now()
        second_factors.note_added(self.request.user, "app", at=now, code=form.cleaned_data["code"])
        messages.success(self.request, _("The app is set up: its code is asked for when you log in."))
        return answer


class RemoveApp(DeactivateTOTPView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/remove.html"
    extra_context = {"what": "app"}

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_removed(self.request.user, "app", at=timezone.now())
        messages.success(self.request, _("The app is removed."))
        return answer


class AddPasskey(AddWebAuthnView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/passkey.html"

    def get_form_class(self) -> type[PasskeyForm]:
        return PasskeyForm

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        context: dict[str, Any] = super().get_context_data(**kwargs)
        context.setdefault("form", kwargs.get("form") or self.get_form())
        return context

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_added(self.request.user, "passkey", at=timezone.now())
        messages.success(self.request, _("The passkey is added."))
        return answer


class RemovePasskey(RemoveWebAuthnView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/remove.html"
    success_url = reverse_lazy("mfa_index")
    extra_context = {"what": "passkey"}

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_removed(self.request.user, "passkey", at=timezone.now())
        messages.success(self.request, _("The passkey is removed."))
        return answer


class ShowCodes(ViewRecoveryCodesView):
    template_name = f"{PLACE}/codes.html"


class MakeCodes(GenerateRecoveryCodesView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/codes_new.html"

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_codes(self.request.user, at=timezone.now())
        return answer
