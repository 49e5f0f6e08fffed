"""The key of a model endpoint: it never shows itself, and takes itself out of what others wrote. Pure."""

from __future__ import annotations

import base64
import re
from typing import NoReturn

REMOVED = "[key removed]"
NAMED_IN_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
FORM = re.compile(r"""[!#-&(-\[\]-~]{8,500}""")  # visible ASCII without quotes and backslash


class Key:
    """Neither ``repr`` nor ``str`` shows it, and it cannot be pickled: no job and no log gets it by mistake."""

    __slots__ = ("_in_bytes", "_in_text", "_secret")

    def __init__(self, secret: str) -> None:
        """Raises ValueError, with a sentence that does not hold the key."""
        if not FORM.fullmatch(secret):
            raise ValueError("a key has 8 to 500 visible characters, without spaces, quotes and backslashes")
        pattern = _pattern_of(secret)
        self._secret = secret
        self._in_text, self._in_bytes = re.compile(pattern), re.compile(pattern.encode())

    def __repr__(self) -> str:
        return "Key(hidden)"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not stored")

    def authorization(self) -> str:
        """The value of the header that shows the key to its own endpoint; for nothing else."""
        return f"Bearer {self._secret}"

    def taken_out(self, text: str) -> str:
        """The text with ``[key removed]`` wherever it holds the key, however it is escaped there."""
        return self._in_text.sub(REMOVED, text)

    def taken_out_of_bytes(self, content: bytes) -> bytes:
        """The same for bytes of UTF-8."""
        return self._in_bytes.sub(REMOVED.encode(), content)


def _pattern_of(secret: str) -> str:
    """Finds the key plain, escaped for JSON, HTML or a URL, also letter by letter, and inside base64."""
    return "|".join(["".join(map(_forms_of_character, secret)), *map(re.escape, _base64_forms(secret.encode()))])


def _forms_of_character(character: str) -> str:
    # Up to four backslashes: JSON within a string of JSON.
    # No form twice, and none of any length: what nearly is a key, many times over, would take minutes.
    code = f"{ord(character):02x}"
    named = f"{NAMED_IN_HTML[character]}|" if character in NAMED_IN_HTML else ""
    escapes = rf"(?i:u00{code}|x{code}|%(?:25)?{code}|&#0{{0,4}}{ord(character)};|&#x0{{0,4}}{code};)"
    return rf"\\{{0,4}}(?:{named}{re.escape(character)}|{escapes})"


def _base64_forms(secret: bytes) -> set[str]:
    """What stays of the key in base64, both alphabets, behind a prefix of any length: without shared characters."""
    found = set()
    for n_before in range(3):
        n_shared_first = (0, 2, 3)[n_before]
        n_shared_last = (0, 3, 2)[(n_before + len(secret)) % 3]
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            text = encode(b"\0" * n_before + secret).decode()
            found.add(text[n_shared_first : len(text) - n_shared_last])
    return found
