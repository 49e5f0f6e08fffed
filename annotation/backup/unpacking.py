"""What is wrong with a backup, found before anything is changed by it."""

from __future__ import annotations

import contextlib
import json
import lzma
import sqlite3
import tarfile
import zlib
from pathlib import Path
from typing import Any

from annotation.backup import database
from annotation.backup.ledger import TABLE_NAME, ledger
from annotation.backup.taking import FORMAT
from annotation.site.privacy import SHORTEST_SECRET

Manifest = dict[str, Any]
FIELDS: dict[str, type] = {"taken_at": str, "rows": dict, "audit_sha256": str, "n_files": int, "n_bytes": int}


class NotABackup(Exception):
    """The sentence says what is wrong with the file."""


def unpack_checked(source: Path, folder: Path) -> Manifest:
    """Unpack a backup into an empty folder and hold it against its manifest. Raises NotABackup."""
    try:
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter=_private_member)  # noqa: S202 - stricter than the filter of Python
    except tarfile.FilterError as error:
        raise NotABackup(f"{source} holds a file that would be written elsewhere: {error}") from error
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise NotABackup(f"{source} is no tar file, or its end is missing: {error}") from error
    except OSError as error:
        raise NotABackup(f"{source} cannot be unpacked: {error.strerror or error}") from error
    try:
        manifest = _manifest(folder)
        _check_database(manifest, folder)
        _check_files(manifest, folder)
    except NotABackup as error:
        raise NotABackup(f"{source} {error}") from error
    return manifest


def _private_member(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """As the data filter of Python wants it, and readable by its owner alone, whatever the backup says."""
    kept = tarfile.data_filter(member, folder)
    return kept.replace(mode=0o700 if kept.isdir() else 0o600, deep=False)


def _manifest(folder: Path) -> Manifest:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotABackup("has no manifest.json: it is no backup of this program, or its end is missing") from None
    except (OSError, ValueError, RecursionError):
        raise NotABackup("has a manifest.json that cannot be read") from None
    if not isinstance(manifest, dict):
        raise NotABackup("has a manifest.json that is no object")
    if manifest.get("format") != FORMAT:
        raise NotABackup(f"has the format {manifest.get('format')!r}; this program reads {FORMAT}")
    if wrong := [name for name, kind in FIELDS.items() if not isinstance(manifest.get(name), kind)]:
        raise NotABackup(f"has a manifest.json without {', '.join(wrong)}")
    if not all(TABLE_NAME.fullmatch(table) for table in manifest["rows"]):
        raise NotABackup("has a manifest.json with the name of a table that cannot be one")
    return manifest


def _check_database(manifest: Manifest, folder: Path) -> None:
    kind = manifest.get("database")
    if kind != database.engine():
        raise NotABackup(
            f"is of a {kind} database and this site uses {database.engine()}; "
            "set DATABASE_URL to a database of the same kind"
        )
    copy = folder / database.FILE_NAMES[database.engine()]
    if not copy.is_file():
        raise NotABackup(f"holds no database: {copy.name} is missing")
    if kind == "postgresql":
        try:
            database.check_dump(copy)
        except database.DatabaseToolFailed as error:
            raise NotABackup(f"holds a damaged database: {error}") from error
    else:
        _check_sqlite(manifest, copy)


def _check_sqlite(manifest: Manifest, copy: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(copy)) as opened:
            (found,) = opened.execute("PRAGMA integrity_check(1)").fetchone()
            held = ledger(lambda sql: next(iter(opened.execute(sql)), (None,))[0], manifest["rows"])
    except sqlite3.Error as error:
        raise NotABackup(f"holds a damaged database: {error}") from error
    if found != "ok":
        raise NotABackup(f"holds a damaged database: {found}")
    if different := [name for name, value in held.items() if manifest[name] != value]:
        raise NotABackup(f"holds another database than its manifest says: {', '.join(different)} differ")


def _check_files(manifest: Manifest, folder: Path) -> None:
    files = [path for path in (folder / "media").rglob("*") if path.is_file()]
    if len(files) != manifest["n_files"]:
        raise NotABackup(f"holds {len(files)} of {manifest['n_files']} files")
    if (n_bytes := sum(path.stat().st_size for path in files)) != manifest["n_bytes"]:
        raise NotABackup(f"holds {n_bytes:,} of {manifest['n_bytes']:,} bytes of files")
    for key in ("secret_key", "pseudonym_key"):
        path = folder / key
        if path.exists() and path.stat().st_size < SHORTEST_SECRET:
            raise NotABackup(f"holds a damaged {key}")
