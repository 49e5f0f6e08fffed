"""Public boards of leaderboards: files of the folder ``boards`` of the home, given out before the program is asked.

No query, no session, no cookie; what is written anew shows at once. A folder whose name begins with a dot is in the
making, and not there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from wsgiref.headers import Headers

from whitenoise import WhiteNoise

from rexvqa_site.lanes import Application

PREFIX = "/board/"
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'"
HEADERS = {"Content-Security-Policy": POLICY, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"}
TYPES = {".cff": "text/yaml", ".md": "text/markdown", "sha256sums": "text/plain"}


class Boards(WhiteNoise):  # type: ignore[misc]
    """A WSGI application in front of another one."""

    def __init__(self, application: Application, root: Path) -> None:
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
        return super().find_file(url) if url.startswith(PREFIX) and "/." not in url else None


def _add_headers(headers: Headers, path: str, url: str) -> None:
    written = Path(path).stat()  # to the nanosecond: WhiteNoise counts seconds
    headers["ETag"] = f'"{written.st_mtime_ns:x}-{written.st_size:x}"'
    for name, value in HEADERS.items():
        headers[name] = value
