"""Backup while people work, restore elsewhere, compare the ledgers; on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from tests.processes import ROOT, environment, manage, migrated_site, postgres_url, temporary_database
from tests.rexvqa_site.test_private_home import open_paths

pytestmark = pytest.mark.check

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
    manifest["rows"]["annotation_auditevent"] += 2  # that it was restored; and each backup is in the log that it holds
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


def test_tables_that_a_newer_release_added_are_gone_after_a_rollback(pair: Pair) -> None:
    """Otherwise the next upgrade finds them there; on SQLite the file is another."""
    archive = backup(pair.old)
    url = pair.old.env["DATABASE_URL"]
    if not url:
        pytest.skip("a file of SQLite goes as a whole")
    newer = (
        "CREATE TABLE annotation_newer (id int PRIMARY KEY, bank_id bigint REFERENCES annotation_questionbank)",
        "ALTER TABLE annotation_user ADD COLUMN newer int REFERENCES annotation_newer",
        "CREATE FUNCTION newer() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
        "CREATE TRIGGER newer BEFORE INSERT ON annotation_user FOR EACH ROW EXECUTE FUNCTION newer()",
    )
    with closing(psycopg2.connect(url)) as opened, opened, opened.cursor() as cursor:
        for sql in newer:
            cursor.execute(sql)
    done = manage("restore", str(archive), "--replace", env=pair.old.env)
    assert done.returncode == 0, done.stderr
    with closing(psycopg2.connect(url)) as opened, opened.cursor() as cursor:
        cursor.execute("SELECT to_regclass('annotation_newer'), to_regproc('newer'), to_regclass('annotation_user')")
        assert cursor.fetchone() == (None, None, "annotation_user")
    assert "No migrations to apply" in manage("migrate", env=pair.old.env).stdout


def test_a_key_that_is_set_later_leaves_no_image_readable(pair: Pair, tmp_path: Path) -> None:
    from pyrage import x25519

    identity = x25519.Identity.generate()
    (tmp_path / "identity").write_text(str(identity))
    (tmp_path / "nights").mkdir()
    copied = tmp_path / "nights" / "media" / "ab" / "rendition"
    for key, is_readable in (("", True), (str(identity.to_public()), False)):
        pair.old.env["REXVQA_BACKUP_KEY"] = key
        target = tmp_path / "nights" / f"reading-room-{'1.tar' if is_readable else '2.tar.age'}"
        done = manage("backup", "--apart", "--output", str(target), env=pair.old.env)
        assert done.returncode == 0, done.stderr
        assert (b"pixels" in copied.read_bytes()) is is_readable
    done = manage("restore", str(target), "--identity", str(tmp_path / "identity"), env=pair.new.env)
    assert done.returncode == 0, done.stderr


def test_a_night_copies_what_is_new_and_only_the_identity_opens_it(pair: Pair, tmp_path: Path) -> None:
    from pyrage import x25519

    identity = x25519.Identity.generate()
    pair.old.env["REXVQA_BACKUP_KEY"] = str(identity.to_public())
    (tmp_path / "identity").write_text(f"# created: 2026-11-30\n{identity}\n")
    folder = tmp_path / "nights"
    image = pair.old.home / "media" / "ab" / "rendition"

    def night(number: int, *more: str) -> Path:
        target = folder / f"reading-room-{number}.tar.age"
        done = manage("backup", "--apart", "--output", str(target), *more, env=pair.old.env)
        assert done.returncode == 0, done.stderr
        return target

    def stored() -> dict[str, int]:
        return {path.name: path.stat().st_mtime_ns for path in (folder / "media").rglob("*") if path.is_file()}

    first = night(1)
    assert not any(b"pixels" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    before = stored()
    image.with_name("second").write_bytes(b"newer" * 1000)
    second = night(2)
    assert {**stored(), **before} == stored(), "what stands in the folder is not written again"
    assert set(stored()) == {"rendition", "second"}
    for words, status, says in (
        ((), 2, "--identity"),
        (("--identity", str(tmp_path / "nowhere")), 2, "cannot be read"),
        (("--identity", str(tmp_path / "identity")), 0, "restored"),
    ):
        done = manage("restore", str(second), *words, env=pair.new.env)
        assert (done.returncode, says in done.stdout + done.stderr) == (status, True), done.stderr
    assert (pair.new.home / "media" / "ab" / "second").read_bytes() == b"newer" * 1000
    shutil.rmtree(pair.new.home / "media")
    files = manage("restore", str(first), "--files-only", *words, env=pair.new.env)
    assert files.returncode == 0, files.stderr
    assert [path.name for path in (pair.new.home / "media" / "ab").iterdir()] == ["rendition"]
    image.unlink()
    night(3, "--keep", "1")
    assert set(stored()) == {"second"}, "an image that no kept backup names goes with those that did"


def test_a_changed_image_beside_a_backup_is_found(tmp_path: Path) -> None:
    with ExitStack() as stack:
        old = migrated(tmp_path / "old", stack)
        (old.home / "media" / "ab").mkdir(parents=True)
        (old.home / "media" / "ab" / "rendition").write_bytes(b"pixels")
        target = tmp_path / "nights" / "reading-room-1.tar"
        assert manage("backup", "--apart", "--output", str(target), env=old.env).returncode == 0
    (target.parent / "media" / "ab" / "rendition").write_bytes(b"pixelz")
    new = site(tmp_path / "new")
    refused = manage("restore", str(target), env=new.env)
    assert (refused.returncode, "damaged image: media/ab/rendition" in refused.stderr) == (2, True), refused.stderr
    assert not (new.home / "db.sqlite3").exists(), "what is found only while unpacking changes nothing"


def test_a_name_that_is_no_file_is_said_with_the_folder_where_it_was_looked_for(tmp_path: Path) -> None:
    """``rexvqa restore`` of the deployment guide runs in the folder of the release, wherever its caller stands."""
    new = site(tmp_path / "new")
    refused = manage("restore", "reading-room-none.tar", env=new.env)
    assert refused.returncode == 2
    assert f"there is no file {ROOT / 'reading-room-none.tar'}: name the backup by its whole path" in refused.stderr
    unnamed = manage("restore", "", env=new.env)
    assert "name the backup: make restore BACKUP=path/to/reading-room-....tar" in unnamed.stderr
    (tmp_path / "a.tar").write_bytes(b"nonsense")
    assert manage("restore", str(tmp_path / "a.tar"), env=new.env).returncode == 2
    assert not (new.home / "db.sqlite3").exists(), "what is no whole backup changes nothing"


# A site with what lets people in; and what is taken away after the backup.
OPENED = """
from django.test import Client
from django.utils import timezone
from annotation.enums import Role
from annotation.people.accounts import password_link
from annotation.people.tokens import make_token, place_named
from annotation.models.people import TokenScope
from tests.conftest import make_person
now = timezone.now()
ada, cora, rita = (make_person(*one) for one in (
    ("Ada", Role.ADMINISTRATOR), ("Cora", Role.COORDINATOR), ("Rita", Role.REVIEWER)))
place = place_named(cora, TokenScope.SITE, "")
make_token(cora, "Nightly export", role=Role.COORDINATOR, place=place, days=9, actor=cora, at=now)
make_token(cora, "Was used for a trial", role=Role.COORDINATOR, place=place, days=9, actor=cora, at=now)
Client().force_login(cora)
print(password_link(rita))
"""
TAKEN_AWAY = """
from django.utils import timezone
from annotation.enums import Role
from annotation.models import AccessToken, User
from annotation.people import accounts, roles, tokens
by = {"actor": User.objects.get(name="Ada"), "at": timezone.now()}
tokens.revoke_token(AccessToken.objects.get(name="Was used for a trial"), **by)
accounts.deactivate(User.objects.get(name="Cora"), **by)
accounts.reactivate(User.objects.get(name="Cora"), **by)
accounts.deactivate(User.objects.get(name="Rita"), **by)
roles.withdraw(User.objects.get(name="Cora"), Role.COORDINATOR, **by)
"""
LINK_WORKS = """
from annotation.models import User
from annotation.people.accounts import link_tokens
print(link_tokens.check_token(User.objects.get(name="Rita"), {link!r}.rstrip("/").rpartition("/")[2]))
"""
WHAT_IS_OPEN = """
from django.contrib.sessions.models import Session
from annotation.models import AccessToken, User
print(Session.objects.count(), sorted(AccessToken.objects.filter(revoked_at=None).values_list("name", flat=True)),
      User.objects.get(name="Rita").is_active, User.objects.get(name="Cora").memberships.count())
"""


def test_a_restore_ends_sessions_and_names_what_it_brings_back(pair: Pair) -> None:
    """Tokens revoked since, accounts and roles taken since live again: they are listed, and one command ends them."""
    old = pair.old

    def run(program: str) -> str:
        done = manage("shell", "-v0", "-c", program, env=old.env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    link = run(OPENED)
    assert run(LINK_WORKS.format(link=link)) == "True"
    archive = backup(old)
    run(TAKEN_AWAY)
    restored = manage("restore", str(archive), "--replace", env=old.env)
    assert restored.returncode == 0, restored.stderr
    assert "1 session" in restored.stdout, "say how many sessions were ended"
    for words in ("revoked an access token", "deactivated an account", "manage.py end_restored"):
        assert words in restored.stdout, f"the output names what was taken away after the backup: {restored.stdout}"
    assert restored.stdout.count("deactivated an account") == 1, "what was taken back since is not named"
    assert run(WHAT_IS_OPEN) == "0 ['Nightly export', 'Was used for a trial'] True 1"
    assert run(LINK_WORKS.format(link=link)) == "False", "a password link may have been used since"
    ended = manage("end_restored", env=old.env)
    assert ended.returncode == 0, ended.stderr
    assert run(WHAT_IS_OPEN) == "0 [] False 0"
    again = manage("end_restored", env=old.env)
    assert (again.returncode, "nothing" in again.stderr.lower()) == (2, True)


def test_a_backup_never_replaces_a_file(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with migrated_site(tmp_path / "old") as env:
        refused = manage("backup", "--output", str(tmp_path / "notes.txt"), env=env)
    assert refused.returncode == 2
    assert "exists already; nothing was written" in refused.stderr
    assert (tmp_path / "notes.txt").read_text() == "mine"
