"""Heads of tables that lead to the same table in another order."""

from __future__ import annotations

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.site.sorted_tables import LEAST_ROWS, Sorting

register = template.Library()


@register.simple_tag(takes_context=True)
def sort_head(context: Context, column: str, label: str, css: str = "") -> SafeString:
    """The head of a column; a link where the page has a ``sorting`` and its table more than 30 rows.

    The first page follows, and what else the address says stays.
    """
    sorting: Sorting | None = context.get("sorting")
    style = format_html(' class="{}"', css) if css else ""
    n_rows = context["n_rows"] if "n_rows" in context else context["page"].paginator.count if sorting else 0
    if sorting is None or n_rows <= LEAST_ROWS:
        return format_html('<th scope="col"{}>{}</th>', style, label)
    query = context["request"].GET.copy()
    for place in ("page", "after", "before"):
        query.pop(place, None)
    query["sort"] = sorting.next(column)
    aria = format_html(' aria-sort="{}"', sorting.aria(column)) if sorting.aria(column) else ""
    link = format_html('<a class="sort" href="?{}">{}</a>', query.urlencode(), label)
    return format_html('<th scope="col"{}{}>{}</th>', style, aria, link)
