"""Words of closed vocabularies that stand in a design as plain values."""

from __future__ import annotations

from django import template
from django.utils.translation import gettext as _

from annotation.enums import Difficulty, Task
from readerstudy.design.drawing import ANY

register = template.Library()


@register.filter
def task_word(value: str) -> str:
    return _("any task") if value == ANY else _(Task(value).label)


@register.filter
def difficulty_word(value: str) -> str:
    return _("any difficulty") if value == ANY else _(Difficulty(value).label)
