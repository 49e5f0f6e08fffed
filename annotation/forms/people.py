"""Forms with which people are asked in and given roles.

What somebody looks for in the audit log.
"""

from __future__ import annotations

from datetime import datetime, time
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.audit.acts_in_words import acts_by_group
from annotation.enums import Role
from annotation.forms import PlainForm
from annotation.forms.account import EmailField, NewPasswordMixin, TimeZoneField
from annotation.models import Invitation, ReviewRound, User
from annotation.people.event_log import Wanted, things
from annotation.people.invitation_file import MOST_BYTES
from annotation.site.permissions import SITE_ROLES, roles_given_in

MEANINGS = {
    Role.REVIEWER: _("reviews the questions of a round"),
    Role.ADJUDICATOR: _("decides questions of a round that its reviews do not settle"),
    Role.COORDINATOR: _("imports questions and images, runs rounds, exports"),
    Role.MODEL_SUBMITTER: _("enters models and sends their predictions"),
    Role.DEIDENTIFIER: _("sees and releases images in quarantine"),
    Role.ADMINISTRATOR: _("people, roles and the site"),
}


def role_choices(roles: tuple[Role, ...]) -> list[tuple[str, str]]:
    return [(role.value, f"{gettext(role.label)}: {MEANINGS[role]}") for role in roles]


class PeopleSearchForm(forms.Form):
    q = forms.CharField(label=_("Name or e-mail"), max_length=200, required=False)


class WhomForm(forms.Form):
    """Whom to ask. Without an address the link is passed on by hand."""

    email = EmailField(
        required=False,
        help_text=_("Leave it empty when you hand the link over yourself: whoever opens it gives their own."),
    )
    name = forms.CharField(label=_("Name"), max_length=200, required=False, help_text=_("They can change it."))


class InvitationForm(WhomForm):
    """Whom to ask, and for what."""

    roles = forms.TypedMultipleChoiceField(
        label=_("Roles"),
        coerce=Role,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": _("Choose at least one role.")},
        help_text=_("One link gives all of them."),
    )

    def __init__(self, *args: Any, roles: tuple[Role, ...] = SITE_ROLES, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["roles"]
        assert isinstance(field, forms.TypedMultipleChoiceField)
        field.choices = role_choices(roles)
        if len(roles) == 1:
            field.initial, field.help_text = [roles[0].value], ""


def round_invitation_form(person: User, review_round: ReviewRound, data: Any = None) -> InvitationForm:
    """The form with the roles that this person may give in this round."""
    return InvitationForm(data, roles=roles_given_in(person, review_round))


class InvitationFileForm(forms.Form):
    """A list of people; once it was looked at, its text comes back to be confirmed."""

    file = forms.FileField(label=_("CSV file"), required=False, allow_empty_file=True)
    text = forms.CharField(required=False, strip=False, max_length=MOST_BYTES, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        data = self.cleaned_data
        if not data.get("file") and not data.get("text") and not self.errors:
            self.add_error("file", _("Choose a file."))
        return data

    def data_of_file(self) -> bytes:
        """What was sent, after is_valid(); one byte more than is taken at most."""
        file = self.cleaned_data["file"]
        return bytes(file.read(MOST_BYTES + 1)) if file else self.cleaned_data["text"].encode()


class AcceptForm(NewPasswordMixin):
    """What somebody new tells about themselves. The address of an invitation that has one stays as it is."""

    email = EmailField(widget=forms.EmailInput(attrs={"autocomplete": "username"}))
    name = forms.CharField(label=_("Name"), max_length=200, widget=forms.TextInput(attrs={"autocomplete": "name"}))
    time_zone = TimeZoneField(initial="UTC")
    field_order = ["email", "name", "password", "password_again", "time_zone"]

    def __init__(self, link: Invitation, *args: Any, **kwargs: Any) -> None:
        kwargs["initial"] = {"email": link.email, "name": link.name}
        super().__init__(*args, **kwargs)
        if link.email:
            self.fields["email"].disabled = True
            self.fields["email"].help_text = _("The invitation is for this address.")
        elif not self.is_bound:
            self.fields["email"].widget.attrs["autofocus"] = True

    def person(self) -> User:
        return User(email=self.cleaned_data.get("email", ""), name=self.cleaned_data.get("name", ""))

    def account(self) -> dict[str, Any]:
        """What the new account is made of, after is_valid()."""
        return {name: self.cleaned_data[name] for name in ("email", "name", "password", "time_zone")}


class PersonForm(forms.Form):
    """A new account. Its owner sets the password with a one-time link."""

    name = forms.CharField(label=_("Name"), max_length=200, widget=forms.TextInput(attrs={"autofocus": True}))
    email = EmailField()
    roles = forms.TypedMultipleChoiceField(
        label=_("Roles on the whole site"),
        required=False,
        coerce=Role,
        choices=lambda: role_choices(SITE_ROLES),
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Roles in one round are given on the page of the person or of the round."),
    )
    time_zone = TimeZoneField(initial="UTC")


if TYPE_CHECKING:
    RoundModelChoice = forms.ModelChoiceField[ReviewRound]
else:
    RoundModelChoice = forms.ModelChoiceField


class RoundChoice(RoundModelChoice):
    def label_from_instance(self, obj: ReviewRound) -> str:
        return gettext("in the round “%(name)s”") % {"name": obj.name}


class RoleForm(forms.Form):
    """One role and where it holds: empty is the whole site."""

    role = forms.TypedChoiceField(label=_("Role"), choices=lambda: role_choices(SITE_ROLES), coerce=Role)
    round = RoundChoice(
        label=_("Where"),
        queryset=ReviewRound.objects.filter(archived_at__isnull=True).only("pk", "name", "slug"),
        required=False,
        empty_label=_("on the whole site"),
        to_field_name="slug",
    )


# --- What somebody looks for in the audit log -----------------------------------------------------
class AuditLogForm(PlainForm):
    person = forms.CharField(label=_("Person"), max_length=200, required=False)
    kind = forms.ChoiceField(label=_("Thing"), required=False)
    thing = forms.CharField(label=_("Its name, address or id"), max_length=200, required=False)
    act = forms.ChoiceField(label=_("Act"), required=False)
    since = forms.DateField(label=_("From"), required=False, widget=forms.DateInput(attrs={"type": "date"}))
    until = forms.DateField(label=_("To"), required=False, widget=forms.DateInput(attrs={"type": "date"}))

    def __init__(self, *args: Any, with_people: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds = sorted((str(thing.label), name) for name, thing in things().items())
        self.offer("kind", [("", _("all")), *((name, label) for label, name in kinds)])
        self.offer("act", [("", _("all")), *acts_by_group()])
        if not with_people:
            del self.fields["person"]

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        since, until = data.get("since"), data.get("until")
        if since and until and until < since:
            self.add_error("until", _("This is before the first day."))
        return data

    def wanted(self) -> Wanted:
        """Of a valid form; days are those of the person who asks."""
        data = dict(self.cleaned_data)
        zone = timezone.get_current_timezone()
        for name, moment in (("since", time.min), ("until", time.max)):
            if data[name] is not None:
                data[name] = datetime.combine(data[name], moment, tzinfo=zone)
        return Wanted(**data)
