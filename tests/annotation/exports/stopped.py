"""A worker that is stopped while it writes a report, and what was made how often before and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from annotation.exports.report_files import LONG_WORK, Content, write_contents


class Stopped(BaseException):
    """As the end of a process: nothing that handles errors sees it."""


def stopped_before(name: str) -> Callable[[int, int, str], None]:
    """What is told of progress; the worker ends as it comes to this file."""

    def tell(_done: int, _total: int, file: str) -> None:
        if file == name:
            raise Stopped

    return tell


def counted(monkeypatch: pytest.MonkeyPatch, writing: object) -> Counter[str]:
    """How often the module made each figure and table."""
    made: Counter[str] = Counter()

    def counting(one: Content) -> Content:
        def make() -> bytes:
            made[one.name] += 1
            return one.make()

        return Content(one.name, one.about, make, one.listed) if one.name.startswith(LONG_WORK) else one

    def write(folder: Path, contents: Sequence[Content], *more: Any, **named: Any) -> object:
        return write_contents(folder, [counting(one) for one in contents], *more, **named)

    monkeypatch.setattr(writing, "write_contents", write)
    return made
