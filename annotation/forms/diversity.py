"""Which model is asked for vectors of questions."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.endpoints.configured_endpoints import endpoints
from annotation.forms import PlainForm


class EmbeddingForm(PlainForm):
    endpoint = forms.ChoiceField(label=_("Endpoint"))
    model = forms.CharField(
        label=_("Embedding model at the endpoint"),
        max_length=200,
        required=False,
        help_text=_("Empty: as whoever runs the server has set it."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["endpoint"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(one.name, f"{one.name} ({gettext(one.place.label)})") for one in endpoints()]
