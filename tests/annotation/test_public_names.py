"""The random names of rows, which stand in addresses and in commands."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from annotation.models.fields import public_id


def test_a_name_is_no_option_of_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Iterator[str] = iter(["-bcdefghijklmnop", "_bcdefghijklmnop", "abcdefghijklmno-"])
    monkeypatch.setattr("secrets.token_urlsafe", lambda _n: next(drawn))
    assert public_id() == "abcdefghijklmno-"
