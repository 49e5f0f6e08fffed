"""SQLite as Django has it, but a writer that waits for its turn looks for it every few milliseconds.

SQLite itself sleeps up to 100 ms between two looks, so that a writer can miss one gap after the other while an import
writes chunk after chunk. One that looks at most 5 ms apart finds the first gap.
"""

from __future__ import annotations

import sqlite3
import time

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

LOOKS_MS = 8  # SQLite then looks again after 1, 2 and 5 ms, and gives up
DEFAULT_PATIENCE = 5.0  # seconds, as in the sqlite3 module


class DatabaseWrapper(base.DatabaseWrapper):
    def _start_transaction_under_autocommit(self) -> None:
        patience = float(self.settings_dict["OPTIONS"].get("timeout", DEFAULT_PATIENCE))
        ends_at = time.monotonic() + patience
        failed_before = self.errors_occurred
        self._set_busy_timeout(LOOKS_MS)
        try:
            while True:
                try:
                    super()._start_transaction_under_autocommit()  # type: ignore[misc]  # not in the type stubs
                    return
                except OperationalError as error:
                    if not _is_busy(error) or time.monotonic() >= ends_at:
                        raise
                    self.errors_occurred = failed_before  # a look is no error of the connection
        finally:
            self._set_busy_timeout(round(patience * 1000))

    def _set_busy_timeout(self, milliseconds: int) -> None:
        self.connection.execute(f"PRAGMA busy_timeout = {milliseconds}")


def _is_busy(error: OperationalError) -> bool:
    cause = error.__cause__
    return isinstance(cause, sqlite3.OperationalError) and cause.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
