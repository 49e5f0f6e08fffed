"""Forms with which people look after their own account."""

from __future__ import annotations

import zoneinfo
from collections.abc import Iterable
from functools import cache
from typing import Any

from django import forms
from django.contrib.auth import password_validation
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import ValidationError
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.enums import KeyUse, Role
from annotation.forms import choices_of
from annotation.models import AccessToken, User
from annotation.people.tokens import MOST_DAYS, USUAL_DAYS, TokenPlace, places_of


@cache
def known_zones() -> frozenset[str]:
    """The zones of this machine; reading them touches 600 files, so they are read once."""
    return frozenset(zoneinfo.available_timezones())


@cache
def time_zone_choices() -> list[tuple[str, list[tuple[str, str]]]]:
    """Zones by continent, with UTC first; those without a place (Etc/GMT+3 and old abbreviations) are left out."""
    by_area: dict[str, list[tuple[str, str]]] = {}
    for name in sorted(known_zones()):
        area, _slash, place = name.partition("/")
        if place and area not in {"Etc", "SystemV", "posix", "right"}:
            by_area.setdefault(area, []).append((name, place.replace("_", " ").replace("/", ", ")))
    return [("UTC", [("UTC", "UTC")]), *by_area.items()]


class TimeZoneField(forms.ChoiceField):
    """A place of the time zone database; the page's script offers the one of the browser."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", _("Time zone"))
        options.setdefault("help_text", _("Times on every page are shown in this zone."))
        super().__init__(choices=time_zone_choices, **options)

    def valid_value(self, value: Any) -> bool:
        """Any zone that this machine knows, so that a zone stored elsewhere is not a trap."""
        return str(value) in known_zones()


class EmailField(forms.EmailField):
    """An address, in lower case."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("label", _("E-mail"))
        options.setdefault("max_length", 254)
        super().__init__(**options)

    def clean(self, value: Any) -> str:
        return str(super().clean(value)).lower()


class LoginForm(AuthenticationForm):
    """An address and a password. The address is one word for the lock after wrong tries, however it is written."""

    error_messages = {
        "invalid_login": _("E-mail or password is wrong. Passwords are case-sensitive."),
        "inactive": _("This account cannot log in. Ask an administrator."),
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].label = _("E-mail")
        self.fields["username"].widget = forms.EmailInput(
            attrs={"autofocus": True, "autocomplete": "username", "maxlength": 254}
        )

    def clean_username(self) -> str:
        return str(self.cleaned_data["username"]).strip().lower()


def password_field(
    label: Any, autocomplete: str = "new-password", hint: Any = "", **attributes: Any
) -> forms.CharField:
    widget = forms.PasswordInput(attrs={"autocomplete": autocomplete, **attributes})
    return forms.CharField(label=label, strip=False, max_length=500, widget=widget, help_text=hint)


class NewPasswordMixin(forms.Form):
    """A password typed twice; it must pass the password rules for the person it is for."""

    password = password_field(
        _("Password"),
        hint=_("At least 10 characters, not only digits, not a common one, not like your name or address."),
    )
    password_again = password_field(_("Repeat password"))

    def person(self) -> User:
        """The person whose name and address the password must not resemble."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        password = data.get("password")
        if password and "password_again" in data and password != data["password_again"]:
            self.add_error("password_again", _("The two passwords differ. Type both again."))
        elif password:
            try:
                password_validation.validate_password(password, self.person())
            except ValidationError as reasons:
                self.add_error("password", reasons)
        return data


class NewPasswordForm(NewPasswordMixin):
    """A new password after a reset, or for an account that never had one."""

    field_order = ["password", "password_again"]

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user

    def person(self) -> User:
        return self.user


class PasswordChangeForm(NewPasswordForm):
    """A new password, with the present one as proof."""

    present = password_field(_("Current password"), "current-password", autofocus=True)
    kept = forms.MultipleChoiceField(
        label=_("Access tokens that go on working"),
        widget=forms.CheckboxSelectMultiple,
        required=False,
        help_text=_("The others are revoked. Tick those whose scripts you know."),
    )
    field_order = ["present", "password", "password_again", "kept"]

    def __init__(self, user: User, *args: Any, tokens: Iterable[AccessToken], **kwargs: Any) -> None:
        super().__init__(user, *args, **kwargs)
        choices = [(token.public_id, _last_use(token)) for token in tokens]
        if not choices:
            del self.fields["kept"]
        else:
            self.fields["kept"].choices = choices  # type: ignore[attr-defined]
        self.fields["password"].label = _("New password")
        self.fields["password_again"].label = _("Repeat new password")

    def clean_present(self) -> str:
        present = str(self.cleaned_data["present"])
        if not self.user.check_password(present):
            raise ValidationError(_("This is not your current password."))
        return present


def _last_use(token: AccessToken) -> str:
    if token.last_used_at is None:
        return gettext("%(name)s, never used") % {"name": token.name}
    used = date_format(localtime(token.last_used_at), "DATETIME_FORMAT")
    return gettext("%(name)s, last used %(at)s") % {"name": token.name, "at": used}


class PasswordLinkForm(forms.Form):
    """An address to send a password link to. Accounts that never had a password may ask for one, too."""

    email = EmailField(widget=forms.EmailInput(attrs={"autocomplete": "email", "autofocus": True}))


class ProfileForm(forms.Form):
    name = forms.CharField(label=_("Name"), max_length=200, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    time_zone = TimeZoneField()
    wants_digest = forms.BooleanField(
        label=_("A daily e-mail about review rounds that I coordinate"),
        required=False,
        help_text=_("What is waiting, late, stuck or newly disputed. Nothing is sent on days without news."),
    )

    keys = forms.ChoiceField(
        label=_("Keys beside images"),
        choices=choices_of(KeyUse),
        required=False,
        help_text=_("Without letters, dictated text answers nothing. Everything that they do has a button."),
    )

    def __init__(self, *args: Any, coordinates: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not coordinates:
            del self.fields["wants_digest"]

    def clean_keys(self) -> str:
        return str(self.cleaned_data["keys"] or self.initial["keys"])


class TokenForm(forms.Form):
    """What a new access token is for: a role that its owner holds somewhere, as one choice."""

    name = forms.CharField(
        label=_("Name"), max_length=80, help_text=_("What will use the token, such as “nightly import”.")
    )
    grant = forms.ChoiceField(label=_("Role and place"), help_text=_("It never gives more than you have yourself."))
    days = forms.IntegerField(label=_("Valid for (days)"), min_value=1, max_value=MOST_DAYS, initial=USUAL_DAYS)
    networks = forms.CharField(
        label=_("Only from these network addresses"),
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("One per line, such as 192.0.2.7 or 10.1.0.0/16. Empty: from everywhere."),
    )

    def __init__(self, person: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.grants = {
            f"{place.scope}:{role}:{place.slug}": (role, place)
            for place in places_of(person)
            for role in sorted(place.roles)
        }
        field = self.fields["grant"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [(key, _grant_words(*grant)) for key, grant in self.grants.items()]

    def clean(self) -> dict[str, Any]:
        """Role and place in the words of ``make_token``."""
        data = super().clean() or self.cleaned_data
        if "grant" in data:
            data["role"], data["place"] = self.grants[data.pop("grant")]
        data["networks"] = data.get("networks", "").split()
        return data


def _grant_words(role: str, place: TokenPlace) -> str:
    return f"{gettext(Role(role).label)}: {gettext(place.scope.label)} {place.name}".strip()
