"""A backup: one tar file with a snapshot of the database, the media files, the keys and a manifest."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from django.conf import settings
from django.db import transaction

from annotation.audit.recording import record
from annotation.backup import database
from annotation.backup.database import BackupRefused, own_tables
from annotation.models import User

FORMAT = 1
KEYS = ("secret_key", "pseudonym_key", "DEMONSTRATION")
Report = Callable[[int, int], None]


def take_backup(target: Path, *, at: datetime, report: Report, actor: User | None = None) -> dict[str, Any]:
    """Write a backup to ``target`` while people work, and return its manifest.

    The database comes first, as of one moment; media files never change and are written before their rows, so
    every file that the snapshot names is there to be copied, but for one that a person removes meanwhile. The file
    appears under its name when it is whole. The audit log tells of it before the snapshot is taken, so that the backup
    holds that as well; ``actor`` None: the command line.
    Raises BackupRefused.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = target.with_name(target.name + ".part")
    try:
        with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT) as folder, draft.open("wb") as raw:
            draft.chmod(0o600)
            with transaction.atomic():
                record("backup.taken", actor=actor, at=at)
            snapshot = Path(folder) / database.FILE_NAMES[database.engine()]
            ledger = database.dump(snapshot, own_tables())
            manifest = _write(raw, snapshot, ledger, at=at, report=report)
            raw.flush()
            os.fsync(raw.fileno())
        draft.replace(target)
    except OSError as error:
        raise BackupRefused("no_room", f"the backup could not be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
    return manifest


def media_files() -> Iterator[Path]:
    """Every stored file, in order of name."""
    return (path for path in sorted(settings.MEDIA_ROOT.rglob("*")) if path.is_file())


def _add(archive: tarfile.TarFile, path: Path) -> int | None:
    """Bytes of a stored file; None for one that was removed while the backup was written, as people may ask."""
    try:
        with path.open("rb") as file:
            entry = archive.gettarinfo(
                arcname=f"media/{path.relative_to(settings.MEDIA_ROOT).as_posix()}", fileobj=file
            )
            archive.addfile(entry, file)
    except FileNotFoundError:
        return None
    return entry.size


def _write(raw: BinaryIO, snapshot: Path, ledger: database.Ledger, *, at: datetime, report: Report) -> dict[str, Any]:
    with tarfile.open(fileobj=raw, mode="w") as archive:
        archive.add(snapshot, arcname=snapshot.name)
        for key in KEYS:
            if (settings.HOME / key).exists():
                archive.add(settings.HOME / key, arcname=key)
        files = list(media_files())
        n_files, n_bytes = 0, 0
        for number, path in enumerate(files, start=1):
            if (size := _add(archive, path)) is not None:
                n_files, n_bytes = n_files + 1, n_bytes + size
            report(number, len(files))
        manifest = {
            "format": FORMAT,
            "taken_at": at.isoformat(),
            "database": database.engine(),
            "n_files": n_files,
            "n_bytes": n_bytes,
            **ledger,
        }
        body = json.dumps(manifest, indent=1).encode()
        entry = tarfile.TarInfo("manifest.json")
        entry.size, entry.mode = len(body), 0o600
        archive.addfile(entry, io.BytesIO(body))
    return manifest
