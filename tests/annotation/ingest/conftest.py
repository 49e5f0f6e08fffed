"""A home of its own for each test that stores images."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotation.ingest.exams import IngestResult, ingest_paths


@pytest.fixture
def home(settings: Settings, tmp_path: Path) -> Path:
    settings.MEDIA_ROOT, settings.TEMP_ROOT = tmp_path / "home" / "media", tmp_path / "home" / "tmp"
    settings.PSEUDONYM_KEY = "the key of the tests"
    return tmp_path / "home"


@pytest.fixture
def ingest(home: Path, noon: datetime, db: None) -> Callable[..., IngestResult]:
    """Take in paths, from the command line's point of view, without the search for text."""

    def take(*paths: Path, **options: Any) -> IngestResult:
        return ingest_paths(list(paths), **{"bank": None, "actor": None, "at": noon, **options})

    return take


def stored_files(home: Path) -> list[Path]:
    return [path for path in home.rglob("*") if path.is_file()]
