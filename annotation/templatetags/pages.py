"""Small parts of pages: fragments that are rendered once, sizes of files, acts in words, heads of tables that sort.

The words of a fragment come from closed vocabularies, never from what a person wrote or a bank holds: what is kept is
shown to everybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from html import unescape
from typing import Any

from django import template
from django.conf import settings
from django.template import Context
from django.template.base import NodeList, Parser, Token
from django.template.defaultfilters import filesizeformat
from django.template.loader import get_template
from django.utils.html import format_html, json_script, strip_tags
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from annotation.case.kernels.keys import REVIEW_PARTS, STUDY_PARTS, Rules, key_of, listed, strokes
from annotation.models import AuditEvent
from annotation.site.sorted_tables import LEAST_ROWS, Sorting

register = template.Library()
MOST_KEPT = 2000
_ROUND = re.compile(r"(?<=\d)[.,]0(?=\D)")
ACTS = {
    "image.ingested": gettext_noop("came in"),
    "image.searched": gettext_noop("searched for text"),
    "image.quarantined": gettext_noop("put into quarantine"),
    "image.released": gettext_noop("released from quarantine"),
    "image.turned": gettext_noop("how it lies chosen"),
    "image.masked": gettext_noop("boxes blacked out"),
    "image.removed": gettext_noop("removed, its pixels deleted"),
    "image.view_corrected": gettext_noop("view corrected"),
    "image.credited": gettext_noop("attribution and licence changed"),
}
Word = str | bool | tuple[str, ...]
PARTS_OF_ROOM = {"review": REVIEW_PARTS, "study": STUDY_PARTS}
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


@register.simple_tag
def table_of_keys() -> SafeString:
    """What scripts read of the keys; on every page with images."""
    return json_script(strokes(), "keys")


@register.simple_tag
def key(act: str) -> SafeString:
    """The key of an act, beside its button."""
    return format_html("<kbd>{}</kbd>", key_of(act))


@register.inclusion_tag("case/_keys_dialog.html")
def keys_dialog(room: str, rules: Rules | None = None) -> dict[str, Any]:
    """The list of keys of a room; ``rules``: of its study."""
    return {"key_parts": listed(PARTS_OF_ROOM[room], rules)}


@register.filter
def file_size(n_bytes: int | None) -> str:
    """As Django writes it in the language of the page, without a decimal of zero."""
    return _ROUND.sub("", str(filesizeformat(n_bytes or 0)))


@register.filter
def act_word(event: AuditEvent) -> str:
    """What was done to an image; nobody searches one where the search is not installed."""
    if event.act == "image.searched" and event.facts.get("rule") == "none":
        return _("not searched for text: the search is not installed")
    return _(ACTS[event.act]) if event.act in ACTS else event.act


_HEADING = re.compile(r"<h2(?P<given>\s[^>]*)?>(?P<words>.*?)</h2>", re.DOTALL)
_GIVEN = re.compile(r'\b(id|data-short)="([^"]*)"')
LEAST_PARTS = 3


class _OnThisPage(template.Node):
    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: Context) -> str:
        parts: list[tuple[str, str]] = []

        def numbered(found: re.Match[str]) -> str:
            given = dict(_GIVEN.findall(found["given"] or ""))
            name = given.get("id", "" if found["given"] else f"on-page-{len(parts) + 1}")
            if name:
                parts.append((name, unescape(given.get("data-short") or strip_tags(found["words"]).strip())))
            return found[0] if found["given"] else f'<h2 id="{name}">{found["words"]}</h2>'

        body = self.nodelist.render(context)
        with_names = _HEADING.sub(numbered, body)
        if len(parts) < LEAST_PARTS:
            return body
        return get_template("annotation/_on_this_page.html").render({"parts": parts}) + with_names


@register.tag
def on_this_page(parser: Parser, token: Token) -> _OnThisPage:
    """Before what it holds: links to its headings (h2), where there are three or more. ``data-short`` has fewer words;
    a heading with attributes and no id is none of the parts.
    """
    nodelist = parser.parse(("endon_this_page",))
    parser.delete_first_token()
    return _OnThisPage(nodelist)


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
