"""Second factors: asked for at log-in, set up and removed on the profile. The steps are those of allauth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from allauth.account.views import ReauthenticateView as PasswordAgain
from allauth.mfa.base.views import AuthenticateView, ReauthenticateView
from allauth.mfa.models import Authenticator
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
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.forms.account import AppForm, CodeAgainForm, PasskeyForm, PasswordAgainForm
from annotation.people import second_factors
from annotation.views.people.signing_in import locked_page, note_wrong_code, proven_lately
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
_form = require_http_methods(["GET", "HEAD", "POST"])
PLACE = "annotation/people/factors"


def sets_up_factor(view: View) -> View:
    """Open to people who have to set up a second factor before anything else."""
    view.sets_up_factor = True  # type: ignore[attr-defined]
    return view


# At log-in


class _AskForFactor(AuthenticateView):
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


class _LogInWithPasskey(LoginWebAuthnView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        return locked_page(request, "") or super().post(request, *args, **kwargs)

    def form_invalid(self, form: Any) -> HttpResponse:
        note_wrong_code(self.request, "")
        answer: HttpResponse = super().form_invalid(form)
        return answer


ask_for_factor = anyone(_form(_AskForFactor.as_view()))
login_passkey = anyone(_form(_LogInWithPasskey.as_view()))


# Again, before something that matters


class _PasswordAgain(PasswordAgain):
    template_name = f"{PLACE}/again.html"

    def get_form_class(self) -> type[PasswordAgainForm]:
        return PasswordAgainForm


class _CodeAgain(ReauthenticateView):
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


class _PasskeyAgain(ReauthenticateWebAuthnView):
    template_name = f"{PLACE}/again_passkey.html"


password_again = sets_up_factor(person_required(never_cache(_form(_PasswordAgain.as_view()))))
code_again = sets_up_factor(person_required(never_cache(_form(_CodeAgain.as_view()))))
passkey_again = sets_up_factor(person_required(never_cache(_form(_PasskeyAgain.as_view()))))


# On the profile


@sets_up_factor
@person_required
@never_cache
@require_safe
def factors(request: AuthenticatedRequest) -> HttpResponse:
    """What the person has, and what the site asks for."""
    found = list(Authenticator.objects.filter(user=request.user).order_by("pk"))
    codes = next((one for one in found if one.type == Authenticator.Type.RECOVERY_CODES), None)
    context = {
        "app": next((one for one in found if one.type == Authenticator.Type.TOTP), None),
        "passkeys": [one for one in found if one.type == Authenticator.Type.WEBAUTHN],
        "n_codes": len(codes.wrap().get_unused_codes()) if codes else 0,
        "is_due": second_factors.is_due(request.user),
        "reset": None if found else second_factors.last_reset(request.user),
    }
    return render(request, f"{PLACE}/factors.html", context)


class _SetUpApp(ActivateTOTPView):
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


class _RemoveApp(DeactivateTOTPView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/remove.html"
    extra_context = {"what": "app"}

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_removed(self.request.user, "app", at=timezone.now())
        messages.success(self.request, _("The app is removed."))
        return answer


class _AddPasskey(AddWebAuthnView):
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


class _RemovePasskey(RemoveWebAuthnView):
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


class _ShowCodes(ViewRecoveryCodesView):
    template_name = f"{PLACE}/codes.html"


class _MakeCodes(GenerateRecoveryCodesView):
    request: AuthenticatedRequest
    template_name = f"{PLACE}/codes_new.html"

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        answer: HttpResponse = super().form_valid(form)
        second_factors.note_codes(self.request.user, at=timezone.now())
        return answer


def _on_profile(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
    return sets_up_factor(person_required(never_cache(_form(proven_lately(view)))))


app_set_up = _on_profile(_SetUpApp.as_view())
app_remove = _on_profile(_RemoveApp.as_view())
passkey_add = _on_profile(_AddPasskey.as_view())
passkey_remove = _on_profile(_RemovePasskey.as_view())
recovery_codes = _on_profile(_ShowCodes.as_view())
recovery_codes_new = _on_profile(_MakeCodes.as_view())
