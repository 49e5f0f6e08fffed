"""Sizes are written without a decimal of zero."""

from __future__ import annotations

import pytest

from annotation.templatetags.pages import file_size


@pytest.mark.parametrize(
    ("n_bytes", "said"),
    [
        (512 * 2**20, "512 MB"),
        (0, "0 bytes"),
        (1, "1 byte"),
        (1536, "1.5 KB"),
        (10 * 2**30, "10 GB"),
        (None, "0 bytes"),
    ],
)
def test_a_size_as_people_write_it(n_bytes: int | None, said: str) -> None:
    assert file_size(n_bytes).replace("\N{NO-BREAK SPACE}", " ") == said
