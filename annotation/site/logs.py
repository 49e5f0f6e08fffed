"""Lines of the log, without the secrets in addresses and without tokens: whoever reads a log could use them.

Each tells of which request and of which job it is, in the web server and in the worker that runs a job of that request.
"""

from __future__ import annotations

import json
import logging
import re
from contextvars import ContextVar
from datetime import UTC, datetime

# Numbers and names of the program, by what they are: "request" and its "route", "job" and its "kind".
about: ContextVar[dict[str, str] | None] = ContextVar("about", default=None)

# How the addresses of one-time and shared links begin; a test holds them against the routes.
SECRET_ADDRESSES = (
    *("/invitation/", "/read/join/", "/shared/", "/password/new/", "/profile/email/"),
    "/login/provider/",  # its answer brings a code that is worth a log-in until it is used
)
_SECRET = re.compile(rf"({'|'.join(SECRET_ADDRESSES)})[^\s'\"<>]+")
_TOKEN = re.compile(r"(rexvqa_[0-9A-Za-z]{12})_[0-9A-Za-z]+")  # annotation.people.tokens; its visible name stays


def without_secrets(text: str) -> str:
    return _TOKEN.sub(r"\1_...", _SECRET.sub(r"\1...", text))


def request_id() -> str:
    """The number of the request that is being answered, or that the running job was asked for by; "" for none."""
    return (about.get() or {}).get("request", "")


class WithoutSecrets(logging.Formatter):
    """The whole line is looked through, its traceback too."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        told = "".join(f" [{name} {number}]" for name, number in (about.get() or {}).items())
        return super().formatMessage(record) + told

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))


class AsJson(logging.Formatter):
    """An object on each line, for programs that collect logs."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": at, "level": record.levelname, "logger": record.name, **(about.get() or {})}
        line["message"] = without_secrets(record.getMessage())
        if record.exc_info:
            line["traceback"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)
