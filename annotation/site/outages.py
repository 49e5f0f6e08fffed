"""When the site cannot store for a while: the disk is full, or the database is away. What says so, and which it is."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from enum import StrEnum

from django.db import InterfaceError, OperationalError

# SQLite meets a full disk as FULL, or as an error of the write-ahead log and its shared memory.
_FULL_SQLITE = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE})
_FULL_POSTGRES = "53100"  # disk_full
_FULL_SYSTEM = frozenset({errno.ENOSPC, errno.EDQUOT})
_LOCKED_SQLITE = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})  # for longer than a writer waits
_AWAY_POSTGRES = ("08", "57P", "53300")  # connection exceptions, shutting down and starting up, too many connections


class Outage(StrEnum):
    """Each word is the reason that scripts of pages read."""

    STORAGE_FULL = "storage_full"
    DATABASE_AWAY = "database_away"


def outage_of(error: BaseException | None) -> Outage | None:
    """What this error, or one that it came from, says of the site; None for every other fault."""
    chain = list(_chain(error))
    if any(_says_full(one) for one in chain):
        return Outage.STORAGE_FULL
    return Outage.DATABASE_AWAY if any(_says_away(one) for one in chain) else None


def is_locked(error: BaseException | None) -> bool:
    """Whether another program keeps SQLite from writing."""
    codes = (getattr(one, "sqlite_errorcode", None) for one in _chain(error))
    return any(code is not None and code & 0xFF in _LOCKED_SQLITE for code in codes)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _says_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in _FULL_SYSTEM:
        return True
    return getattr(error, "sqlite_errorcode", None) in _FULL_SQLITE or getattr(error, "pgcode", "") == _FULL_POSTGRES


def _says_away(error: BaseException) -> bool:
    """PostgreSQL gives no code where it gave no answer."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = getattr(error.__cause__, "pgcode", "")
    return code is None or (bool(code) and code.startswith(_AWAY_POSTGRES)) or is_locked(error)
