"""Pages as tests read them."""

from __future__ import annotations

import re
from typing import Protocol


class Page(Protocol):
    @property
    def content(self) -> bytes: ...


def markup(page: Page) -> str:
    """The HTML without the line breaks of its template: blanks are one blank, and none stands between two tags."""
    return re.sub(r"(?<=>) (?=<)| (?=>)", "", re.sub(r"[ \n]+", " ", page.content.decode()))
