"""Forms of what may be sent to models: the terms of a bank, a permission, and its end."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.sending_permissions import LONGEST_WORDS
from annotation.forms import PlainForm
from annotation.models import QuestionBank
from annotation.questionbank.bank_life import LONGEST_TERMS
from annotation.site.zones import end_of_day


class TermsForm(PlainForm):
    """What the source of a bank asks of whoever uses it, and how its images came."""

    terms = forms.CharField(
        label=_("Terms of use"),
        required=False,
        max_length=LONGEST_TERMS,
        widget=forms.Textarea(attrs={"rows": 14}),
        help_text=_(
            "The words of the licence or agreement. Whoever permits to send to an endpoint outside accepts them."
        ),
    )
    holds_quarters = forms.BooleanField(
        label=_("The images have a quarter of their first width and height"),
        required=False,
        help_text=_("They are then sent to models as they are, also where a run asks for a quarter."),
    )

    is_public = forms.BooleanField(
        label=_("Its questions are public"),
        required=False,
        help_text=_("A model may have learned them. Questions of other banks are then compared with them."),
    )

    @classmethod
    def of(cls, bank: QuestionBank) -> TermsForm:
        return cls(initial={name: getattr(bank, name) for name in ("terms", "holds_quarters", "is_public")})


class PermissionForm(PlainForm):
    """``terms_shown`` comes back from the page as it was read, so that other terms in between are noticed."""

    endpoint = forms.ChoiceField(
        label=_("Endpoint"),
        help_text=_("Whoever runs the server names the endpoints, and where each one is."),
    )
    questions = forms.BooleanField(label=_("Questions with their options"), required=False)
    images = forms.BooleanField(
        label=_("Images, de-identified"),
        required=False,
        help_text=_("With questions only. PhysioNet (notice of 24 September 2025) strongly recommends local models."),
    )
    reports = forms.BooleanField(
        label=_("Reports"),
        required=False,
        help_text=_("Without questions: models may write questions from the reports."),
    )
    reason = forms.CharField(label=_("Reason"), max_length=LONGEST_WORDS, widget=forms.Textarea(attrs={"rows": 2}))
    agreement = forms.CharField(
        label=_("Agreement"),
        max_length=LONGEST_WORDS,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("The contract, approval or licence that it is based on, with its number or date."),
    )
    expires_at = forms.DateField(
        label=_("Valid until"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    accepted = forms.BooleanField(
        label=_("I have read these terms, and sending to this endpoint complies with them."), required=False
    )
    terms_shown = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, bank: QuestionBank, zone: str, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.zone = zone
        field = self.fields["endpoint"]
        if isinstance(field, forms.ChoiceField):
            field.choices = [(one.name, f"{one.name} ({gettext(one.place.label)})") for one in endpoints()]
        words = gettext("The end of this day in your time zone, %(zone)s; a year at most.")
        self.fields["expires_at"].help_text = words % {"zone": zone}
        if not bank.terms:
            del self.fields["accepted"]

    def clean_expires_at(self) -> datetime:
        day: date = self.cleaned_data["expires_at"]
        return end_of_day(day, self.zone)

    def accepted_terms(self) -> str:
        """The terms as they were read, where they were accepted; after is_valid()."""
        shown: str = self.cleaned_data["terms_shown"]
        return shown if self.cleaned_data.get("accepted") else ""


class WithdrawalForm(PlainForm):
    because = forms.CharField(label=_("Reason"), max_length=LONGEST_WORDS, widget=forms.Textarea(attrs={"rows": 3}))
