"""Commands as tests run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def printed(command: str, *arguments: Any, **options: Any) -> str:
    """What it says."""
    out = StringIO()
    call_command(command, *map(str, arguments), stdout=out, **options)
    return out.getvalue()


@contextmanager
def ends_with_2(match: str | None = None) -> Iterator[pytest.ExceptionInfo[CommandError]]:
    """A command in the block is refused. Gives what pytest.raises gives, for the sentence."""
    with pytest.raises(CommandError, match=match) as caught:
        yield caught
    assert caught.value.returncode == 2
