"""A consistent copy of the database while people work, and its way back."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.utils import CursorWrapper

from annotation.backup.ledger import Scalar, ledger

ENGINES = {"django.db.backends.sqlite3": "sqlite", "django.db.backends.postgresql": "postgresql"}
Ledger = dict[str, Any]
FILE_NAMES = {"sqlite": "db.sqlite3", "postgresql": "database.pgdump"}


class DatabaseToolFailed(Exception):
    """pg_dump or pg_restore is not there, or said no."""


class NoTables(Exception):
    pass


def engine() -> str:
    return ENGINES[settings.DATABASES["default"]["ENGINE"]]


def dump(target: Path) -> Ledger:
    """Write a snapshot of one moment to ``target`` and return its ledger. Raises DatabaseToolFailed."""
    return _dump_sqlite(target) if engine() == "sqlite" else _dump_postgres(target)


def _dump_sqlite(target: Path) -> Ledger:
    _copy_sqlite(Path(_settings()["NAME"]), target)
    with contextlib.closing(sqlite3.connect(target)) as copy:
        return ledger(lambda sql: next(iter(copy.execute(sql)), (None,))[0])


def _dump_postgres(target: Path) -> Ledger:
    """pg_dump sees exactly the transaction in which the rows are counted."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        scalar = _scalar(cursor)
        snapshot = scalar("SELECT pg_export_snapshot()")
        _run_postgres("pg_dump", "--format=custom", "--no-owner", f"--snapshot={snapshot}", f"--file={target}")
        return ledger(scalar)


def current_ledger() -> Ledger:
    """Raises NoTables where the database is still empty."""
    if not connection.introspection.table_names():
        raise NoTables("the database has no tables yet")
    with connection.cursor() as cursor:
        return ledger(_scalar(cursor))


def _scalar(cursor: CursorWrapper) -> Scalar:
    def scalar(sql: str) -> Any:
        cursor.execute(sql)
        row = cursor.fetchone()
        return row[0] if row else None

    return scalar


def load(source: Path) -> None:
    """Replace the content of the database by the snapshot in ``source``. Raises DatabaseToolFailed."""
    connections.close_all()
    if engine() == "sqlite":
        place = Path(_settings()["NAME"])
        for leftover in (place, place.with_name(place.name + "-wal"), place.with_name(place.name + "-shm")):
            leftover.unlink(missing_ok=True)
        _copy_sqlite(source, place)
    else:
        _run_postgres("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", str(source))


def _settings() -> dict[str, Any]:
    return dict(connections["default"].settings_dict)


def _copy_sqlite(source: Path, target: Path) -> None:
    """The online backup of SQLite: readers and writers go on, the copy is of one moment."""
    reader, writer = sqlite3.connect(source, timeout=60), sqlite3.connect(target)
    try:
        reader.backup(writer)
    finally:
        reader.close()
        writer.close()


def _run_postgres(tool: str, *arguments: str) -> None:
    config = _settings()
    environment = {**os.environ, "PGPASSWORD": str(config.get("PASSWORD") or "")}
    place = ["--dbname", str(config["NAME"])]
    for option, value in (("--host", config["HOST"]), ("--port", config["PORT"]), ("--username", config["USER"])):
        if value:
            place += [option, str(value)]
    try:
        done = subprocess.run([tool, *place, *arguments], env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        message = f"{tool} is not installed here; it comes with the PostgreSQL client of your system"
        raise DatabaseToolFailed(message) from None
    if done.returncode:
        raise DatabaseToolFailed(f"{tool}: {done.stderr.strip()[-500:]}")
