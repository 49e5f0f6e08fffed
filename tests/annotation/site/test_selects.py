"""Lists to choose from: the text of Django's templates, without a template for each option."""

from __future__ import annotations

from typing import Any

import pytest
from django import forms
from django.forms.renderers import DjangoTemplates
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy

ROUGH = [("", "all"), ("<\"&'>", "<b>\"&'"), (7, gettext_lazy("Date")), ("s", mark_safe("<i>kept</i>"))]


ATTRIBUTES: list[dict[str, Any]] = [{}, {"id": 'x"&', "required": True, "disabled": False, "size": 3, "lang": None}]


@pytest.mark.parametrize("choices", [[], ROUGH, [("plain", "Plain"), ("A & B", ROUGH)]])
@pytest.mark.parametrize("attributes", ATTRIBUTES)
@pytest.mark.parametrize("form", [forms.Select, forms.SelectMultiple])
def test_a_list_is_written_as_django_writes_it(
    form: type[forms.Select], choices: list[Any], attributes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    widget = form(attrs=attributes, choices=choices)
    wanted = widget.render("a<b", ["7"], renderer=DjangoTemplates()).splitlines()
    monkeypatch.setattr(DjangoTemplates, "render", None)
    assert widget.render("a<b", ["7"]).splitlines() == [line for line in wanted if line]
