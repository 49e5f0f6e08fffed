"""Parts of pages that depend on a few words only: rendered once for each set of words and language, then kept.

The words come from closed vocabularies, never from what a person wrote or a bank holds: what is kept is shown to
everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django import template
from django.conf import settings
from django.template.loader import get_template
from django.utils.translation import get_language

register = template.Library()
MOST_KEPT = 2000
Word = str | bool | tuple[str, ...]
Build = Callable[..., dict[str, Any]]


def kept_fragment(name: str, build: Build, *words: Word) -> str:
    """Safe HTML: the template with the context that ``build`` makes of these words, and nothing of a request."""
    if settings.DEBUG:  # templates are being edited
        return get_template(name).render(build(*words))
    return _kept(get_language(), name, build, *words)


@lru_cache(maxsize=MOST_KEPT)
def _kept(language: str | None, name: str, build: Build, *words: Word) -> str:
    return get_template(name).render(build(*words))


@register.simple_tag
def kept(template_name: str) -> str:
    """Include a template that shows the same to everybody; it is rendered once for each language."""
    return kept_fragment(template_name, dict)
