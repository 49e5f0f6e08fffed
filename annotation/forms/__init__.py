"""Forms, by room. They parse and say what is wrong; they store nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.forms.renderers import DjangoTemplates
from django.utils.functional import Promise
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext_lazy

from annotation.enums import Word
from annotation.refusals import Refused


class QuickSelects(DjangoTemplates):
    """Lists to choose from as Django writes them, without a template for each option: a page has hundreds."""

    def render(self, template_name: str, context: dict[str, Any], request: Any = None) -> str:
        if template_name != forms.Select.template_name:
            return super().render(template_name, context, request)
        widget = context["widget"]
        parts: list[str] = [format_html('<select name="{}"{}>', widget["name"], _written(widget["attrs"]))]
        for group, options, _place in widget["optgroups"]:
            parts += [format_html('\n  <optgroup label="{}">', group)] if group else []
            for one in options:
                cells = str(one["value"]), _written(one["attrs"]), one["label"]
                parts.append(format_html('\n  <option value="{}"{}>{}</option>', *cells))
            parts += ["\n  </optgroup>"] if group else []
        return mark_safe("".join([*parts, "\n</select>"]))  # noqa: S308 - every part is escaped


def _written(attributes: Mapping[str, Any]) -> SafeString:
    given = {name: value for name, value in attributes.items() if value is not False}
    parts = ((name, "" if value is True else format_html('="{}"', str(value))) for name, value in given.items())
    return format_html_join("", " {}{}", parts)


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


def seed_field(meaning: Any = "", *, most: int = 2**31 - 1, initial: int = 1, **options: Any) -> forms.IntegerField:
    """From which something is drawn, the same each time."""
    label = gettext_lazy("Seed")
    return forms.IntegerField(label=label, min_value=0, max_value=most, initial=initial, help_text=meaning, **options)


def choices_of(words: type[Word]) -> list[tuple[str, str | Promise]]:
    """Every word with its label, in the language of whoever reads it."""
    return [(word.value, gettext_lazy(word.label)) for word in words]


def valid_data(form: forms.Form, otherwise: str = "") -> dict[str, Any]:
    """What a form holds. Raises Refused with its errors, or with the sentence in their place."""
    if not form.is_valid():
        raise Refused("invalid", otherwise or _errors_of(form), status=422)
    return form.cleaned_data


def _errors_of(form: forms.Form) -> str:
    return " ".join(str(error) for errors in form.errors.values() for error in errors)
