"""What a site keeps is for its owner alone: as it is made, as it is found, and as its health tells."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from annotation.site.home_files import SiteRefused, is_open_to_others, make_private
from tests.processes import ROOT, environment
from tests.refusals import refuses

WORLD_READABLE = 0o022  # the umask of most machines


def open_paths(home: Path) -> list[str]:
    return [str(path) for path in [home, *home.rglob("*")] if stat.S_IMODE(path.lstat().st_mode) & 0o077]


@pytest.fixture
def open_home(tmp_path: Path) -> Path:
    """As older versions left one: whoever has an account on the machine reads database and images."""
    home = tmp_path / "home"
    (home / "media" / "ab").mkdir(parents=True)
    for name in ("db.sqlite3", "media/ab/rendition"):
        (home / name).write_bytes(b"answers")
        (home / name).chmod(0o644)
    for folder in (home, home / "media", home / "media" / "ab"):
        folder.chmod(0o755)
    return home


def program_of(target: str, home: Path) -> str:
    """What make runs for a target, with a command that makes a home and ends."""
    command = ["make", "-n", "--no-print-directory", target]
    told = subprocess.run(command, cwd=ROOT, env=environment(home), capture_output=True, text=True, check=True)
    return told.stdout.splitlines()[-1].replace(f"manage.py {target}", "manage.py mark_demonstration")


def test_a_home_that_make_makes_is_private_from_its_first_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    program = program_of("serve", home)
    subprocess.run(program, shell=True, cwd=ROOT, env=environment(home), umask=WORLD_READABLE, check=True)
    assert (home / "DEMONSTRATION").exists()
    assert (home / "cache" / "python").is_dir()
    assert open_paths(home) == []


def test_whatever_a_process_of_the_site_writes_is_private(tmp_path: Path) -> None:
    env = environment(tmp_path / "home")
    write = "from pathlib import Path; from django.conf import settings; (settings.HOME / 'kept').write_text('x')"
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", write]
    subprocess.run(command, cwd=ROOT, env=env, umask=WORLD_READABLE, check=True)
    assert open_paths(tmp_path / "home") == []


def test_a_home_that_stood_open_is_closed_with_all_that_is_in_it(open_home: Path) -> None:
    assert is_open_to_others(open_home)
    assert make_private(open_home)
    assert open_paths(open_home) == []
    assert not make_private(open_home)


def test_what_stands_open_in_a_closed_home_is_closed_too(open_home: Path) -> None:
    open_home.chmod(0o700)
    assert make_private(open_home)
    assert open_paths(open_home) == []


def test_a_home_that_cannot_be_closed_is_refused_with_what_to_do(
    open_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with refuses(SiteRefused, "not_private", match="chmod -R go-rwx"):
        make_private(open_home)


@pytest.fixture
def site_in_open_home(open_home: Path, settings: Settings) -> Path:
    settings.HOME = open_home
    return open_home


def test_health_says_that_others_can_read_the_home(administrator: Client, site_in_open_home: Path) -> None:
    told = administrator.get(reverse("healthz")).json()
    assert "other users of this machine" in told["privacy"]
    assert told["status"] != "ok"
    assert str(site_in_open_home) not in str(told)
    make_private(site_in_open_home)
    assert administrator.get(reverse("healthz")).json()["privacy"] == "ok"
