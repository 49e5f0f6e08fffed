"""A backup: one tar file with a consistent copy of the database, the media files, keys and a manifest; those kept.

The media files of large sites stand beside it: ``apart``.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import sqlite3
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from django.apps import apps
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext as _

from annotation.audit.recording import record
from annotation.backup.apart import NAMES, BackupRefused, Encryption, KeptImage, copy_new, lines_of, list_of
from annotation.jobs.queueing import JobKind, Progress, Result, enqueue, job_under_way
from annotation.models import AuditEvent, Job, User, WorkerBeat
from annotation.site import media

ENGINES = {"django.db.backends.sqlite3": "sqlite", "django.db.backends.postgresql": "postgresql"}
Ledger = dict[str, Any]
Scalar = Callable[[str], Any]  # runs one SELECT and returns its first value, or None
TABLE_NAME = re.compile(r"[a-z][a-z0-9_]*")
FILE_NAMES = {"sqlite": "db.sqlite3", "postgresql": "database.pgdump"}


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


# Also tables and functions that a newer release has added: the next upgrade makes them again.
EMPTY = """
DO $$
DECLARE one record;
BEGIN
    FOR one IN
        SELECT 'TABLE' AS kind, c.oid, c.oid::regclass::text AS name
        FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
        UNION ALL
        SELECT 'ROUTINE', p.oid, p.oid::regprocedure::text
        FROM pg_proc p WHERE p.pronamespace = current_schema()::regnamespace
        ORDER BY kind DESC
    LOOP
        IF NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = one.oid AND d.deptype = 'e') THEN
            EXECUTE format('DROP %s IF EXISTS %s CASCADE', one.kind, one.name);
        END IF;
    END LOOP;
END $$
"""


def load(source: Path) -> None:
    """Replace the content of the database by the snapshot in ``source``. Raises BackupRefused."""
    connections.close_all()
    if engine() == "sqlite":
        place = Path(_settings()["NAME"])
        for leftover in (place, place.with_name(place.name + "-wal"), place.with_name(place.name + "-shm")):
            leftover.unlink(missing_ok=True)
        _copy_sqlite(source, place)
    else:
        script = source.with_suffix(".sql")
        _run("pg_restore", "--no-owner", f"--file={script}", str(source), environment=dict(os.environ))
        words = ("--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--single-transaction")
        _run_postgres("psql", *words, f"--command={EMPTY}", f"--file={script}")


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


FORMAT = 1
KEYS = ("secret_key", "pseudonym_key", "DEMONSTRATION")
Report = Callable[[int, int], None]


def take_backup(
    target: Path, *, at: datetime, report: Report, actor: User | None = None, apart: bool = False
) -> dict[str, Any]:
    """Write a backup to ``target`` while people work, and return its manifest; ``apart``: its images beside it.

    The database comes first, as of one moment; media files never change and are written before their rows, so
    every file that the snapshot names is there to be copied, but for one that a person removes meanwhile. The files of
    a bucket are copied into it as well. The backup appears under its name when it is whole. The audit log tells of it
    before the snapshot is taken, so that the backup holds that, too; ``actor`` None: the command line.
    Raises BackupRefused.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft, encryption = target.with_name(target.name + ".part"), Encryption(settings.BACKUP_KEY)
    is_plain = not encryption.recipients
    try:
        with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT) as folder:
            plain = draft if is_plain else Path(folder) / "backup.tar"
            with transaction.atomic():
                record("backup.taken", actor=actor, at=at)
            snapshot = Path(folder) / FILE_NAMES[engine()]
            found: dict[str, Any] = {"taken_at": at.isoformat(), "database": engine(), "media": settings.MEDIA}
            found |= dump(snapshot, own_tables())
            if apart:
                names, found["n_files"], found["n_bytes"] = copy_new(target, encryption, report)
                found["files_sha256"] = hashlib.sha256(names).hexdigest()
            manifest = _write(plain, snapshot, found, report=report)
            if not is_plain:
                encryption.seal(plain, draft)
            _make_durable(draft)
        if apart:
            list_of(target).write_bytes(names)
        draft.replace(target)
    except OSError as error:
        raise BackupRefused("no_room", f"the backup could not be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def _make_durable(path: Path) -> None:
    with path.open("rb") as file:
        path.chmod(0o600)
        os.fsync(file.fileno())


def _add(archive: tarfile.TarFile, name: str, data: bytes, *, at: float = 0) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = len(data), int(at), 0o600
    archive.addfile(member, io.BytesIO(data))


def _add_images(archive: tarfile.TarFile, report: Report) -> dict[str, Any]:
    """Without one that was removed while the backup was written, as people may ask."""
    files, listed = list(media.entries()), list[KeptImage]()
    for number, one in enumerate(files, start=1):
        with contextlib.suppress(FileNotFoundError):
            data = media.read(one.key)
            _add(archive, f"media/{one.key}", data, at=one.changed_at)
            listed.append(KeptImage(one.key, len(data), hashlib.sha256(data).hexdigest()))
        report(number, len(files))
    names = lines_of(listed)
    _add(archive, NAMES, names)
    counts = {"n_files": len(listed), "n_bytes": sum(one.n_bytes for one in listed)}
    return {**counts, "files_sha256": hashlib.sha256(names).hexdigest()}


def _write(target: Path, snapshot: Path, found: dict[str, Any], *, report: Report) -> dict[str, Any]:
    with target.open("wb") as raw, tarfile.open(fileobj=raw, mode="w") as archive:
        target.chmod(0o600)
        archive.add(snapshot, arcname=snapshot.name)
        for key in KEYS:
            if (settings.HOME / key).exists():
                archive.add(settings.HOME / key, arcname=key)
        if "n_files" not in found:
            found |= _add_images(archive, report)
        manifest = {"format": FORMAT, **found}
        _add(archive, "manifest.json", json.dumps(manifest, indent=1).encode())
    return manifest


class BackupParams(TypedDict):
    name: str
    at: str
    person: int


JOB_KIND: JobKind[BackupParams] = JobKind("take_backup")
PATTERNS = ("reading-room-*.tar", "reading-room-*.tar.age")


class KeptBackup(NamedTuple):
    name: str
    taken_at: datetime
    n_bytes: int


def backup_name(at: datetime) -> str:
    return f"reading-room-{at:%Y%m%d-%H%M%S}.tar" + (".age" if settings.BACKUP_KEY else "")


def kept_backups() -> list[KeptBackup]:
    """The newest first. A backup that is kept elsewhere, as it should be, is not known here."""
    found = []
    for path in chain.from_iterable(map(settings.BACKUP_ROOT.glob, PATTERNS)):
        stat = path.stat()
        found.append(KeptBackup(path.name, datetime.fromtimestamp(stat.st_mtime, tz=UTC), stat.st_size))
    return sorted(found, key=lambda one: one.taken_at, reverse=True)


def is_backup_due(backups: list[KeptBackup], *, at: datetime) -> bool:
    """Whether the newest one is older than REXVQA_BACKUP_DAYS; never for 0 days, and in a demonstration."""
    days = settings.BACKUP_DAYS
    if settings.DEMO or not days:
        return False
    return not backups or at - backups[0].taken_at > timedelta(days=days)


def ask_for_backup(*, actor: User, at: datetime) -> Job:
    """A job that writes a backup into the folder; the one under way, where there is one."""
    under_way = job_under_way(JOB_KIND)
    if under_way is not None:
        return under_way
    params = BackupParams(name=backup_name(at), at=at.isoformat(), person=actor.pk)
    return enqueue(JOB_KIND, _("Backup"), params, actor=actor, at=at)


def run_backup(progress: Progress, params: BackupParams) -> Result:
    """The job. Raises BackupRefused; a run that was stopped in the middle leaves no file and is done anew."""
    target = settings.BACKUP_ROOT / params["name"]
    if not target.exists():
        at = datetime.fromisoformat(params["at"])
        actor = User.objects.get(pk=params["person"])
        take_backup(
            target, at=at, actor=actor, report=lambda done, total: progress.report(done, total, _("copying files"))
        )
    return {"file": target.name, "bytes": target.stat().st_size}
