"""Forms of a model endpoint: which model to probe, what one costs, and what every form asks that has a model asked."""

from __future__ import annotations

from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.endpoints.configured_endpoints import endpoints
from annotation.endpoints.kernels.endpoint_list import Endpoint
from annotation.forms import PlainForm
from annotation.models import PromptVersion
from annotation.models.endpoints import LONGEST_MODEL


class ProbeForm(PlainForm):
    model = forms.CharField(
        label=_("Model"),
        max_length=LONGEST_MODEL,
        help_text=_("As the endpoint calls it."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class AskingForm(PlainForm):
    """An endpoint and the settings of its model; subclasses say what is asked, and in which order the fields come."""

    endpoint = forms.ChoiceField(label=_("Endpoint"))
    model = forms.CharField(
        label=_("Model at the endpoint"),
        max_length=LONGEST_MODEL,
        required=False,
        help_text=_("As the endpoint calls it; empty: as whoever runs the server has set it."),
    )
    cap = forms.DecimalField(
        label=_("Most that it may cost"),
        required=False,
        max_digits=12,
        decimal_places=4,
        help_text=_("In the currency of the price. It pauses before it costs more."),
    )
    temperature = forms.FloatField(
        label=_("Temperature"), required=False, min_value=0, max_value=2, initial=0, help_text=_("Empty: not sent.")
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.offer("endpoint", [(one.name, _label_of(one)) for one in endpoints()])

    def offer_prompts(self, name: str, prompts: QuerySet[PromptVersion]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = prompts


def _label_of(endpoint: Endpoint) -> str:
    place = gettext(endpoint.place.label)
    return f"{endpoint.name} ({place}{', ' + endpoint.model if endpoint.model else ''})"


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
