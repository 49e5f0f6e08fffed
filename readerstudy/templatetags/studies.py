"""Words of closed vocabularies that stand in a design as plain values."""

from __future__ import annotations

from django import template
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from annotation.enums import Difficulty, Task
from readerstudy.design.kernels.analysis_plan import LABELS
from readerstudy.design.kernels.drawing import ANY

register = template.Library()


@register.filter
def task_word(value: str) -> str:
    return _("any task") if value == ANY else _(Task(value).label)


@register.filter
def difficulty_word(value: str) -> str:
    return _("any difficulty") if value == ANY else _(Difficulty(value).label)


@register.filter
def inference_word(inference: str) -> str:
    return _(LABELS[inference]) if inference in LABELS else inference


@register.filter
def inference_short(inference: str) -> str:
    """Whom a result is about, without the terms."""
    return inference_word(inference).partition(" (")[0]


@register.filter
def as_bare_points(share: float | None) -> str:
    """A share in percentage points with one decimal, as precise as a forecast is."""
    if share is None:
        return _("n/a")
    return number_format(round(100 * share, 1), decimal_pos=1)


@register.filter
def short_percent(share: float) -> str:
    """An assumed share as it was typed: 30 %, 37.5 %."""
    return f"{100 * share:.4g}\N{NO-BREAK SPACE}%"


@register.filter
def whole_percent(share: float | None) -> str:
    """65 %; what cannot be distinguished from certainty is not rounded to it."""
    if share is None:
        return _("n/a")
    if share > 0.995:
        return "> 99\N{NO-BREAK SPACE}%"
    return f"{100 * share:.0f}\N{NO-BREAK SPACE}%" if share >= 0.005 else "< 1\N{NO-BREAK SPACE}%"
