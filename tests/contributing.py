"""What a test adds to what the apps contribute, or puts in its place."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from annotation import contributions
from annotation.contributions import Contributions, contributed


def contribute(monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    whole = contributed() + Contributions(**more)
    monkeypatch.setattr(contributions, "_contributed", lambda: whole)


def contribute_only(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    whole = replace(contributed(), **fields)
    monkeypatch.setattr(contributions, "_contributed", lambda: whole)
