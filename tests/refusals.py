"""What a test expects an act to refuse: the exception of a room, with the word of the refusal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from annotation.refusals import Refused


@contextmanager
def refuses(room: type[Refused], code: str, *, match: str | None = None) -> Iterator[pytest.ExceptionInfo[Refused]]:
    """The block is refused with this word. Gives what pytest.raises gives, for the sentence and the facts."""
    with pytest.raises(room, match=match) as caught:
        yield caught
    assert caught.value.code == code
