"""Run every test: on SQLite, then what touches the database again on PostgreSQL. Says what was left out.

Called by ``make test``; further words go to pytest: ``python -m tests.run -k quarantine``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, postgres_url

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Folders that hold no test of the database: once is enough.
WITHOUT_DATABASE = ("architecture", "rexvqa_site", "annotation/imaging", "annotation/statistics")
NO_TEST_RAN = 5  # pytest's status when the selection was empty


def main(arguments: list[str]) -> int:
    left_out: list[str] = []
    environment = dict(os.environ)
    browser = find_browser() or install_browser()
    if browser:
        environment["REXVQA_CHROMIUM"] = browser
    else:
        left_out.append("browser tests: install chromium (apt-get install chromium) or name one with REXVQA_CHROMIUM")
    status = pytest("SQLite", [*browser_words(browser), *arguments], environment)
    server = postgres_url()
    if server:
        words = ["-m", "not browser and not services", *(f"--ignore=tests/{folder}" for folder in WITHOUT_DATABASE)]
        status = max(status, pytest("PostgreSQL", [*words, *arguments], {**environment, "TEST_DATABASE_URL": server}))
    else:
        left_out.append("everything on PostgreSQL: none answers (make services, or TEST_POSTGRES_URL)")
    if not (ROOT.parent / "shared" / "data").is_dir():
        left_out.append("tests on the sample data: ../shared/data is not there")
    print("\nLeft out: " + ("; ".join(left_out) if left_out else "nothing"), flush=True)
    return status


def find_browser() -> str | None:
    named = os.environ.get("REXVQA_CHROMIUM")
    return named or next((path for name in BROWSERS if (path := shutil.which(name))), None)


def install_browser() -> str | None:
    """Chromium from Debian's packages, where this user may install them."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print("installing Chromium from the system's packages", flush=True)
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "chromium", "fonts-dejavu-core"]):
        subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload]
    return find_browser()


def browser_words(browser: str | None) -> list[str]:
    return [] if browser else ["-m", "not browser"]


def pytest(title: str, words: list[str], environment: dict[str, str]) -> int:
    print(f"\n=== tests on {title} ===", flush=True)
    processes = str(min(4, os.cpu_count() or 1))
    command = [sys.executable, "-m", "pytest", "-q", "-n", processes, "--dist", "loadfile", *words]
    status = subprocess.run(command, cwd=Path(ROOT), env=environment, check=False).returncode
    return 0 if status == NO_TEST_RAN and title != "SQLite" else status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
