"""A backup goes back into a home directory; what stood there is kept beside it until a person deletes it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings

from annotation.backup import database
from annotation.backup.taking import KEYS, media_files
from annotation.backup.unpacking import unpack_checked
from annotation.models import User

Report = Callable[[str], None]
PEOPLE = User._meta.db_table


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
        manifest = unpack_checked(source, unpacked)
        has_content = _has_content()
        if has_content and not replace:
            raise HomeNotEmpty(
                f"{settings.HOME} holds a site already. Restore into an empty place (REXVQA_HOME=/new/folder), "
                "or add --replace: what is there now is then kept in a folder beside it"
            )
        aside = _set_database_aside(at) if has_content else None
        report("restoring the database")
        database.load(unpacked / database.FILE_NAMES[database.engine()])
        report("restoring the files")
        if aside:
            _set_files_aside(aside)
        _move_media(unpacked / "media")
        for key in KEYS:
            if (unpacked / key).exists():
                shutil.move(unpacked / key, settings.HOME / key)
    _compare(manifest)
    return manifest


def _has_content() -> bool:
    if any(media_files()):
        return True
    try:
        return bool(database.current_ledger([PEOPLE])["rows"][PEOPLE])
    except database.NoTables:
        return False


def _set_database_aside(at: datetime) -> Path:
    """Keep a copy of the database in a new folder; files follow when the other one is in its place."""
    aside = settings.HOME / f"replaced-{at:%Y%m%d-%H%M%S}"
    aside.mkdir(mode=0o700)
    with suppress(database.NoTables):  # only files are there
        database.current_ledger([])
        database.dump(aside / database.FILE_NAMES[database.engine()], [])
    return aside


def _set_files_aside(aside: Path) -> None:
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
    restored = database.current_ledger(manifest["rows"])
    files = list(media_files())
    found = {**restored, "n_files": len(files), "n_bytes": sum(path.stat().st_size for path in files)}
    different = [name for name, value in found.items() if manifest[name] != value]
    if different:
        raise RestoreDiffers(f"restored, but {', '.join(different)} differ from the backup; do not use this copy")
