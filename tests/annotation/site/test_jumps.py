"""Links to the parts of a long page, by its headings."""

from __future__ import annotations

import re

from django.template import engines


def rendered(body: str, **context: object) -> str:
    template = engines["django"].from_string("{% on_this_page %}" + body + "{% endon_this_page %}")
    return str(template.render(context))


def test_a_page_of_three_parts_begins_with_links_to_them() -> None:
    page = rendered(
        '<h2 id="first-title">Left &amp; right</h2><h3>No part</h3><h2>{{ name }}</h2>'
        '<div class="head"><h2 class="wide" id="last" data-short="End">The <bdi>long</bdi> end</h2></div>',
        name="<b>Hostile</b>",
    )
    nav, rest = page.split("</nav>")
    assert re.findall(r'<a href="#([^"]+)">([^<]*)</a>', nav) == [
        ("first-title", "Left &amp; right"),
        ("on-page-2", "&lt;b&gt;Hostile&lt;/b&gt;"),
        ("last", "End"),
    ]
    assert all(f'id="{name}"' in rest for name in ("first-title", "on-page-2", "last"))


def test_a_short_page_has_none() -> None:
    body = '<h2 id="one">One</h2><h2 class="print-only">Bank</h2><h2>Two</h2>'
    assert rendered(body) == body
