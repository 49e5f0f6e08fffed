"""A backup goes back into a home directory; what stood there is kept beside it until a person deletes it."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.backup import database
from annotation.backup.taking import FORMAT, KEYS, media_files

Report = Callable[[str], None]


class NotABackup(Exception):
    pass


class HomeNotEmpty(Exception):
    pass


class RestoreDiffers(Exception):
    """What was restored does not have the numbers of the manifest."""


def restore_backup(source: Path, *, replace: bool, at: datetime, report: Report) -> dict[str, Any]:
    """Put a backup back and compare the ledgers; returns the manifest.

    Raises NotABackup, HomeNotEmpty (without ``replace``), RestoreDiffers, DatabaseToolFailed. The caller holds the
    lock of the home directory, so that no server works in it.
    """
    with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT) as folder:
        unpacked = Path(folder)
        report("unpacking")
        manifest = _unpack(source, unpacked)
        if _has_content():
            if not replace:
                raise HomeNotEmpty(
                    f"{settings.HOME} holds a site already. Restore into an empty place (REXVQA_HOME=/new/folder), "
                    "or add --replace: what is there now is then kept in a folder beside it"
                )
            _set_aside(at)
        report("restoring the database")
        database.load(unpacked / database.FILE_NAMES[database.engine()])
        report("restoring the files")
        _move_media(unpacked / "media")
        for key in KEYS:
            if (unpacked / key).exists():
                shutil.move(unpacked / key, settings.HOME / key)
    _compare(manifest)
    return manifest


def _unpack(source: Path, folder: Path) -> dict[str, Any]:
    try:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    except (tarfile.TarError, OSError, ValueError) as error:
        raise NotABackup(f"{source} is not a whole backup of this program ({type(error).__name__})") from error
    if manifest.get("format") != FORMAT:
        raise NotABackup(f"{source} has the format {manifest.get('format')!r}; this program reads {FORMAT}")
    if manifest["database"] != database.engine():
        raise NotABackup(
            f"{source} is of a {manifest['database']} database and this site uses {database.engine()}; "
            "set DATABASE_URL to a database of the same kind"
        )
    return manifest


def _has_content() -> bool:
    if any(media_files()):
        return True
    try:
        return bool(database.current_ledger()["rows"]["annotation_user"])
    except database.NoTables:
        return False


def _set_aside(at: datetime) -> None:
    """Keep what is there now. A PostgreSQL database is dumped, since its tables are replaced in place."""
    aside = settings.HOME / f"replaced-{at:%Y%m%d-%H%M%S}"
    aside.mkdir(mode=0o700)
    database.dump(aside / database.FILE_NAMES[database.engine()])
    shutil.move(settings.MEDIA_ROOT, aside / "media")
    for key in KEYS:
        if (settings.HOME / key).exists():
            shutil.copy2(settings.HOME / key, aside / key)


def _move_media(unpacked: Path) -> None:
    if settings.MEDIA_ROOT.exists():
        shutil.rmtree(settings.MEDIA_ROOT)
    if unpacked.exists():
        shutil.move(unpacked, settings.MEDIA_ROOT)
    settings.MEDIA_ROOT.mkdir(exist_ok=True, mode=0o700)


def _compare(manifest: dict[str, Any]) -> None:
    restored = database.current_ledger()
    files = list(media_files())
    found = {**restored, "n_files": len(files), "n_bytes": sum(path.stat().st_size for path in files)}
    different = [name for name, value in found.items() if manifest[name] != value]
    if different:
        raise RestoreDiffers(f"restored, but {', '.join(different)} differ from the backup; do not use this copy")
