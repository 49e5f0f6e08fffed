from __future__ import annotations

import pytest

from readerstudy.exports import report_writing


@pytest.fixture
def few_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the flow diagram: figures have their own tests, and drawing all of them takes seconds."""
    monkeypatch.setattr(report_writing, "figures_of", lambda _result: [])
