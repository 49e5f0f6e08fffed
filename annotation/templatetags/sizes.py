"""Sizes of files as people write them: "512 MB", not "512.0 MB"."""

from __future__ import annotations

import re

from django import template
from django.template.defaultfilters import filesizeformat

register = template.Library()
_ROUND = re.compile(r"(?<=\d)[.,]0(?=\D)")


@register.filter
def file_size(n_bytes: int | None) -> str:
    """As Django writes it in the language of the page, without a decimal of zero."""
    return _ROUND.sub("", str(filesizeformat(n_bytes or 0)))
