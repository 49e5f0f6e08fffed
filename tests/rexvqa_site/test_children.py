"""The processes of a site: started again with growing pauses, and none is left behind."""

from __future__ import annotations

import atexit
import json
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotation.site.home_files import SiteRefused
from rexvqa_site import serving
from rexvqa_site.serving import (
    LONGEST_PAUSE,
    SECONDS_OF_A_SHORT_LIFE,
    SHORT_LIVES_IN_A_ROW,
    Children,
    Forked,
    pause_before_start,
)
from tests.processes import ROOT, is_running
from tests.refusals import refuses

SLEEP = [sys.executable, "-c", "import time; time.sleep(600)"]
# A child that has a child of its own, says both numbers, and waits.
PARENT = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    f"inner = subprocess.Popen({SLEEP!r})\n"
    "open(sys.argv[1], 'w').write(str(inner.pid))\n"
    "time.sleep(600)",
]
# A site whose own process is killed: it starts one child, says its number, and waits.
SITE = (
    "import os, signal, sys, time\nfrom rexvqa_site.serving import Children\n"
    "children = Children({{'web server': {}}}, os.environ)\nchildren.start('web server')\n"
    "print(children.lives['web server'].process.pid, flush=True)\ntime.sleep(600)"
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=[SLEEP, signal.pause], ids=["program", "forked"])
def children(request: pytest.FixtureRequest, clock: Clock) -> Iterator[Children]:
    children = Children({"web server": request.param}, os.environ, clock=clock)
    children.start("web server")
    yield children
    children.stop()


def kill(children: Children) -> int:
    """The number of the process that was killed."""
    process = children.lives["web server"].process
    process.kill()
    process.wait()
    return process.pid


def wait_for_end(pid: int) -> None:
    """Without a look at the clock: the kernel says when a process that is not ours has ended."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 60)[0], f"{pid} still runs"
    finally:
        os.close(handle)


def test_pauses_grow_and_end() -> None:
    pauses = [pause_before_start(n) for n in range(SHORT_LIVES_IN_A_ROW)]
    assert pauses[:4] == [0, 0.5, 1, 2]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE


def test_a_child_that_lived_is_started_again_at_once(children: Children, clock: Clock) -> None:
    clock.now = SECONDS_OF_A_SHORT_LIFE
    killed = kill(children)
    children.revive()
    assert children.lives["web server"].process.pid != killed


def test_a_child_killed_right_after_its_start_does_not_end_the_site(children: Children, clock: Clock) -> None:
    killed = kill(children)
    children.revive()
    assert children.lives["web server"].process.pid == killed
    clock.now += pause_before_start(1)
    children.revive()
    assert children.lives["web server"].process.pid != killed


def test_many_short_lives_in_a_row_end_the_site(children: Children, clock: Clock) -> None:
    for n in range(1, SHORT_LIVES_IN_A_ROW):
        kill(children)
        children.revive()
        clock.now += pause_before_start(n)
        children.revive()
    kill(children)
    with refuses(SiteRefused, "did_not_start", match=f"ended {SHORT_LIVES_IN_A_ROW} times in a row"):
        children.revive()


def test_a_life_of_some_length_makes_the_short_ones_forgotten(children: Children, clock: Clock) -> None:
    for _ in range(2 * SHORT_LIVES_IN_A_ROW):
        for life in (0, SECONDS_OF_A_SHORT_LIFE):
            clock.now += life
            kill(children)
            children.revive()
            clock.now += LONGEST_PAUSE
            children.revive()


def test_a_child_gives_way_to_the_others(clock: Clock) -> None:
    """By itself, and as a group where Linux weighs sessions against each other."""
    children = Children(dict.fromkeys(("web server", "worker"), SLEEP), os.environ, yields={"worker": 3}, clock=clock)
    try:
        for name in children.commands:
            children.start(name)
        web, worker = (children.lives[name].process.pid for name in children.commands)
        niceness = [os.getpriority(os.PRIO_PROCESS, pid) for pid in (web, worker)]
        assert niceness[1] == min(niceness[0] + 3, 19)
        groups = [Path(f"/proc/{pid}/autogroup") for pid in (web, worker)]
        if all(group.exists() for group in groups):
            assert [group.read_text().split()[-1] for group in groups] == ["0", "3"]
    finally:
        children.stop()


def test_what_a_killed_child_had_started_ends_before_it_is_started_again(tmp_path: Path, clock: Clock) -> None:
    told = tmp_path / "inner"
    os.mkfifo(told)
    children = Children({"web server": [*PARENT, str(told)]}, os.environ, clock=clock)
    children.start("web server")
    try:
        inner = int(told.read_text())
        kill(children)
        assert is_running(inner)
        children.revive()
        wait_for_end(inner)
    finally:
        children.stop()


@pytest.mark.parametrize("command", [repr(SLEEP), "signal.pause"])
def test_no_child_outlives_a_site_that_is_killed(command: str) -> None:
    site = subprocess.Popen([sys.executable, "-c", SITE.format(command)], stdout=subprocess.PIPE, cwd=ROOT)
    assert site.stdout is not None
    child = int(site.stdout.readline())
    assert is_running(child)
    os.kill(site.pid, signal.SIGKILL)
    site.communicate()
    wait_for_end(child)


def test_a_forked_child_finds_what_a_program_would_find(tmp_path: Path, clock: Clock) -> None:
    """Its name, environment, place for files, niceness and session, and signals that end it."""
    told = tmp_path / "told"
    os.mkfifo(told)

    def tell() -> None:
        same = os.getsid(0) == os.getpid()
        ends = signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        name = Path("/proc/self/comm").read_text().strip() if Path("/proc").exists() else "worker"
        words = [name, same, ends, tempfile.gettempdir(), sys.pycache_prefix, os.getpriority(os.PRIO_PROCESS, 0)]
        told.write_text(json.dumps(words))
        signal.pause()

    place = {"TMPDIR": str(tmp_path), "PYTHONPYCACHEPREFIX": str(tmp_path / "python")}
    children = Children({"worker": tell}, {**os.environ, **place}, yields={"worker": 3}, clock=clock)
    before, nice = tempfile.gettempdir(), os.getpriority(os.PRIO_PROCESS, 0)
    try:
        children.start("worker")
        found = json.loads(told.read_text())
        assert found == ["worker", True, True, str(tmp_path), str(tmp_path / "python"), min(nice + 3, 19)]
    finally:
        children.stop()
    assert tempfile.gettempdir() == before
    assert children.lives["worker"].process.poll() == -signal.SIGTERM


def test_a_child_that_leads_no_group_yet_is_ended_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "told"
    os.mkfifo(told)

    def begin(_parent: int, _niceness: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        told.write_text("here")
        signal.pause()

    monkeypatch.setattr("rexvqa_site.serving._begin", begin)
    monkeypatch.setattr("rexvqa_site.serving.SECONDS_TO_STOP", 1)
    children = Children({"worker": signal.pause}, os.environ)
    children.start("worker")
    assert told.read_text() == "here"
    children.stop()
    assert children.lives["worker"].process.poll() == -signal.SIGKILL


def test_a_second_signal_does_not_break_off_a_stop() -> None:
    before = signal.getsignal(signal.SIGINT)
    with serving.stop_signals():
        with pytest.raises(serving.StopRequested):
            signal.raise_signal(signal.SIGINT)
        for again in (signal.SIGINT, signal.SIGTERM):
            signal.raise_signal(again)
    assert signal.getsignal(signal.SIGINT) == before


def test_a_forked_child_does_at_its_end_what_a_program_does(tmp_path: Path) -> None:
    """Such as telling what waits to be told."""

    def act() -> None:
        atexit.register((tmp_path / "told").write_text, multiprocessing.current_process().name)
        sys.exit(3)

    child = Forked("worker", lambda: None, act)
    assert child.wait(60) == 3
    assert (tmp_path / "told").read_text() == "worker"
