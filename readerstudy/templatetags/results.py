"""How the values of a stored analysis look on a page, each a mapping with value, ci95, n, method, flags and reason.

Rounding happens here and nowhere before: percentages with two decimals, kappa with three (two on a heatmap), p with
three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

from django import template
from django.template import Context
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotation.figures.kernels.forms import short
from annotation.templatetags.estimates import percent
from readerstudy.figures.kernels.legends import figure_legend
from readerstudy.results import wording
from readerstudy.results.kernels import inferences
from readerstudy.results.kernels.stored import ALL_TASKS, Json, task_label
from readerstudy.results.kernels.tables import OtherLines, Planned, other_lines
from readerstudy.results.looking import inside

register = template.Library()
MINUS = "\N{MINUS SIGN}"
Text = Callable[[float], str]


@register.simple_tag(takes_context=True)
def results_url(context: Context, page: str, *more: Any) -> str:
    """A results page on the way on which this one was reached; inside where a page names none."""
    way = context.get("way") or inside(context["analysis"])
    return way.to(page, *more)


register.filter("short", short)


@register.simple_tag
def why_narrower() -> str:
    """Why an interval for two random factors need not be the widest."""
    return inferences.WHY_NARROWER


@register.simple_tag
def legend(name: str, result: Json) -> str:
    """What stands under a figure."""
    return figure_legend(name, result)


@register.filter
def as_percent(one: Json) -> str:
    """83.84 %."""
    return percent(one["value"])


@register.filter
def as_count(one: Json) -> str:
    """6 of 15."""
    k = 0 if one["value"] is None else round(one["value"] * one["n"])
    return _("%(k)s of %(n)s") % {"k": k, "n": one["n"]}


@register.filter
def percent_limits(one: Json) -> str:
    """78.08 to 88.31 %."""
    return _limits(one, lambda value: _decimals(100 * value, 2), "\N{NO-BREAK SPACE}%")


@register.filter
def as_points(one: Json) -> str:
    """A difference of two shares in percentage points: +12.96."""
    return _("n/a") if one["value"] is None else _signed(one["value"])


@register.filter
def points_limits(one: Json) -> str:
    """+1.91 to +24.02."""
    return _limits(one, _signed)


@register.filter
def margin_points(margin: float) -> str:
    """A share in percentage points, without a sign."""
    return _decimals(100 * margin, 2)


@register.filter
def as_kappa(one: Json) -> str:
    """With three decimals, as in tables."""
    return _("n/a") if one["value"] is None else _decimals(one["value"], 3)


@register.filter
def kappa_limits(one: Json) -> str:
    return _limits(one, lambda value: _decimals(value, 3))


@register.filter
def in_cell(one: Json) -> str:
    """A kappa with two decimals, as in the cells of a heatmap; small cells leave out the zero behind a minus."""
    if one["value"] is None:
        return _("n/a")
    words = _decimals(one["value"], 2)
    if not words.startswith(f"{MINUS}0"):
        return words
    return format_html('{}<span class="zero">0</span>{}', MINUS, words.removeprefix(f"{MINUS}0"))


@register.filter
def as_p(one: Json) -> str:
    """Three decimals, or < 0.001."""
    return _("n/a") if one["value"] is None else bare_p(one["value"])


@register.filter
def bare_p(p: float) -> str:
    return f"< {_decimals(0.001, 3)}" if p < 0.001 else _decimals(p, 3)


@register.filter
def as_seconds(one: Json) -> str:
    return _("n/a") if one["value"] is None else f"{_decimals(one['value'], 1)}\N{NO-BREAK SPACE}{_('s')}"


@register.filter
def seconds_limits(one: Json) -> str:
    return _limits(one, lambda value: _decimals(value, 1), f"\N{NO-BREAK SPACE}{_('s')}")


@register.filter
def as_change(one: Json) -> str:
    """A change that is in percent already: −0.92 %."""
    return _("n/a") if one["value"] is None else f"{_signed(one['value'] / 100)}\N{NO-BREAK SPACE}%"


@register.filter
def change_limits(one: Json) -> str:
    return _limits(one, lambda value: _signed(value / 100), "\N{NO-BREAK SPACE}%")


@register.filter
def cautions(one: Json) -> str:
    """Why there is no value, or what to be careful about."""
    return wording.caution(one)


@register.filter
def coefficient(name: str) -> str:
    """Of a group of raters, in words."""
    return wording.coefficient(name)


@register.filter
def measure(name: str) -> str:
    """Of how much two raters agree, in words."""
    return wording.measure(name)


@register.filter
def rule(method: str) -> str:
    """How an interval or a value was made."""
    return wording.method(method)


@register.filter
def own_rule(planned: Iterable[Planned]) -> str:
    """How the intervals of each reader alone were made."""
    return wording.methods(one.by_reader[0]["method"] for one in planned)


@register.filter
def plan_kind(result: Json) -> str:
    return wording.plan_kind(result)


@register.filter
def came(model: Json) -> str:
    """When a post hoc model came in."""
    return wording.came(model)


@register.filter
def counted(found: Json) -> str:
    """Readers, questions and answers of a multi-reader analysis, and what is left out."""
    return inferences.counted(found)


@register.filter
def planned_line(found: Json) -> inferences.Line:
    """The planned inference of a mean of readers, or of a model minus it."""
    return inferences.planned_line(found)


@register.filter
def beside_planned(rows: Sequence[Planned]) -> OtherLines:
    """The other inferences and the sensitivity lines of these models."""
    return other_lines(rows)


@register.filter
def sentence(text: str) -> str:
    """A stored rule, as it is read."""
    return wording.sentence(text)


@register.filter
def task_name(panel: str) -> str:
    return _(ALL_TASKS) if panel == ALL_TASKS else _(task_label(panel))


def _limits(one: Json, text: Text, unit: str = "") -> str:
    if one["value"] is None:
        return ""
    if one["ci95"] is None:
        return _("no interval")
    low, high = one["ci95"]
    return _("%(low)s to %(high)s") % {"low": text(low), "high": text(high)} + unit


def _signed(value: float) -> str:
    """A share as percentage points with its sign; nothing has none."""
    text = _decimals(100 * value, 2)
    return text if text.startswith(MINUS) or not Decimal(f"{100 * value:.2f}") else f"+{text}"


def _decimals(value: float, places: int) -> str:
    """Rounded here, since number_format cuts; no minus before a zero."""
    rounded = Decimal(f"{value:.{places}f}")
    return number_format(rounded if rounded else abs(rounded), decimal_pos=places).replace("-", MINUS)
