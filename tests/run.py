"""``make test`` and ``make check``: the tests of every day, and all that takes longer. Says what was left out.

Further words go to pytest: ``python -m tests.run -k quarantine``, ``python -m tests.run check -k quarantine``.
Markers say which test is in which (pyproject.toml, tests/conftest.py); CONTRIBUTING.md has the table.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import browsers, sweeps
from tests.processes import ROOT, postgres_url

SHARE = {sweeps.PARTS: "16"}  # of each sweep, in "make test"
FEWER_RUNS = {"PROOF_RUNS": "5"}  # on PostgreSQL; in full they have run on SQLite
TESTS_FAILED = 1  # pytest's status
NO_TEST_RAN = 5  # pytest's status when the selection was empty


def main(words: list[str]) -> int:
    # Compiled files are kept even where the machine says otherwise: hundreds of processes start from them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    is_check = words[:1] == ["check"]
    status, left_out = check(words[1:], environment) if is_check else test(words, environment)
    print("\nLeft out: " + ("; ".join(left_out) if left_out else "nothing"), flush=True)
    return status


def test(words: list[str], environment: dict[str, str]) -> tuple[int, list[str]]:
    chosen, left_out = with_browsers("not check", environment, firefox=False)
    status = pytest("tests", ["--durations=20", "-m", chosen, *words], {**SHARE, **environment})
    return status, [*left_out, *without_data()]


def check(words: list[str], environment: dict[str, str]) -> tuple[int, list[str]]:
    chosen, left_out = with_browsers("(check or sweep)", environment, firefox=True)
    status = pytest("what takes longer", ["-m", chosen, *words], environment)
    server = postgres_url()
    if server:
        again = {**FEWER_RUNS, **environment, "TEST_DATABASE_URL": server}
        status = max(
            status,
            pytest("PostgreSQL", ["-m", "postgres and not browser and not services and not sweep", *words], again),
        )
    else:
        left_out.append("everything on PostgreSQL: none answers (make services, or TEST_POSTGRES_URL)")
    return status, [*left_out, *without_data()]


def with_browsers(chosen: str, environment: dict[str, str], *, firefox: bool) -> tuple[str, list[str]]:
    """What is chosen, without the tests of browsers that are not here; those that are stand in the environment."""
    chromium = browsers.chromium()
    if not chromium:
        missing = "browser tests: apt-get install chromium-headless-shell, or name a Chromium in REXVQA_CHROMIUM"
        return f"{chosen} and not browser", [missing]
    environment["REXVQA_CHROMIUM"] = chromium
    found = browsers.firefox() if firefox else None
    if found:
        environment["REXVQA_FIREFOX"] = found
    if found or not firefox:
        return chosen, []
    return f"{chosen} and not firefox", ["tests in Firefox: install firefox-esr or name one with REXVQA_FIREFOX"]


def without_data() -> list[str]:
    is_there = (ROOT.parent / "shared" / "data").is_dir()
    return [] if is_there else ["tests on the sample data: ../shared/data is not there"]


def pytest(title: str, words: list[str], environment: dict[str, str]) -> int:
    print(f"\n=== {title} ===", flush=True)
    # One more than there are processors: browsers and servers are waited for.
    processes = ["-n", str(min(4, 1 + (os.cpu_count() or 1)))]
    # A test that hangs ends its process: once it is tried again, then the run ends.
    shared_out = ["--dist", "loadfile", "--no-loadscope-reorder", "--max-worker-restart", "1"]
    status = run([*processes, *shared_out, *words], environment)
    if status == TESTS_FAILED:
        status = once_more(title, words, environment)
    return 0 if status == NO_TEST_RAN and title != "tests" else status


def once_more(title: str, words: list[str], environment: dict[str, str]) -> int:
    """What failed, alone on the machine: a browser beside another one on two cores may miss its patience.

    A fault of the program fails again; a test that passes here is named, to be made steady.
    """
    print(f"\n=== what failed of {title}, once more and alone ===", flush=True)
    chosen = ["--last-failed", "--last-failed-no-failures", "none", "-rA", "--show-capture=no"]
    status = run(["-n", "0", *chosen, *words], environment)
    if status == 0:
        print("\nUnsteady: these tests failed beside others and passed alone.", flush=True)
    return status


def run(words: list[str], environment: dict[str, str]) -> int:
    command = [sys.executable, "-m", "pytest", "-q", *words]
    return subprocess.run(command, cwd=Path(ROOT), env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
