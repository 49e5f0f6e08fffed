"""A broken backup is refused with what is wrong with it, before anything is changed; and one that is taken goes on."""

from __future__ import annotations

import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from annotation.backup import taking
from annotation.backup.apart import BackupRefused
from annotation.backup.restoring import unpack_checked
from tests.processes import environment, manage, migrated_site
from tests.refusals import refuses

Members = dict[str, bytes]


@pytest.fixture(scope="module", params=["sqlite"])
def members(tmp_path_factory: pytest.TempPathFactory) -> Members:
    """What a whole backup of a site on SQLite holds."""
    place = tmp_path_factory.mktemp("backup")
    with migrated_site(place / "home") as env:
        (place / "home" / "media" / "ab").mkdir(parents=True)
        (place / "home" / "media" / "ab" / "rendition").write_bytes(b"pixels")
        done = manage("backup", "--output", str(place / "a.tar"), env=env)
    assert done.returncode == 0, done.stderr
    with tarfile.open(place / "a.tar") as archive:
        return {one.name: read.read() for one in archive if (read := archive.extractfile(one))}


def archive_of(members: Members, place: Path) -> Path:
    with tarfile.open(place, "w") as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return place


def with_manifest(members: Members, **changed: Any) -> Members:
    manifest = {**json.loads(members["manifest.json"]), **changed}
    kept = {name: value for name, value in manifest.items() if value is not None}
    return {**members, "manifest.json": json.dumps(kept).encode()}


def without(members: Members, name: str) -> Members:
    return {one: content for one, content in members.items() if one != name}


def with_other_rows(members: Members) -> Members:
    rows = json.loads(members["manifest.json"])["rows"]
    return with_manifest(members, rows={**rows, "annotation_user": 7})


def older(members: Members) -> Members:
    """As an earlier version wrote it: images without their hashes."""
    return with_manifest(without(members, "media.files"), files_sha256=None)


BROKEN: dict[str, tuple[Callable[[Members], Members], str]] = {
    "no manifest": (lambda m: without(m, "manifest.json"), "has no manifest.json"),
    "manifest is no JSON": (lambda m: {**m, "manifest.json": b"\xff{"}, "manifest.json that cannot be read"),
    "manifest is a list": (lambda m: {**m, "manifest.json": b"[]"}, "manifest.json that is no object"),
    "manifest without rows": (lambda m: with_manifest(m, rows=None), "manifest.json without rows"),
    "manifest with SQL": (lambda m: with_manifest(m, rows={'x" --': 1}), "name of a table that cannot be one"),
    "other format": (lambda m: with_manifest(m, format=9), "has the format 9"),
    "other database": (lambda m: with_manifest(m, database="postgresql"), "is of a postgresql database"),
    "no database named": (lambda m: with_manifest(m, database=None), "is of a None database"),
    "no database": (lambda m: without(m, "db.sqlite3"), "db.sqlite3 is missing"),
    "database is no database": (lambda m: {**m, "db.sqlite3": b"x" * 9000}, "holds a damaged database"),
    "database is cut": (lambda m: {**m, "db.sqlite3": m["db.sqlite3"][:50_000]}, "holds a damaged database"),
    "empty database": (lambda m: {**m, "db.sqlite3": b""}, "holds a damaged database: no such table"),
    "other rows": (with_other_rows, "holds another database than its manifest says: rows differ"),
    "a file is missing": (lambda m: without(m, "media/ab/rendition"), "lacks an image: media/ab/rendition"),
    "a file is changed": (lambda m: {**m, "media/ab/rendition": b"Pixels"}, "a damaged image: media/ab/rendition"),
    "a list is changed": (lambda m: {**m, "media.files": b""}, "stands without its list of images"),
    "a list is missing": (lambda m: without(m, "media.files"), "stands without its list of images"),
    "a further file": (lambda m: {**m, "media/ab/more": b"more"}, "holds 2 of 1 files"),
    "an older one lacks a file": (lambda m: without(older(m), "media/ab/rendition"), "holds 0 of 1 files"),
    "a file of an older one is cut": (lambda m: {**older(m), "media/ab/rendition": b"pix"}, "holds 3 of 6 bytes"),
    "a key is cut": (lambda m: {**m, "pseudonym_key": b"x"}, "holds a damaged pseudonym_key"),
    "a way out": (lambda m: {**m, "../elsewhere": b"x"}, "would be written elsewhere"),
}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_what_is_no_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    entry = tarfile.TarInfo("media")
    entry.type, entry.linkname = kind, "/etc"
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.addfile(entry)
    (tmp_path / "into").mkdir()
    with refuses(BackupRefused, "not_a_backup", match="what is no file"):
        unpack_checked(tmp_path / "a.tar", tmp_path / "into")
    assert not any((tmp_path / "into").iterdir())


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_backup_is_refused_with_what_is_wrong(tmp_path: Path, members: Members, broken: str) -> None:
    change, sentence = BROKEN[broken]
    archive = archive_of(change(members), tmp_path / "a.tar")
    (tmp_path / "into").mkdir()
    with refuses(BackupRefused, "not_a_backup") as refused:
        unpack_checked(archive, tmp_path / "into")
    assert str(refused.value).startswith(f"{archive} ")
    assert sentence in str(refused.value)


def test_files_without_a_database_are_set_aside(tmp_path: Path, members: Members) -> None:
    archive, home = archive_of(members, tmp_path / "a.tar"), tmp_path / "home"
    (home / "media" / "zz").mkdir(parents=True)
    (home / "media" / "zz" / "old").write_bytes(b"old")
    done = manage("restore", str(archive), "--replace", env=environment(home))
    assert done.returncode == 0, done.stderr
    assert any(home.glob("replaced-*/media/zz/old"))
    assert (home / "media" / "ab" / "rendition").read_bytes() == b"pixels"


@pytest.mark.parametrize("damage", ["cut", "nonsense", "empty", "cut and packed"])
def test_a_file_that_is_no_whole_archive_is_refused(tmp_path: Path, members: Members, damage: str) -> None:
    archive = archive_of(members, tmp_path / "a.tar")
    whole = archive.read_bytes()
    if damage == "cut and packed":
        with tarfile.open(archive, "w:gz") as packed:
            packed.addfile(tarfile.TarInfo("manifest.json"))
        whole = archive.read_bytes()
    archive.write_bytes({"nonsense": b"nonsense", "empty": b""}.get(damage, whole[: len(whole) // 2]))
    (tmp_path / "into").mkdir()
    with refuses(BackupRefused, "not_a_backup", match=r"its end is missing|cannot be unpacked"):
        unpack_checked(archive, tmp_path / "into")


def test_a_whole_backup_of_an_older_version_is_taken(tmp_path: Path, members: Members) -> None:
    """It has fewer tables than this version; they are made when the site starts."""
    (tmp_path / "old.sqlite3").write_bytes(members["db.sqlite3"])
    old = sqlite3.connect(tmp_path / "old.sqlite3")
    old.execute("DROP TABLE annotation_workerbeat")
    old.execute("DROP TABLE readerstudy_analysisreport")
    old.commit()
    old.close()
    rows = json.loads(members["manifest.json"])["rows"]
    rows.pop("readerstudy_analysisreport")
    changed = {**with_manifest(members, rows=rows), "db.sqlite3": (tmp_path / "old.sqlite3").read_bytes()}
    (tmp_path / "into").mkdir()
    assert unpack_checked(archive_of(changed, tmp_path / "a.tar"), tmp_path / "into")["rows"] == rows


def test_a_backup_survives_an_image_that_is_removed_meanwhile(
    tmp_path: Path, settings: Settings, db: None, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    for name in ("ab/one", "ab/two", "ac/three"):
        (settings.MEDIA_ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (settings.MEDIA_ROOT / name).write_bytes(b"pixels")

    def remove_after_the_first(done: int, _total: int) -> None:
        if done == 1:
            (settings.MEDIA_ROOT / "ab/two").unlink()

    def dump(target: Path, _tables: list[str]) -> dict[str, Any]:
        target.write_bytes(b"rows")
        return {}

    monkeypatch.setattr("annotation.backup.taking.dump", dump)
    manifest = taking.take_backup(tmp_path / "a.tar", at=noon, report=remove_after_the_first)
    assert (manifest["n_files"], manifest["n_bytes"]) == (2, 12)
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert [one for one in archive.getnames() if one.startswith("media/")] == ["media/ab/one", "media/ac/three"]
