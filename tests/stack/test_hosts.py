"""Two hosts as network namespaces of Linux, each with a home and workers of its own: one vanishes in the middle."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg2
import pytest

from annotation.site.sorted_tables import OneAtATime
from tests.annotation.jobs.test_brokers import JOBS, SWEEPS, Workers
from tests.processes import ROOT, environment, free_port, manage
from tests.torture.database import Postgres, binaries

pytestmark = [pytest.mark.check, pytest.mark.services]
NEEDED = os.geteuid() == 0 and binaries() and shutil.which("ip") and shutil.which("redis-server")
HOLD = """
import django; django.setup()
from django.db import transaction
from annotation.site.sorted_tables import OneAtATime, lock
with transaction.atomic():
    lock(OneAtATime.INGEST)
    print("held", flush=True)
    input()
"""


def ip(words: str, *, check: bool = True) -> None:
    subprocess.run(["ip", *words.split()], check=check, capture_output=True)


@pytest.fixture
def network() -> Iterator[str]:
    """Its name, of three letters and digits; the hosts are ``NAMEa`` and ``NAMEb``, and so are their cables here."""
    if not NEEDED:
        pytest.skip("needs root, ip, PostgreSQL and redis-server")
    name, number = f"r{secrets.token_hex(2)}", secrets.randbelow(250)
    try:
        try:
            ip(f"netns add {name}a")
            ip(f"link add {name} type bridge")
        except subprocess.CalledProcessError as refused:
            pytest.skip(f"no network namespaces here: {refused.stderr.decode().strip()}")
        ip(f"netns add {name}b")
        ip(f"addr add 10.77.{number}.1/24 dev {name}")
        ip(f"link set {name} up")
        for last, host in enumerate((f"{name}a", f"{name}b"), 2):
            ip(f"link add {host} type veth peer name eth0 netns {host}")
            ip(f"link set {host} master {name} up")
            ip(f"-n {host} addr add 10.77.{number}.{last}/24 dev eth0")
            ip(f"-n {host} link set eth0 up")
        yield f"{name} 10.77.{number}.1"
    finally:
        for host in (f"{name}a", f"{name}b"):
            ip(f"link del {host}", check=False)  # else it stays for as long as a connection of the host waits
            ip(f"netns del {host}", check=False)
        ip(f"link del {name}", check=False)


def test_what_a_host_that_vanishes_had_in_hand_is_done_by_the_other_and_it_comes_back(
    network: str, tmp_path: Path
) -> None:
    (name, gate), port = network.split(), free_port()
    server, keys = Postgres(gate), {f"REXVQA_{key}_KEY": secrets.token_hex(32) for key in ("SECRET", "PSEUDONYM")}
    more = {"CELERY_BROKER_URL": f"redis://{gate}:{port}/0", "REXVQA_NODES": "2", "REXVQA_JOB_STALE_SECONDS": "20"}
    more |= {"DJANGO_SETTINGS_MODULE": "rexvqa_site.settings", "PYTHONPATH": str(ROOT), **keys}
    a, b = (Workers(environment(tmp_path / host, server.url, **more)) for host in "ab")
    try:
        for host in "ab":
            (tmp_path / host).mkdir(mode=0o700)
        a.start(["redis-server", "--bind", gate, "--port", str(port), "--protected-mode", "no", "--save", ""])
        for one in (a, b):
            assert manage("migrate", "-v0", env=one.env).returncode == 0
        of_a = [a.start(["ip", "netns", "exec", f"{name}a", *command]) for command in (JOBS, SWEEPS)]
        for command in (JOBS, SWEEPS):
            b.start(["ip", "netns", "exec", f"{name}b", *command])
        holder = ["ip", "netns", "exec", f"{name}b", sys.executable, "-c", HOLD]
        held = subprocess.Popen(
            holder, env=b.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        b.processes.append(held)
        assert held.stdout is not None
        assert held.stdout.readline() == b"held\n"
        a.wait_for(lambda found: len(found["workers"]) == 4, "the workers of both")
        a.told("enqueue", 8, 60, 0.5)  # each message twice
        a.wait_for(lambda found: sum(one[0] == "running" for one in found["jobs"]) == 4, "two jobs on each")
        ip(f"link set {name}b down")
        with closing(psycopg2.connect(server.url)) as session, session.cursor() as cursor:
            cursor.execute("SET lock_timeout = '60s'")
            cursor.execute("SELECT pg_advisory_lock(%s)", [OneAtATime.INGEST.value])
        found = a.wait_for(lambda found: all(one[0] == "succeeded" for one in found["jobs"]), "the end of all")
        assert Counter(attempts for _state, attempts, _error in found["jobs"]) == {1: 6, 2: 2}
        ip(f"link set {name}b up")
        for process in of_a:
            process.terminate()
            process.wait(60)
        a.told("enqueue", 1, 1, 0)
        a.wait_for(lambda found: found["jobs"][-1][0] == "succeeded", "work of the host that is back")
    finally:
        for one in (b, a):
            one.stop()
        server.stop()
