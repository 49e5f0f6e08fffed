"""What lint asks of Django itself: no missing migration, and no warning about the shipped production settings."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.processes import environment, manage

CHECKS: tuple[tuple[tuple[str, ...], dict[str, str]], ...] = (
    (("makemigrations", "--check", "--dry-run"), {}),
    (("check", "--deploy", "--fail-level", "WARNING"), {"REXVQA_URL": "https://reading.example.org"}),
)


def main() -> int:
    status = 0
    with tempfile.TemporaryDirectory() as folder:
        for arguments, settings in CHECKS:
            done = manage(*arguments, env=environment(Path(folder), **settings))
            print(f"manage.py {' '.join(arguments)}: {'ok' if done.returncode == 0 else done.stdout + done.stderr}")
            status = max(status, done.returncode)
    return status


if __name__ == "__main__":
    sys.exit(main())
