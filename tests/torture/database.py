"""A PostgreSQL of this run's own, in a folder of its own: started, killed with -9 and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path

import psycopg2

from tests.processes import free_port

PATIENCE = 60.0


def binaries() -> Path | None:
    """Where PostgreSQL's programs are; None where it is not installed, or cannot be started by this user."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(child) for child in listed.stdout.split()]


def kill(pid: int) -> bool:
    """Whether there was such a process."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_whole(process: subprocess.Popen[bytes]) -> None:
    """With its children."""
    for pid in (process.pid, *children_of(process.pid)):
        kill(pid)
    process.wait(timeout=PATIENCE)


class Postgres:
    """Durable as in operation: fsync and synchronous_commit stay on. PostgreSQL refuses to run as root.

    ``address``: where it listens, to whoever comes by this network of 256.
    """

    def __init__(self, address: str = "127.0.0.1") -> None:
        folder = binaries()
        if folder is None:
            raise FileNotFoundError("PostgreSQL is not installed")
        self.binaries = folder
        self.user = "postgres" if os.getuid() == 0 else None
        self.home = Path(tempfile.mkdtemp(prefix="reading-room-torture-"))
        if self.user is not None:
            shutil.chown(self.home, self.user)
        self.data, self.port, self.address = self.home / "data", free_port(), address
        init = [str(folder / "initdb"), "-D", str(self.data), "-U", "torture", "--auth=trust", "-E", "UTF8"]
        subprocess.run(init, user=self.user, cwd="/", check=True, capture_output=True)
        with (self.data / "pg_hba.conf").open("a") as file:
            file.write(f"host all all {address}/24 trust\n")
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.start()
            with closing(psycopg2.connect(self._url("postgres"))) as connection:
                connection.autocommit = True  # a database is not created within a transaction
                connection.cursor().execute("CREATE DATABASE torture")
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        return self._url("torture")

    def start(self) -> None:
        """Until it answers, after a kill also through its recovery."""
        command = [str(self.binaries / "postgres"), "-D", str(self.data), "-p", str(self.port)]
        command += ["-c", f"listen_addresses={self.address}", "-c", f"unix_socket_directories={self.home}"]
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if self.process is None or self.process.poll() is not None:
                (self.data / "postmaster.pid").unlink(missing_ok=True)
                self.process = subprocess.Popen(
                    command, user=self.user, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
                )
            try:
                psycopg2.connect(self._url("postgres"), connect_timeout=2).close()
            except psycopg2.OperationalError:
                time.sleep(0.1)
                continue
            return
        raise RuntimeError("PostgreSQL did not come back")

    def kill(self) -> None:
        """The whole server at once, by the ids of its processes."""
        assert self.process is not None
        kill_whole(self.process)

    def stop(self) -> None:
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def _url(self, name: str) -> str:
        return f"postgres://torture@{self.address}:{self.port}/{name}"
