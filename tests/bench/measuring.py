"""How a subject is measured: by a process in a home of its own, in Chromium, on a database that is made for it."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import django
from playwright.sync_api import Browser, sync_playwright

from tests.browsers import CHROMIUM_ARGUMENTS, find_chromium
from tests.large_frames import with_large_frame
from tests.processes import Server, environment, manage, printed_by
from tests.ways_in import BACKEND


@contextmanager
def site_env(database_url: str = "", **more: str) -> Iterator[dict[str, str]]:
    """The environment of a site in a new home, with the shipped settings unless others are named."""
    with tempfile.TemporaryDirectory(prefix="reading-room-bench-") as home:
        yield environment(Path(home), database_url, **{"DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", **more})


def told_by(act: Callable[..., Any], *words: object, database_url: str = "", **more: str) -> Any:
    """What ``act(*words)`` answers in a process and a new home of its own, on this database, which is migrated."""
    with site_env(database_url, **more) as env:
        return _answer("migrated", act, words, env)


def told_in_tests(act: Callable[..., Any], *words: object, database_url: str = "", **more: str) -> Any:
    """The same with the settings of tests."""
    test = {"DJANGO_SETTINGS_MODULE": "tests.settings", "TEST_DATABASE_URL": database_url}
    return told_by(act, *words, database_url=database_url, **test, **more)


def told_alone(act: Callable[..., Any], *words: object) -> Any:
    """The same without a site; numpy has one thread, as in the processes of one."""
    return _answer("none", act, words, os.environ | {"OPENBLAS_NUM_THREADS": "1"})


def _answer(site: str, act: Callable[..., Any], words: tuple[object, ...], env: Mapping[str, str]) -> Any:
    return printed_by("tests.bench.child", site, act.__module__, act.__name__, json.dumps(words), env=env)


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


def got(client: Any, address: str) -> Any:
    """Its answer. Raises RuntimeError where that is another than a page."""
    answer = client.get(address)
    if answer.status_code != 200:
        raise RuntimeError(f"{address} answered {answer.status_code}: {answer.content[:300]!r}")
    return answer


def n_queries(client: Any, address: str) -> int:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        got(client, address)
    if os.environ.get("REXVQA_BENCH_VERBOSE"):
        for one in sorted(queries, key=lambda one: -float(one["time"]))[:2]:
            print(f"{address}: {one['time']} s {one['sql'][:3000]}", file=sys.stderr, flush=True)
    return len(queries)


@with_large_frame  # else it would be luck how many calls deep the slow part of a page begins
def asked_in_turns(client: Any, pages: Mapping[str, str], n: int) -> dict[str, tuple[list[float], int]]:
    """Of each page milliseconds of processors, n times after a first one, and how many queries it asks.

    All in turns, so that what else the machine does comes upon all.
    """
    found: dict[str, tuple[list[float], int]] = {
        name: ([], n_queries(client, address)) for name, address in pages.items()
    }
    for _turn in range(n):
        for name, address in pages.items():
            begun = processor()
            got(client, address)
            found[name][0].append(processor() - begun)
    return found


def processor() -> float:
    """Milliseconds that this process, and the one of PostgreSQL that answers it, took so far."""
    from django.db import connection

    ms = 1000 * time.process_time()
    if connection.vendor == "postgresql":
        ms += int(Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text().split()[0]) / 1e6
    return ms


def analyze() -> None:
    """So that PostgreSQL knows what the tables hold, and asks no other processes, whose time is nobody's."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
        if connection.vendor == "postgresql":
            cursor.execute("SET max_parallel_workers_per_gather TO 0")


def seconds(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def peak_mb() -> float:
    """Of this process at its largest."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
