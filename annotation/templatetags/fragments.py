from __future__ import annotations

from django import template

from annotation.views.fragments import kept_fragment

register = template.Library()


@register.simple_tag
def kept(template_name: str) -> str:
    """Include a template that shows the same to everybody; it is rendered once for each language."""
    return kept_fragment(template_name, dict)
