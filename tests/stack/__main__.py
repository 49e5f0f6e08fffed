"""``make stack-test``: the site of docs/deploy.md on this machine, read and reviewed while each part of it is killed.

Prints what was killed, what people saw, what was lost, and after how many seconds another had taken over.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import django
from playwright.sync_api import sync_playwright
from rich import print as show
from rich.table import Table

from tests.browsers import chromium
from tests.stack.parts import Stack


def main() -> int:
    executable = chromium()
    if not executable:
        print("left out: Chromium is not here")
        return 1
    with tempfile.TemporaryDirectory(prefix="reading-room-stack-") as folder:
        stack = Stack(Path(folder))
        os.environ.update(stack.site_env, DJANGO_SETTINGS_MODULE="rexvqa_site.settings", DJANGO_ALLOW_ASYNC_UNSAFE="1")
        try:
            stack.start()
            django.setup()
            from tests.stack.scenario import GOAL, UPGRADE, run  # knows the site

            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
                rows = run(stack, browser)
                browser.close()
        finally:
            stack.stop()
    table = Table("killed", "what people saw", "lost", "seconds")
    for row in rows:
        table.add_row(row.killed, row.seen, str(row.lost), f"{row.seconds:.1f}")
    show(table)
    return int(any(row.lost or row.n_errors or (row.seconds > GOAL and row.killed != UPGRADE) for row in rows))


if __name__ == "__main__":
    sys.exit(main())
