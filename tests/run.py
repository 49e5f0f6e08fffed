"""Run every test: on SQLite, then what touches the database again on PostgreSQL. Says what was left out.

Called by ``make test``; further words go to pytest: ``python -m tests.run -k quarantine``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import browsers
from tests.processes import ROOT, postgres_url

# Folders of which once is enough: they hold no test of the database, or one that asks nothing more of another one.
WITHOUT_DATABASE = (
    *("architecture", "permissions", "rexvqa_site", "annotation/imaging", "annotation/statistics"),
    *(
        "readerstudy/blinding",
        "readerstudy/figures",
        "annotation/figures",
        "readerstudy/report",
        "browser",
        "torture",
        "fuzzing",
    ),
    *(
        "readerstudy/results/test_render_figures.py",
        "annotation/ingest/test_mutations.py",
        "annotation/ingest/test_sandbox.py",
    ),
    *(f"readerstudy/analysis/test_{name}.py" for name in ("computing", "paper_study", "result")),  # what is gathered is
    *("annotation/backup",),  # they make databases of their own, on both
    "attacks/test_submitters.py",
    "fuzzing",
    *("annotation/demonstration", "readerstudy/demonstration"),  # it is built on the embedded database
    # Pages of one stored analysis: its row is read, and what stands in its text is shown.
    *(f"readerstudy/results/test_{name}.py" for name in ("reader_names", "earlier_rules")),
    # Forms and refusals of pages: what they store is stored by acts that have tests of their own, which run again, as
    # do those of two people who store at once (test_conflicts, test_two_at_once).
    *(f"readerstudy/design/test_{name}.py" for name in ("drafts", "forecast_view", "freezing_view")),
    "annotation/people/test_profile.py",
    "readerstudy/monitoring/test_every_way_out.py",  # files leave by commands and pages; each calls the same act
    "readerstudy/reading/test_addresses.py",  # who is let in, by which method
    "readerstudy/conducting/test_dry_room.py",  # nothing of a dry run is stored
    "annotation/ingest/test_sample_files.py",  # files are decoded; how exams are stored is in test_exams
)
# Of pages only the long lists run again, whose SQL is made by hand or by filters: what the others show is stored and
# read by acts whose own tests do.
PAGES = ("test_views.py", "test_*_views.py", "test_*_page.py", "test_*_pages.py")
LONG_LISTS = (
    "annotation/questionbank/test_bank_views.py",
    "annotation/outcomes/test_outcome_pages.py",
    "annotation/sampling/test_views.py",
    "readerstudy/model_runs/test_run_pages.py",
    "readerstudy/monitoring/test_watch_views.py",
)
# Sweeps over every address of the site for what is hidden by one condition, which the tests beside them ask again.
SWEEPS = (
    "annotation/bin/test_deleting.py::test_what_is_deleted_stands_on_no_page",
    "readerstudy/design/test_bin.py::test_a_draft_in_the_bin_stands_on_no_page",
)
FEWER_RUNS = {"PROOF_RUNS": "5"}  # of the invariants of reading; the full number has run on SQLite
TESTS_FAILED = 1  # pytest's status
NO_TEST_RAN = 5  # pytest's status when the selection was empty


def main(arguments: list[str]) -> int:
    left_out: list[str] = []
    # Compiled files are kept even where the machine says otherwise: hundreds of processes start from them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    words: list[str] = []
    chromium = browsers.chromium()
    if chromium:
        environment["REXVQA_CHROMIUM"] = chromium
        firefox = browsers.firefox()
        if firefox:
            environment["REXVQA_FIREFOX"] = firefox
        else:
            words = ["-m", "not firefox"]
            left_out.append("tests in Firefox: install firefox-esr or name one with REXVQA_FIREFOX")
    else:
        words = ["-m", "not browser"]
        left_out.append("browser tests: apt-get install chromium-headless-shell, or name a Chromium in REXVQA_CHROMIUM")
    status = pytest("SQLite", [*words, *arguments], environment)
    server = postgres_url()
    if server:
        again = [
            "-m",
            "not browser and not services",
            *(f"--ignore=tests/{one}" for one in (*WITHOUT_DATABASE, *short_pages())),
        ]
        again += [f"--deselect=tests/{test}" for test in SWEEPS]
        status = max(
            status,
            pytest("PostgreSQL", [*again, *arguments], {**FEWER_RUNS, **environment, "TEST_DATABASE_URL": server}),
        )
    else:
        left_out.append("everything on PostgreSQL: none answers (make services, or TEST_POSTGRES_URL)")
    if not (ROOT.parent / "shared" / "data").is_dir():
        left_out.append("tests on the sample data: ../shared/data is not there")
    print("\nLeft out: " + ("; ".join(left_out) if left_out else "nothing"), flush=True)
    return status


def short_pages() -> list[str]:
    """The files of tests of pages, but for the long lists, below the folder of all tests."""
    found = {path.relative_to(ROOT / "tests").as_posix() for name in PAGES for path in (ROOT / "tests").rglob(name)}
    return sorted(found - set(LONG_LISTS))


def pytest(title: str, words: list[str], environment: dict[str, str]) -> int:
    print(f"\n=== tests on {title} ===", flush=True)
    # One more than there are processors: browsers and servers are waited for.
    processes = str(min(4, 1 + (os.cpu_count() or 1)))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        processes,
        "--dist",
        "loadfile",
        "--no-loadscope-reorder",
        *words,
    ]
    status = subprocess.run(command, cwd=Path(ROOT), env=environment, check=False).returncode
    if status == TESTS_FAILED:
        status = once_more(title, words, environment)
    return 0 if status == NO_TEST_RAN and title != "SQLite" else status


def once_more(title: str, words: list[str], environment: dict[str, str]) -> int:
    """What failed, alone on the machine: a browser beside another one on two cores may miss its patience.

    A fault of the program fails again; a test that passes here is named, to be made steady.
    """
    print(f"\n=== what failed on {title}, once more and alone ===", flush=True)
    chosen = ["--last-failed", "--last-failed-no-failures", "none", "-rA", "--show-capture=no"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *chosen, *words]
    status = subprocess.run(command, cwd=Path(ROOT), env=environment, check=False).returncode
    if status == 0:
        print("\nUnsteady: these tests failed beside others and passed alone.", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
