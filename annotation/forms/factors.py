"""Forms of second factors, as allauth checks them. What checks passkeys is loaded with them: not at every start."""

from __future__ import annotations

from typing import Any

from allauth.account.forms import ReauthenticateForm as PasswordReauthenticateForm
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from allauth.mfa.webauthn.forms import AddWebAuthnForm
from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.forms.account import password_field
from annotation.people.second_factors import note_code_used, take_code

CODE_ATTRIBUTES = {"autocomplete": "one-time-code", "autofocus": True, "inputmode": "numeric", "spellcheck": "false"}


def _code_field(label: Any) -> forms.CharField:
    return forms.CharField(label=label, max_length=40, widget=forms.TextInput(attrs=CODE_ATTRIBUTES))


class CodeForm(AuthenticateForm):
    """A code of the app or a recovery code."""

    code = _code_field(_("Code of your app, or a recovery code"))

    @transaction.atomic
    def clean_code(self) -> str:
        code: str = super().clean_code()
        if self.authenticator.type == Authenticator.Type.RECOVERY_CODES:
            note_code_used(self.user, at=timezone.now())
        elif not take_code(self.authenticator, code, at=timezone.now()):
            raise ValidationError(_("This code was used already. Wait for the next one."))
        return code


class CodeAgainForm(CodeForm, ReauthenticateForm):
    """The same, from somebody who is logged in."""

    save = ReauthenticateForm.save


class AppForm(ActivateTOTPForm):
    """The first code of an app, as proof that it has the secret."""

    code = _code_field(_("Code that the app shows"))


class PasskeyForm(AddWebAuthnForm):
    """What the browser made, and a name by which its owner knows it."""

    name = forms.CharField(label=_("Name"), required=False, max_length=100)
    passwordless = forms.BooleanField(
        label=_("Log in with it alone, without the password"),
        required=False,
        initial=True,
        help_text=_("It then asks for your finger, face or PIN. Clear this for a key without any of them."),
    )
    field_order = ["name", "passwordless", "credential"]


class PasswordAgainForm(PasswordReauthenticateForm):
    """The password of somebody who is logged in."""

    password = password_field(_("Password"), "current-password", autofocus=True)  # type: ignore[assignment]
