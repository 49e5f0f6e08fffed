"""Lines of the log, without the secrets in addresses and without tokens: whoever reads a log could use them."""

from __future__ import annotations

import logging
import re

# How the addresses of one-time and shared links begin; a test holds them against the routes.
SECRET_ADDRESSES = (
    *("/invitation/", "/read/join/", "/shared/", "/password/new/", "/profile/email/"),
    "/login/provider/",  # its answer brings a code that is worth a log-in until it is used
)
_SECRET = re.compile(rf"({'|'.join(SECRET_ADDRESSES)})[^\s'\"<>]+")
_TOKEN = re.compile(r"(rexvqa_[0-9A-Za-z]{12})_[0-9A-Za-z]+")  # annotation.people.tokens; its visible name stays


def without_secrets(text: str) -> str:
    return _TOKEN.sub(r"\1_...", _SECRET.sub(r"\1...", text))


class WithoutSecrets(logging.Formatter):
    """The whole line is looked through, its traceback too."""

    def format(self, record: logging.LogRecord) -> str:
        return without_secrets(super().format(record))
