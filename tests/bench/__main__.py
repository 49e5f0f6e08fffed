"""``make bench``: every figure beside a baseline measured in the same run, and the machine it was measured on.

``python -m tests.bench ingest viewer`` measures only those.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
import tempfile

from tests import browsers

SUBJECTS = (
    "answers",
    "import_questions",
    "api_requests",
    "bank_page",
    "first_day",
    "ingest",
    "leaderboard",
    "load",
    "model_calls",
    "quality",
    "reading",
    "results_pages",
    "review",
    "run_page",
    "statistics",
    "study_load",
    "viewer",
)
# A film; measurements that take half an hour, or need nginx.
ON_REQUEST = ("far_sites", "journey", "scale", "study_load_stack", "text_search")
IN_CHROMIUM = {"journey", "reading", "review", "viewer"}


def main(wanted: list[str]) -> int:
    known = SUBJECTS + ON_REQUEST
    unknown = set(wanted) - set(known)
    if unknown:
        print(f"no such subject: {', '.join(sorted(unknown))}; choose from {', '.join(known)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="reading-room-bench-") as home:
        os.environ.update(REXVQA_HOME=home, DJANGO_SETTINGS_MODULE="tests.settings")
        print(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
        if IN_CHROMIUM & set(wanted or SUBJECTS) and (found := browsers.chromium()):
            os.environ["REXVQA_CHROMIUM"] = found
        for subject in wanted or SUBJECTS:
            from tests.bench.rows import as_table

            print(f"\n{subject.replace('_', ' ')}", flush=True)
            print(as_table(importlib.import_module(f"tests.bench.{subject}").measure()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
