"""Pictures for people: in the folder REXVQA_SCREENSHOTS, where there is one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

SIZES = ((1366, 768), (1920, 1080))


def keep(page: Page, name: str, *sizes: tuple[int, int], **how: Any) -> None:
    """The page as it is, or at these sizes."""
    folder = os.environ.get("REXVQA_SCREENSHOTS")
    if folder and not sizes:
        page.screenshot(path=Path(folder) / f"{name}.png", **how)
    for width, height in sizes if folder else ():
        page.set_viewport_size({"width": width, "height": height})
        page.screenshot(path=Path(str(folder)) / f"{name}-{width}.png", **how)
