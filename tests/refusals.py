"""What a test expects an act to refuse: the exception of a room, with the word of the refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from annotation.refusals import Refused


@contextmanager
def refuses(
    room: type[Refused], code: str, *, match: str | None = None, field: str | None = None, status: int | None = None
) -> Iterator[pytest.ExceptionInfo[Refused]]:
    """The block is refused with this word. Gives what pytest.raises gives, for the sentence and the facts."""
    with pytest.raises(room, match=match) as caught:
        yield caught
    told = caught.value
    assert told.code == code
    assert field in (None, told.field)
    assert status in (None, told.status)
