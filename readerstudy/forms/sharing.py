"""What a coordinator says of a link to results."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from readerstudy.sharing.linking import DAYS

WORDS = {1: _("1 day"), 7: _("7 days"), 30: _("30 days")}


class ShareForm(forms.Form):
    days = forms.TypedChoiceField(label=_("Works for"), choices=[(n, WORDS[n]) for n in DAYS], coerce=int, initial=7)
    note = forms.CharField(
        label=_("For whom"),
        max_length=200,
        required=False,
        help_text=_("Only coordinators see this. It may stay empty."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
