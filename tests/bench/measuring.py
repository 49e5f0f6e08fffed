"""How a subject is measured: by a process in a home of its own, in Chromium, on a database that is made for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Browser, sync_playwright

from tests.browser.conftest import CHROMIUM_ARGUMENTS, find_chromium
from tests.processes import Server, environment, manage, printed_by
from tests.ways_in import BACKEND


@contextmanager
def site_env(database_url: str = "", **more: str) -> Iterator[dict[str, str]]:
    """The environment of a site in a new home, with the shipped settings unless others are named."""
    with tempfile.TemporaryDirectory(prefix="reading-room-bench-") as home:
        yield environment(Path(home), database_url, **{"DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", **more})


def told_by(subject: str, *words: object, database_url: str = "", **more: str) -> Any:
    """What ``python -m tests.bench.SUBJECT WORDS`` prints in a new home."""
    with site_env(database_url, **more) as env:
        return printed_by(f"tests.bench.{subject}", *words, env=env)


def filled(site: str, env: dict[str, str], *numbers: int) -> Any:
    """The way into a new site, which ``sites.py`` fills."""
    manage("migrate", "--verbosity", "0", env=env).check_returncode()
    return printed_by("tests.bench.sites", site, *numbers, env=env)


def in_test_database(measured: Callable[[], list[Any]]) -> list[Any]:
    """The database is made for this and removed afterwards."""
    django.setup()
    from django.db import connection

    connection.creation.create_test_db(verbosity=0, autoclobber=True)
    try:
        return measured()
    finally:
        connection.creation.destroy_test_db(connection.settings_dict["NAME"], verbosity=0)


def chromium() -> str:
    """Raises RuntimeError when there is none."""
    executable = find_chromium()
    if not executable or not Path(executable).exists():
        raise RuntimeError("This is measured in Chromium: install it, or name it in REXVQA_CHROMIUM.")
    return executable


@contextmanager
def served_in_chromium(env: dict[str, str]) -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of the site, which runs as ``manage.py serve`` does."""
    executable, server = chromium(), Server(env)
    try:
        server.wait_until_greeted()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, args=CHROMIUM_ARGUMENTS)
            yield browser, f"http://127.0.0.1:{server.port}"
            browser.close()
    finally:
        server.stop()


def coordinator() -> Any:
    """The client of a new one, of the whole site."""
    from django.test import Client
    from django.utils import timezone

    from annotation.enums import Role
    from annotation.models import Membership, User

    person = User.objects.create_user("coordinator@example.org", None, name="Coordinator")
    Membership.objects.create(user=person, role=Role.COORDINATOR, granted_at=timezone.now())
    client = Client(headers={"host": "localhost"})
    client.force_login(person, backend=BACKEND)
    return client
