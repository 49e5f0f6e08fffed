"""Run the program as a user does: in processes of its own, with a home of its own."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg2
import psycopg2.sql

from rexvqa_site import serving

ROOT = Path(__file__).resolve().parent.parent
PATIENCE = 90  # seconds until a server answers or ends
DEFAULT_POSTGRES = "postgres://127.0.0.1:5432/postgres"


def environment(home: Path, database_url: str = "", **more: str) -> dict[str, str]:
    """The environment of a site in ``home``, without settings that leak in from this process.

    Bytecode is that of the tests, beside the sources: in a new home all of the program would be compiled again.
    """
    leaked = ("REXVQA_", "DATABASE_URL", "CELERY_", "DJANGO_SETTINGS_MODULE", "PORT")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(leaked)}
    return {**kept, "PYTHONPYCACHEPREFIX": "", "REXVQA_HOME": str(home), "DATABASE_URL": database_url, **more}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Server:
    """A running ``manage.py serve`` and the lines that it has printed."""

    def __init__(self, env: dict[str, str], port: int | None = None) -> None:
        self.port = port or free_port()
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "serve"],
            env={**env, "PORT": str(self.port)},
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self.greeted = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            if "Ctrl-C stops it" in line:
                self.greeted.set()
        self.greeted.set()  # the end of the output

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def wait_until_greeted(self) -> None:
        assert self.greeted.wait(PATIENCE), self.output
        assert self.process.poll() is None, self.output

    def get(self, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=10) as response:
            body: bytes = response.read()
            return body.decode()

    def is_well(self) -> bool:
        try:
            return bool(json.loads(self.get("/healthz"))["status"] == "ok")
        except OSError:  # nobody listens, or the connection is cut
            return False

    def kill(self) -> None:
        """As a power cut would: the server and its workers, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=PATIENCE)

    def stop(self) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE)


def worker_commands() -> dict[str, list[str]]:
    """Each worker of a site as a program of its own."""
    work = [sys.executable, str(ROOT / "manage.py"), "work", "--queues"]
    return {name: [*work, *queues, "--at-once", str(n)] for name, (queues, n) in serving.WORKERS.items()}


def manage(*arguments: str, env: dict[str, str], timeout: float = 300) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=timeout, check=False, cwd=ROOT)


def printed_by(module: str, *words: object, env: Mapping[str, str] | None = None) -> Any:
    """What a process of its own, ``python -m MODULE WORDS``, prints last: one JSON value."""
    command = [sys.executable, "-m", module, *map(str, words)]
    done = subprocess.run(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@cache
def migrated_home() -> Path:
    """The home of a site on SQLite that was migrated once in this run, to be copied: migrating takes seconds."""
    with made_once("home") as home:
        if not home.exists():
            begun = home.with_suffix(".begun")
            shutil.rmtree(begun, ignore_errors=True)
            done = manage("migrate", "-v0", env=environment(begun))
            assert done.returncode == 0, done.stderr
            begun.rename(home)
    return home


@contextmanager
def made_once(what: str) -> Iterator[Path]:
    """The place of what the first process of this run makes, and the others find; one process at a time is here."""
    place = Path(os.environ["REXVQA_TESTS_SHARED"]) / f"migrated-{what}"
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield place


def postgres_url() -> str | None:
    """A PostgreSQL for tests: TEST_POSTGRES_URL, or one that answers on 127.0.0.1:5432; None when there is none."""
    named = os.environ.get("TEST_POSTGRES_URL", "")
    for url in [named] if named else [DEFAULT_POSTGRES, DEFAULT_POSTGRES.replace("//", "//postgres@")]:
        try:
            psycopg2.connect(url, connect_timeout=2).close()
        except psycopg2.OperationalError:
            continue
        return url
    return None


@cache
def migrated_template(server: str) -> str:
    """The name of a PostgreSQL database that was migrated once in this run, to be copied until ``drop_template``."""
    with made_once("template") as kept:
        if kept.exists():
            return kept.read_text()
        name = f"migrated_{os.getpid()}"
        url = make_database(server, name)
        with tempfile.TemporaryDirectory(prefix="rexvqa-migrating-") as home:
            done = manage("migrate", "-v0", env=environment(Path(home), url))
        if done.returncode:
            drop_database(server, name)
        assert done.returncode == 0, done.stderr
        kept.write_text(name)
    return name


def drop_template() -> None:
    """At the end of a run, when no process copies it any more."""
    with made_once("template") as kept:
        server = postgres_url() if kept.exists() else None
        if server:
            drop_database(server, kept.read_text())
            kept.unlink()


@contextmanager
def migrated_site(home: Path, server: str = "") -> Iterator[dict[str, str]]:
    """The environment of a site whose database the real migrations made: in its home, or on a server of PostgreSQL."""
    shutil.copytree(migrated_home(), home)
    if not server:
        yield environment(home)
        return
    (home / "db.sqlite3").unlink(missing_ok=True)
    template = migrated_template(server)
    with temporary_database(server, f"{template}_copy_{os.getpid()}", template=template) as url:
        yield environment(home, url)


@contextmanager
def temporary_database(server: str, name: str, *, template: str = "template1") -> Iterator[str]:
    """The address of a new PostgreSQL database, a copy of the template, that is dropped at the end."""
    url = make_database(server, name, template=template)
    try:
        yield url
    finally:
        drop_database(server, name)


def make_database(server: str, name: str, *, template: str = "template1") -> str:
    drop_database(server, name)
    words = psycopg2.sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    _execute(server, words.format(psycopg2.sql.Identifier(name), psycopg2.sql.Identifier(template)))
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def drop_database(server: str, name: str) -> None:
    words = psycopg2.sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
    _execute(server, words.format(psycopg2.sql.Identifier(name)))


def _execute(server: str, statement: psycopg2.sql.Composable) -> None:
    with closing(psycopg2.connect(server)) as connection:
        connection.autocommit = True  # no database is made in a transaction
        connection.cursor().execute(statement)


def is_running(pid: int) -> bool:
    """A process that has ended and waits to be collected does not run."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
