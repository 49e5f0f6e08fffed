"""Forms, by room. They parse and say what is wrong; they store nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from annotation.enums import Word


class PlainForm(forms.Form):
    """Labels without a colon."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)

    def offer(self, name: str, choices: Sequence[Any]) -> None:
        """What is known only when the page is made."""
        field = self.fields[name]
        assert isinstance(field, forms.ChoiceField)
        field.choices = choices

    def offer_rows(self, name: str, rows: QuerySet[Any]) -> None:
        field = self.fields[name]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = rows


def seed_field(meaning: Any = "") -> forms.IntegerField:
    """From which something is drawn, the same each time."""
    label = gettext_lazy("Seed")
    return forms.IntegerField(label=label, min_value=0, max_value=2**31 - 1, initial=1, help_text=meaning)


def choices_of(words: type[Word]) -> list[tuple[str, str | Promise]]:
    """Every word with its label, in the language of whoever reads it."""
    return [(word.value, gettext_lazy(word.label)) for word in words]
