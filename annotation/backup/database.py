"""A consistent copy of the database while people work, its restoring, and the numbers that two copies must share."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.utils import CursorWrapper

from annotation.models import AuditEvent, WorkerBeat
from annotation.refusals import Refused

ENGINES = {"django.db.backends.sqlite3": "sqlite", "django.db.backends.postgresql": "postgresql"}
Ledger = dict[str, Any]
Scalar = Callable[[str], Any]  # runs one SELECT and returns its first value, or None
TABLE_NAME = re.compile(r"[a-z][a-z0-9_]*")
FILE_NAMES = {"sqlite": "db.sqlite3", "postgresql": "database.pgdump"}


class BackupRefused(Refused):
    """A backup cannot be written or put back; the sentence says why."""


def own_tables() -> list[str]:
    """Those of the project's own apps, in this version of it."""
    own = [app for app in apps.get_app_configs() if Path(app.path).parent == settings.BASE_DIR]
    return sorted(model._meta.db_table for app in own for model in app.get_models() if model is not WorkerBeat)


def ledger(scalar: Scalar, tables: Iterable[str]) -> Ledger:
    """Rows of each table, and the last link of the audit chain. The names match TABLE_NAME."""
    audit = AuditEvent._meta.db_table
    return {
        "rows": {table: scalar(f'SELECT COUNT(*) FROM "{table}"') for table in tables},  # noqa: S608
        "audit_sha256": scalar(f'SELECT sha256 FROM "{audit}" ORDER BY id DESC LIMIT 1') or "",  # noqa: S608
    }


def engine() -> str:
    return ENGINES[settings.DATABASES["default"]["ENGINE"]]


def dump(target: Path, tables: Iterable[str]) -> Ledger:
    """Write a snapshot of one moment to ``target`` and return its ledger of these tables. Raises BackupRefused."""
    return _dump_sqlite(target, tables) if engine() == "sqlite" else _dump_postgres(target, tables)


def _dump_sqlite(target: Path, tables: Iterable[str]) -> Ledger:
    _copy_sqlite(Path(_settings()["NAME"]), target)
    with contextlib.closing(sqlite3.connect(target)) as copy:
        return ledger(lambda sql: next(iter(copy.execute(sql)), (None,))[0], tables)


def _dump_postgres(target: Path, tables: Iterable[str]) -> Ledger:
    """pg_dump sees exactly the transaction in which the rows are counted."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        scalar = _scalar(cursor)
        snapshot = scalar("SELECT pg_export_snapshot()")
        _run_postgres("pg_dump", "--format=custom", "--no-owner", f"--snapshot={snapshot}", f"--file={target}")
        return ledger(scalar, tables)


def has_tables() -> bool:
    return bool(connection.introspection.table_names())


def current_ledger(tables: Iterable[str]) -> Ledger:
    """Of these tables, where the database has any."""
    with connection.cursor() as cursor:
        return ledger(_scalar(cursor), tables)


def _scalar(cursor: CursorWrapper) -> Scalar:
    def scalar(sql: str) -> Any:
        cursor.execute(sql)
        row = cursor.fetchone()
        return row[0] if row else None

    return scalar


def load(source: Path) -> None:
    """Replace the content of the database by the snapshot in ``source``. Raises BackupRefused."""
    connections.close_all()
    if engine() == "sqlite":
        place = Path(_settings()["NAME"])
        for leftover in (place, place.with_name(place.name + "-wal"), place.with_name(place.name + "-shm")):
            leftover.unlink(missing_ok=True)
        _copy_sqlite(source, place)
    else:
        _run_postgres("pg_restore", "--clean", "--if-exists", "--no-owner", "--single-transaction", str(source))


def check_dump(source: Path) -> None:
    """Read the list of what a dump of PostgreSQL holds. Raises BackupRefused."""
    _run("pg_restore", "--list", str(source), environment=dict(os.environ))


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
    _run(tool, *place, *arguments, environment=environment)


def _run(tool: str, *arguments: str, environment: dict[str, str]) -> None:
    try:
        done = subprocess.run([tool, *arguments], env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError:
        message = f"{tool} is not installed here; it comes with the PostgreSQL client of your system"
        raise BackupRefused("tool_missing", message) from None
    if done.returncode:
        raise BackupRefused("tool_failed", f"{tool}: {done.stderr.strip()[-500:]}")
