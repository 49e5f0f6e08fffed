"""Backup while people work, restore elsewhere, compare the ledgers; on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT, environment, manage, migrated_site, postgres_url, temporary_database
from tests.rexvqa_site.test_private_home import open_paths

# Writes people without end; the parent stops it. Says "writing" once the first one is committed.
WRITER = """
import itertools, os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "rexvqa_site.settings"
import django
django.setup()
from annotation.models import User
for n in itertools.count():
    User.objects.create_user(f"w{n}@example.org", name="W")
    if n == 0:
        print("writing", flush=True)
"""

MODEL_KEY = "sk-planted-9f8e7d6c5b"  # of a model endpoint: no backup holds one


@dataclass
class Site:
    home: Path
    env: dict[str, str]


@dataclass
class Pair:
    old: Site
    new: Site


def site(home: Path, url: str = "") -> Site:
    home.mkdir()
    return Site(home, environment(home, url))


def migrated(home: Path, stack: ExitStack, server: str = "") -> Site:
    return Site(home, stack.enter_context(migrated_site(home, server)))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.services)])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with ExitStack() as stack:
        server, url = "", ""
        if request.param == "postgresql":
            server = postgres_url() or pytest.skip("no PostgreSQL answers on this machine")
            url = stack.enter_context(temporary_database(server, f"backup_{tmp_path.name[-12:]}"))
        pair = Pair(migrated(tmp_path / "old", stack, server), site(tmp_path / "new", url))
        (pair.old.home / "media" / "ab").mkdir(parents=True)
        (pair.old.home / "media" / "ab" / "rendition").write_bytes(b"pixels" * 1000)
        (pair.old.home / "media" / "ab" / "rendition").chmod(0o644)  # as older versions wrote it
        (pair.old.home / "model_keys").mkdir()
        (pair.old.home / "model_keys" / "hosted").write_text(MODEL_KEY)
        yield pair


def backup(old: Site) -> Path:
    target = old.home / "a.tar"
    done = manage("backup", "--output", str(target), env=old.env)
    assert done.returncode == 0, done.stderr
    return target


def manifest_of(archive: Path) -> dict[str, Any]:
    with tarfile.open(archive) as file:
        entry = file.extractfile("manifest.json")
        assert entry is not None
        manifest: dict[str, Any] = json.loads(entry.read())
        return manifest


def test_a_backup_taken_while_people_work_comes_back_whole(pair: Pair) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER], env=pair.old.env, stdout=subprocess.PIPE, cwd=ROOT)
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        archive = backup(pair.old)
    finally:
        writer.kill()
        writer.communicate()
    assert MODEL_KEY.encode() not in archive.read_bytes()
    manifest = manifest_of(archive)
    done = manage("restore", str(archive), env=pair.new.env)
    assert done.returncode == 0, done.stderr
    assert manifest["rows"]["annotation_user"] >= 1
    again = manage("backup", "--output", str(pair.new.home / "b.tar"), env=pair.new.env)
    assert again.returncode == 0, again.stderr
    second = manifest_of(pair.new.home / "b.tar")
    manifest["rows"]["annotation_auditevent"] += 1  # each backup is in the log that it holds
    assert second["audit_sha256"] != manifest["audit_sha256"]
    assert {**second, "taken_at": "", "audit_sha256": ""} == {**manifest, "taken_at": "", "audit_sha256": ""}
    assert (pair.new.home / "media" / "ab" / "rendition").read_bytes() == b"pixels" * 1000
    assert open_paths(pair.new.home) == []
    assert (pair.new.home / "pseudonym_key").read_text() == (pair.old.home / "pseudonym_key").read_text()


def test_a_home_with_content_is_not_overwritten(pair: Pair) -> None:
    archive = backup(pair.old)
    refused = manage("restore", str(archive), env=pair.old.env)
    assert refused.returncode == 2
    assert "holds a site already" in refused.stderr
    replaced = manage("restore", str(archive), "--replace", env=pair.old.env)
    assert replaced.returncode == 0, replaced.stderr
    assert any(pair.old.home.glob("replaced-*/media/ab/rendition"))


def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with migrated_site(tmp_path / "old") as env:
        refused = manage("backup", "--output", str(tmp_path / "notes.txt"), env=env)
    assert refused.returncode == 2
    assert "exists already; nothing was written" in refused.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("damage", ["cut", "nonsense", "absent"])
def test_what_is_not_a_whole_backup_changes_nothing(tmp_path: Path, damage: str) -> None:
    with ExitStack() as stack:
        archive = backup(migrated(tmp_path / "old", stack))
    if damage == "cut":
        archive.write_bytes(archive.read_bytes()[:-40_000])
    elif damage == "nonsense":
        archive.write_bytes(b"nonsense")
    else:
        archive.unlink()
    new = site(tmp_path / "new")
    refused = manage("restore", str(archive), env=new.env)
    assert refused.returncode == 2
    assert not (new.home / "db.sqlite3").exists()
