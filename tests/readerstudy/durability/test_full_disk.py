"""The disk is full: no answer is acknowledged that is not stored, the page is told why, and it works again after."""

from __future__ import annotations

import json
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from tests.bench.clients import Line
from tests.processes import Server, environment, manage, migrated_home, printed_by

pytestmark = pytest.mark.services


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 MB in memory; skipped where this user may not mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root can mount a small disk here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


class Page:
    """What the reading page sends."""

    def __init__(self, port: int, way_in: dict[str, Any]) -> None:
        self.line = Line(port, way_in["sessions"][0])
        self.session = ""
        _status, said = self.post(f"/read/{way_in['slug']}/session/", {"take": "yes"})
        self.session, self.case = said["session"], said["state"]["cases"][0]

    def post(self, path: str, fields: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        answer = self.line.ask("POST", path, {**fields, "session": self.session})
        said: dict[str, Any] = json.loads(answer.read())
        return answer.status, said

    def commit(self, key: str) -> tuple[int, dict[str, Any]]:
        views = [view["id"] for view in self.case["views"]]
        events = [
            {"sequence": 0, "kind": "painted", "client_ms": 10, "details": {"views": views}},
            {"sequence": 1, "kind": "submitted", "client_ms": 2000},
        ]
        told = {"page": str(uuid.uuid4()), "events": json.dumps(events)}
        return self.post(self.case["urls"]["commit"], {"key": key, "option": "B", **told})


def fill(disk: Path) -> Path:
    """A file that takes all the space that is left."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(1 << 16)):
            pass
    return filler


def stored_keys(env: dict[str, str]) -> list[str]:
    asked = "from readerstudy.models import Response; print(list(Response.objects.values_list('key', flat=True)))"
    found: list[str] = json.loads(
        manage("shell", "--command", asked, env=env).stdout.splitlines()[-1].replace("'", '"')
    )
    return found


def test_a_full_disk_acknowledges_nothing_that_is_not_stored(small_disk: Path) -> None:
    shutil.copytree(migrated_home(), small_disk, dirs_exist_ok=True)
    env = environment(small_disk, DJANGO_SETTINGS_MODULE="rexvqa_site.settings")
    way_in = printed_by("tests.torture.rows", "fill", 1, 60, env=env)
    server = Server(env)
    try:
        server.wait_until_greeted()
        page = Page(server.port, way_in)
        filler = fill(small_disk)
        acknowledged: list[str] = []
        status = HTTPStatus.OK.value
        while status == HTTPStatus.OK:  # the log of the database has some room left; then it has none
            key = str(uuid.uuid4())
            status, said = page.commit(key)
            if status == HTTPStatus.OK:
                acknowledged.append(key)
                page.case = said["state"]["cases"][0]
        assert (status, said["reason"]) == (HTTPStatus.INSUFFICIENT_STORAGE, "storage_full")
        filler.unlink()
        status, said = page.commit(key)
        assert (status, said["stored"]["key"]) == (HTTPStatus.OK, key)
        assert sorted(stored_keys(env)) == sorted([*acknowledged, key])
    finally:
        server.stop()
