"""A backup is checked and goes back into a home; what was there is set aside until a person deletes it."""

from __future__ import annotations

import contextlib
import json
import lzma
import os
import shutil
import sqlite3
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from annotation.audit.belonging import claim
from annotation.audit.recording import record
from annotation.backup import taking
from annotation.backup.apart import BackupRefused, Encryption, images_of
from annotation.backup.taking import FORMAT, KEYS, TABLE_NAME, ledger
from annotation.models import AuditEvent, User
from annotation.site import media
from annotation.site.home_files import SHORTEST_SECRET

Report = Callable[[str], None]
PEOPLE = User._meta.db_table
Manifest = dict[str, Any]
TAKEN_BACK = ("person.reactivated", "role.granted")
ENDINGS = ("person.deactivated", "person.removed", "role.withdrawn", "password.set", "second_factor.reset")
FIELDS: dict[str, type] = {"taken_at": str, "rows": dict, "audit_sha256": str, "n_files": int, "n_bytes": int}


def restore_backup(
    source: Path, *, replace: bool, at: datetime, report: Report, identity: Path | None = None, files_only: bool = False
) -> Manifest:
    """Put a backup back, compare the ledgers and end all sessions; returns the manifest, with what the log keeps of it.

    ``identity``: the file that opens one that was encrypted; ``files_only``: PostgreSQL itself has put the database
    back, as of any moment, and images and keys follow.

    Raises BackupRefused, without ``replace`` also for a home that is not empty. The caller holds the lock of the home
    directory, so that no server works in it.
    """
    with tempfile.TemporaryDirectory(dir=settings.TEMP_ROOT) as folder:
        unpacked = Path(folder)
        report("unpacking")
        manifest = unpack_checked(source, unpacked, Encryption(identity=identity))
        if settings.MEDIA != media.FOLDER and any(media.places()[0].entries()):
            raise BackupRefused(
                "bucket_not_empty",
                f"{settings.MEDIA} holds files already, and a restore replaces none of a bucket. Name a prefix of it "
                "in REXVQA_MEDIA under which there is nothing",
            )
        has_content = any(media.entries()) if files_only else _has_content()
        if has_content and not replace:
            raise BackupRefused(
                "home_not_empty",
                f"{settings.HOME} holds a site already. Restore into an empty place (REXVQA_HOME=/new/folder), "
                "or add --replace: what is there now is then kept in a folder beside it",
            )
        removals = _removals_since(manifest["taken_at"]) if has_content and not files_only else []
        aside = _set_database_aside(at) if has_content else None
        if not files_only:
            report("restoring the database")
            taking.load(unpacked / taking.FILE_NAMES[taking.engine()])
        report("restoring the files")
        if aside:
            _set_files_aside(aside)
        _move_media(unpacked / "media")
        for key in KEYS:
            if (unpacked / key).exists():
                shutil.move(unpacked / key, settings.HOME / key)
    _compare(manifest, {} if files_only else taking.current_ledger(manifest["rows"]))
    n_sessions = _end_sessions()
    with transaction.atomic():
        facts = {"taken_at": manifest["taken_at"], "sessions": n_sessions, "removals": removals}
        record("backup.restored", actor=None, at=at, facts=facts)
    return manifest | facts


def _removals_since(taken_at: str) -> list[Manifest]:
    """What the log of the database that is replaced says was ended after the backup, and not taken back since."""
    known = Q(act__in=(*ENDINGS, *TAKEN_BACK)) | Q(act__endswith=".revoked") | Q(act__endswith=".restored")
    found: dict[tuple[Any, ...], Manifest] = {}
    try:
        for one in AuditEvent.objects.filter(known, at__gt=taken_at).order_by("pk"):
            about = {"type": one.subject_type, "id": one.subject_id}
            key = (one.act.partition(".")[0], *about.values(), *map(one.facts.get, ("role", "round", "link")))
            found.pop(key, None)
            if one.act not in TAKEN_BACK and not one.act.endswith(".restored"):
                found[key] = {"at": one.at.isoformat(), "act": one.act, **about, "facts": one.facts}
    except DatabaseError:  # of a site that is not whole, or older than its log
        return []
    return list(found.values())


def _end_sessions() -> int:
    """Some of them may have been ended since, and nobody knows which."""
    names = set(connection.introspection.table_names())
    with connection.cursor() as cursor:
        for table in ("usersessions_usersession", "django_session"):
            if table in names:
                cursor.execute(f"DELETE FROM {table}")  # noqa: S608 - one of these two
        return int(cursor.rowcount)


def _has_content() -> bool:
    if any(media.entries()):
        return True
    return taking.has_tables() and bool(taking.current_ledger([PEOPLE])["rows"][PEOPLE])


def _set_database_aside(at: datetime) -> Path:
    """Keep a copy of the database in a new folder; files follow when the other one is in its place."""
    aside = settings.HOME / f"replaced-{at:%Y%m%d-%H%M%S}"
    aside.mkdir(mode=0o700)
    if taking.has_tables():  # not only files are there
        taking.dump(aside / taking.FILE_NAMES[taking.engine()], [])
    return aside


def _set_files_aside(aside: Path) -> None:
    shutil.move(settings.MEDIA_ROOT, aside / "media")
    for key in KEYS:
        if (settings.HOME / key).exists():
            shutil.copy2(settings.HOME / key, aside / key)


def _move_media(unpacked: Path) -> None:
    if settings.MEDIA != media.FOLDER:
        place = media.places()[0]
        claim(place)
        media.copy_files(media.Folder(unpacked), place)
    else:
        if settings.MEDIA_ROOT.exists():
            shutil.rmtree(settings.MEDIA_ROOT)
        if unpacked.exists():
            shutil.move(unpacked, settings.MEDIA_ROOT)
    settings.MEDIA_ROOT.mkdir(exist_ok=True, mode=0o700)


def _compare(manifest: Manifest, restored: taking.Ledger) -> None:
    files = list(media.entries())
    found = {**restored, "n_files": len(files), "n_bytes": sum(one.n_bytes for one in files)}
    different = [name for name, value in found.items() if manifest[name] != value]
    if different:
        sentence = f"restored, but {', '.join(different)} differ from the backup; do not use this copy"
        raise BackupRefused("restored_differs", sentence)


# What is wrong with a backup, found before anything is changed by it


def unpack_checked(source: Path, folder: Path, encryption: Encryption | None = None) -> Manifest:
    """Unpack a backup into an empty folder and hold it against its manifest. Raises BackupRefused."""
    encryption = encryption or Encryption()
    try:
        with tarfile.open(encryption.open(source, folder)) as archive:
            for member in archive:
                if not _unpack(archive, member, folder):
                    raise _not_whole(f"{source} holds what is no file, or would be written elsewhere: {member.name}")
    except (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise _not_whole(f"{source} is no tar file, or its end is missing: {error}") from error
    except OSError as error:
        raise _not_whole(f"{source} cannot be unpacked: {error.strerror or error}") from error
    try:
        manifest = _manifest(folder)
        _check_database(manifest, folder)
        if "files_sha256" in manifest:
            images_of(source, manifest["files_sha256"], folder, encryption)
        _check_files(manifest, folder)
    except BackupRefused as error:
        raise _not_whole(f"{source} {error}") from error
    return manifest


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> bool:
    """Whether it is a file that belongs into the folder; readable by its owner alone, whatever the backup says.

    By hand: the Python 3.11.2 of Debian 12 has none of the filters of later ones.
    """
    root, path = folder.resolve(), (folder / member.name).resolve()
    content = archive.extractfile(member) if member.isfile() else None
    if content is None or not path.is_relative_to(root):
        return False
    for parent in reversed(path.relative_to(root).parents):
        (root / parent).mkdir(exist_ok=True, mode=0o700)
    with content, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as target:
        shutil.copyfileobj(content, target, 1 << 20)
    return True


def _manifest(folder: Path) -> Manifest:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _not_whole("has no manifest.json: it is no backup of this program, or its end is missing") from None
    except (OSError, ValueError, RecursionError):
        raise _not_whole("has a manifest.json that cannot be read") from None
    if not isinstance(manifest, dict):
        raise _not_whole("has a manifest.json that is no object")
    if manifest.get("format") != FORMAT:
        raise _not_whole(f"has the format {manifest.get('format')!r}; this program reads {FORMAT}")
    if wrong := [name for name, kind in FIELDS.items() if not isinstance(manifest.get(name), kind)]:
        raise _not_whole(f"has a manifest.json without {', '.join(wrong)}")
    if not all(TABLE_NAME.fullmatch(table) for table in manifest["rows"]):
        raise _not_whole("has a manifest.json with the name of a table that cannot be one")
    return manifest


def _check_database(manifest: Manifest, folder: Path) -> None:
    kind = manifest.get("database")
    if kind != taking.engine():
        raise _not_whole(
            f"is of a {kind} database and this site uses {taking.engine()}; "
            "set DATABASE_URL to a database of the same kind"
        )
    copy = folder / taking.FILE_NAMES[taking.engine()]
    if not copy.is_file():
        raise _not_whole(f"holds no database: {copy.name} is missing")
    if kind == "postgresql":
        try:
            taking.check_dump(copy)
        except BackupRefused as error:
            raise _not_whole(f"holds a damaged database: {error}") from error
    else:
        _check_sqlite(manifest, copy)


def _check_sqlite(manifest: Manifest, copy: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(copy)) as opened:
            (found,) = opened.execute("PRAGMA integrity_check(1)").fetchone()
            stored = ledger(lambda sql: next(iter(opened.execute(sql)), (None,))[0], manifest["rows"])
    except sqlite3.Error as error:
        raise _not_whole(f"holds a damaged database: {error}") from error
    if found != "ok":
        raise _not_whole(f"holds a damaged database: {found}")
    if different := [name for name, value in stored.items() if manifest[name] != value]:
        raise _not_whole(f"holds another database than its manifest says: {', '.join(different)} differ")


def _check_files(manifest: Manifest, folder: Path) -> None:
    files = [path for path in (folder / "media").rglob("*") if path.is_file()]
    if len(files) != manifest["n_files"]:
        raise _not_whole(f"holds {len(files)} of {manifest['n_files']} files")
    if (n_bytes := sum(path.stat().st_size for path in files)) != manifest["n_bytes"]:
        raise _not_whole(f"holds {n_bytes:,} of {manifest['n_bytes']:,} bytes of files")
    for key in ("secret_key", "pseudonym_key"):
        path = folder / key
        if path.exists() and path.stat().st_size < SHORTEST_SECRET:
            raise _not_whole(f"holds a damaged {key}")


def _not_whole(sentence: str) -> BackupRefused:
    return BackupRefused("not_a_backup", sentence)
