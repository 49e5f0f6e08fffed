"""Public boards of leaderboards: files of the folder ``boards`` of the home, given out before the program is asked.

No query, no session, no cookie; what is written anew shows at once, what another machine wrote after some seconds. A
folder whose name begins with a dot is in the making, and not there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any
from wsgiref.headers import Headers

from whitenoise import WhiteNoise

from rexvqa_site.lanes import Application

log = logging.getLogger(__name__)
PREFIX = "/board/"
SECONDS_BETWEEN_LOOKS = 5
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
TYPES = {".cff": "text/yaml", ".md": "text/markdown", "sha256sums": "text/plain"}


class Boards(WhiteNoise):  # type: ignore[misc]
    """A WSGI application in front of another one. ``bring``: what other machines have written comes into the folder."""

    def __init__(self, application: Application, root: Path, bring: Callable[[], object] = lambda: None) -> None:
        self._bring, self._looked = bring, -inf
        super().__init__(
            application,
            root=root,
            prefix=PREFIX,
            autorefresh=True,  # a folder is replaced while the site runs
            max_age=0,
            allow_all_origins=False,
            mimetypes=TYPES,
            index_file=True,
            add_headers_function=_add_headers,
        )

    def find_file(self, url: str) -> Any:
        """None for what is no file of a board: then the program answers."""
        if not url.startswith(PREFIX) or "/." in url:
            return None
        if monotonic() - self._looked > SECONDS_BETWEEN_LOOKS:
            self._looked = inf  # one looks, the others read what is here
            try:
                self._bring()
            except Exception:
                log.exception("boards of other machines did not come")
            self._looked = monotonic()
        return super().find_file(url)


def _add_headers(headers: Headers, path: str, url: str) -> None:
    written = Path(path).stat()  # to the nanosecond: WhiteNoise counts seconds
    headers["ETag"] = f'"{written.st_mtime_ns:x}-{written.st_size:x}"'
    for name, value in HEADERS.items():
        headers[name] = value
