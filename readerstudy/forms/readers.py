"""How many people read, and how many orders are drawn for them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from readerstudy.forms.drafts import DraftForm
from readerstudy.models import ReaderStudy

MOST_READERS, MOST_ORDERS = 500, 2000


class ReadersForm(DraftForm):
    n_readers = forms.IntegerField(
        label=_("Readers"),
        min_value=1,
        max_value=MOST_READERS,
        help_text=_("Of all sets together. They are invited once the design is frozen."),
    )
    n_orders = forms.IntegerField(
        label=_("Reading orders per set"),
        min_value=1,
        max_value=MOST_ORDERS,
        required=False,
        help_text=_("Default: twice the readers; fewer are never drawn."),
    )

    @classmethod
    def of(cls, study: ReaderStudy, data: Any = None) -> ReadersForm:
        return cls(data, initial={"n_readers": study.n_readers, "n_orders": study.n_orders or None})

    def numbers(self) -> dict[str, int]:
        """What was asked for, after is_valid()."""
        return {"n_readers": self.cleaned_data["n_readers"], "n_orders": self.cleaned_data["n_orders"] or 0}
