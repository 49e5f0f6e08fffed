"""Forms of a model endpoint: which model to probe, and what one costs."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotation.forms import PlainForm
from annotation.models.endpoints import LONGEST_MODEL


class ProbeForm(PlainForm):
    model = forms.CharField(
        label=_("Model"),
        max_length=LONGEST_MODEL,
        help_text=_("As the endpoint calls it."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class PriceForm(PlainForm):
    model = forms.CharField(label=_("Model"), max_length=LONGEST_MODEL)
    currency = forms.CharField(label=_("Currency"), max_length=3, help_text=_("EUR, USD"))
    per_million_input = forms.DecimalField(label=_("Per million input tokens"))
    per_million_cached = forms.DecimalField(
        label=_("Of them cached"), required=False, help_text=_("As input tokens where it is empty.")
    )
    per_million_output = forms.DecimalField(label=_("Per million output tokens"))
    valid_from = forms.DateField(
        label=_("Valid from"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")
    )

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        if data.get("per_million_cached") is None and "per_million_cached" not in self.errors:
            data["per_million_cached"] = data.get("per_million_input")
        return data
