"""How the values of a stored analysis, and words of closed vocabularies, look on a page.

Rounding happens here and nowhere before: percentages with two decimals, kappa with three (two on a heatmap), p with
three.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from statistics import median
from typing import Any

from django import template
from django.template import Context
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext as _

from annotation.enums import Difficulty, Task
from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels import printing
from annotation.tables.kernels.forms import FigureForm, short
from annotation.tables.kernels.table import Column, Kind, Name, Table, TableCell
from annotation.templatetags.estimates import of_all, percent
from readerstudy.analysis.kernels.labels import headings
from readerstudy.analysis.kernels.result import ALL_TASKS
from readerstudy.design.kernels.analysis_plan import LABELS
from readerstudy.design.kernels.drawing import ANY
from readerstudy.results import difference_tables, wording
from readerstudy.results.kernels import inferences
from readerstudy.results.kernels.inferences import Planned
from readerstudy.results.kernels.legends import figure_legend
from readerstudy.results.kernels.stored import task_label
from readerstudy.results.looking import inside

register = template.Library()
MINUS = "\N{MINUS SIGN}"
Text = Callable[[float], str]


@register.simple_tag(takes_context=True)
def results_url(context: Context, page: str, *more: Any) -> str:
    """The address of a results page beside this one; inside where a page names no routes."""
    return (context.get("routes") or inside(context["analysis"])).to(page, *more)


register.filter("short", short)
register.filter("headings", headings)
register.filter("cautions", wording.caution)
register.filter("rule", wording.method)
register.filter("plan_kind", wording.plan_kind)
register.filter("came", wording.came)
register.filter("sentence", wording.sentence)
register.filter("share_of", of_all)
register.filter("counted", inferences.counted)
register.filter("planned_line", inferences.planned_line)
register.filter("inference_of_plan", difference_tables.inference_of_plan)
register.simple_tag(figure_legend, name="legend")
register.simple_tag(lambda: inferences.WHY_NARROWER, name="why_narrower")


@register.simple_tag(takes_context=True)
def figure_files(context: Context, name: str, width: str) -> str:
    """A link to each form of a figure."""
    links = ((results_url(context, "figure", name, width, form.value), form.value.upper()) for form in FigureForm)
    return format_html_join(" ", '<a href="{}">{}</a>', links)


@register.filter
def as_percent(one: Value) -> str:
    """83.84 %."""
    return percent(one["value"])


@register.filter
def as_count(one: Value) -> str:
    """6 of 15."""
    k = 0 if one["value"] is None else round(one["value"] * one["n"])
    return _("%(k)s of %(n)s") % {"k": k, "n": one["n"]}


@register.filter
def percent_limits(one: Value) -> str:
    """78.08 to 88.31 %."""
    return _limits(one, lambda value: _decimals(100 * value, 2), "\N{NO-BREAK SPACE}%")


@register.filter
def as_points(one: Value) -> str:
    """A difference of two shares in percentage points: +12.96."""
    return _("n/a") if one["value"] is None else _signed(one["value"])


@register.filter
def points_limits(one: Value) -> str:
    """+1.91 to +24.02."""
    return _limits(one, _signed)


@register.filter
def margin_points(margin: float) -> str:
    """A share in percentage points, without a sign."""
    return _decimals(100 * margin, 2)


@register.filter
def as_kappa(one: Value) -> str:
    """With three decimals, as in tables."""
    return _("n/a") if one["value"] is None else _decimals(one["value"], 3)


@register.filter
def kappa_limits(one: Value) -> str:
    return _limits(one, lambda value: _decimals(value, 3))


@register.filter
def in_cell(one: Value) -> str:
    """A kappa with two decimals, as in the cells of a heatmap; small cells leave out the zero behind a minus."""
    if one["value"] is None:
        return _("n/a")
    words = _decimals(one["value"], 2)
    if not words.startswith(f"{MINUS}0"):
        return words
    return format_html('{}<span class="zero">0</span>{}', MINUS, words.removeprefix(f"{MINUS}0"))


@register.filter
def as_p(one: Value) -> str:
    """Three decimals, or < 0.001."""
    return bare_p(one["value"])


@register.filter
def bare_p(p: float | None) -> str:
    if p is None:
        return _("n/a")
    return f"< {_decimals(0.001, 3)}" if p < 0.001 else _decimals(p, 3)


@register.filter
def as_seconds(one: Value) -> str:
    return _("n/a") if one["value"] is None else f"{_decimals(one['value'], 1)}\N{NO-BREAK SPACE}{_('s')}"


@register.filter
def seconds_limits(one: Value) -> str:
    return _limits(one, lambda value: _decimals(value, 1), f"\N{NO-BREAK SPACE}{_('s')}")


@register.filter
def as_change(one: Value) -> str:
    """A change that is in percent already: −0.92 %."""
    return _("n/a") if one["value"] is None else f"{_signed(one['value'] / 100)}\N{NO-BREAK SPACE}%"


@register.filter
def change_limits(one: Value) -> str:
    return _limits(one, lambda value: _signed(value / 100), "\N{NO-BREAK SPACE}%")


SHOWN: dict[Scale, tuple[Callable[[Value], str], Callable[[Value], str]]] = {
    Scale.SHARE: (as_percent, percent_limits),
    Scale.POINTS: (as_points, points_limits),
    Scale.COEFFICIENT: (as_kappa, kappa_limits),
    Scale.P: (as_p, kappa_limits),
    Scale.SECONDS: (as_seconds, seconds_limits),
    Scale.CHANGE: (as_change, change_limits),
    Scale.PLAIN: (as_kappa, kappa_limits),
    Scale.TEST: (as_kappa, kappa_limits),
}


@register.filter
def printed(one: Value) -> str:
    """A share with the decimals of print: 62.5% (11.0 to 100.0)."""
    return f"{printing.number(one, Scale.SHARE)}% {printing.limits(one, Scale.SHARE)}".strip()


@register.filter
def shown(one: Value, scale: Scale) -> str:
    """A value as its scale wants it."""
    return SHOWN[scale][0](one)


@register.filter
def limits(one: Value, scale: Scale) -> str:
    return SHOWN[scale][1](one)


@register.filter
def own_rule(planned: Iterable[Planned]) -> str:
    """How the intervals of each reader alone were made."""
    return wording.methods(one.by_reader[0]["method"] for one in planned)


@register.filter
def as_rows(table: Table) -> list[tuple[Name | None, list[tuple[Column, TableCell]]]]:
    """The rows of a table, each with its head and with the column of every other cell."""
    found = []
    for head, *cells in table.rows:
        found.append((head if isinstance(head, Name) else None, list(zip(table.columns[1:], cells, strict=True))))
    return found


@register.filter
def is_beside(column: Column, table: Table) -> bool:
    """Whether the intervals of this column stand in one of their own."""
    return column.kind == Kind.ESTIMATE and column.has_interval and not table.is_stacked


@register.filter
def task_name(panel: str) -> str:
    return _(ALL_TASKS) if panel == ALL_TASKS else _(task_label(panel))


def _limits(one: Value, text: Text, unit: str = "") -> str:
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


@register.filter
def hundredfold(share: float, form: str) -> str:
    """A share in percent or points, in a form of Python: ".3g"."""
    return f"{100 * share:{form}}"


@register.filter
def as_power(share: float) -> str:
    return "above 99 %" if share > 0.995 else f"{100 * share:.0f} %"


@register.filter
def no_stop(text: str | None) -> str:
    """A text of a person, to which the sentence adds its own full stop."""
    return (text or "").strip().rstrip(".")


@register.filter
def or_unknown(text: str) -> str:
    return no_stop(text) or "not known"


@register.filter
def listed(counts: Mapping[str, int]) -> str:
    """radiologist 3, resident 1."""
    return ", ".join(f"{word} {n}" for word, n in counts.items())


@register.filter
def middle(values: Sequence[int]) -> str:
    return f"median {median(values):g} (range {min(values)} to {max(values)}, n = {len(values)})"


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
