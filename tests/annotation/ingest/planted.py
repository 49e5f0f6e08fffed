"""The lists of the hostile files, and every way in which a planted identifier could stand in what is kept or served."""

from __future__ import annotations

import base64
import csv
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote


def rows_of(manifest: Path) -> list[dict[str, str]]:
    with manifest.open(newline="") as stream:
        return list(csv.DictReader(stream))


def forms_of(token: str) -> list[bytes]:
    """A token as it could stand in bytes: plain, UTF-16, base64 at each offset, percent-encoded; lower case."""
    plain = token.lower().encode()
    encoded = [base64.b64encode(bytes(shift) + token.encode())[4 if shift else 0 : -4] for shift in range(3)]
    return [
        plain,
        token.lower().encode("utf-16-le"),
        token.lower().encode("utf-16-be"),
        quote(token).lower().encode(),
        *(form.lower() for form in encoded if len(form) >= 8),
    ]


def planted_forms(hostile: Path) -> dict[bytes, str]:
    """The token of each form. Tokens that are pictures have none: the search for text is tested by itself."""
    tokens = [row["token"] for row in rows_of(hostile / "PHI_TOKENS.csv")]
    words = [token for token in dict.fromkeys(tokens) if not token.startswith(("PIXELS:", "BITMAP:"))]
    return {form: token for token in words for form in forms_of(token)}


def planted_in(places: Mapping[str, bytes], forms: Mapping[bytes, str]) -> list[tuple[str, str]]:
    """Place and token of each that is found."""
    return [(place, token) for place, data in places.items() for form, token in forms.items() if form in data.lower()]
