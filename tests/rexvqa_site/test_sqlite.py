"""A writer that waits for SQLite's one place looks for it in short steps, and only for that."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from django.db.backends.sqlite3 import base as plain
from django.db.utils import OperationalError

from rexvqa_site.settings import database_from
from rexvqa_site.sqlite3 import base
from rexvqa_site.sqlite3.base import DatabaseWrapper


@pytest.fixture
def waiting(db: None, tmp_path: Path) -> Any:
    """A connection made from our settings, and another one that holds the place of the writer."""
    options = {**database_from(f"sqlite:///{tmp_path / 'one.sqlite3'}"), "TIME_ZONE": None, "AUTOCOMMIT": True}
    wrapper = DatabaseWrapper(options)
    wrapper.ensure_connection()
    holder = sqlite3.connect(tmp_path / "one.sqlite3", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    yield wrapper, holder
    wrapper.close()
    holder.close()


def busy_timeout(wrapper: DatabaseWrapper) -> int:
    return int(wrapper.connection.execute("PRAGMA busy_timeout").fetchone()[0])


def test_it_looks_again_until_the_place_is_free(waiting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper, holder = waiting
    timeouts = []
    usual = plain.DatabaseWrapper._start_transaction_under_autocommit  # type: ignore[attr-defined]

    def look(self: DatabaseWrapper) -> None:
        timeouts.append(busy_timeout(self))
        if len(timeouts) == 3:
            holder.execute("COMMIT")
        usual(self)

    monkeypatch.setattr(plain.DatabaseWrapper, "_start_transaction_under_autocommit", look)
    wrapper._start_transaction_under_autocommit()
    assert timeouts == [base.LOOKS_MS] * 3
    assert wrapper.connection.in_transaction
    assert not wrapper.errors_occurred
    assert busy_timeout(wrapper) == 20_000


def test_it_gives_up_when_its_patience_ends(waiting: Any) -> None:
    wrapper, _holder = waiting
    wrapper.settings_dict["OPTIONS"]["timeout"] = 0
    with pytest.raises(OperationalError, match="locked"):
        wrapper._start_transaction_under_autocommit()
    assert not wrapper.connection.in_transaction


def test_another_error_is_told_at_once(waiting: Any) -> None:
    wrapper, holder = waiting
    holder.execute("COMMIT")
    wrapper._start_transaction_under_autocommit()
    with pytest.raises(OperationalError, match="within a transaction"):
        wrapper._start_transaction_under_autocommit()
