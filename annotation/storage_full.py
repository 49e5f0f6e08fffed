"""When a disk is full: what says so, whichever part of the program meets it first."""

from __future__ import annotations

import errno
import sqlite3

# SQLite meets it as FULL, or as an error of the write-ahead log and its shared memory.
_SQLITE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_POSTGRES = frozenset({"53100"})  # disk_full
_SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT})


def is_storage_full(error: BaseException | None) -> bool:
    """Whether this error, or one that it came from, says that nothing more can be written."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _SYSTEM:
            return True
        if getattr(error, "sqlite_errorcode", None) in _SQLITE or getattr(error, "pgcode", None) in _POSTGRES:
            return True
        error = error.__cause__ or error.__context__
    return False
