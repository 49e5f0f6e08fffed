"""Pages as tests read them."""

from __future__ import annotations

import re
from html import unescape
from typing import Protocol


class Page(Protocol):
    @property
    def content(self) -> bytes: ...


def markup(page: Page) -> str:
    """The HTML without the line breaks of its template: blanks are one blank, and none stands between two tags."""
    return re.sub(r"(?<=>) (?=<)| (?=>)", "", re.sub(r"[ \n]+", " ", page.content.decode()))


def faults_of(page: Page) -> list[tuple[str, str, str]]:
    """Row, column and sentence of each fault of a file of people."""
    found = r'<tr><td class="number">(\d+)</td><td class="mono nowrap">(\w+)</td><td><bdi>([^<]*)</bdi></td></tr>'
    return [(row, column, unescape(words)) for row, column, words in re.findall(found, markup(page))]
