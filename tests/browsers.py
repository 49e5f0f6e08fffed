"""The browsers of tests and benchmark: named in the environment, found, or installed from Debian's packages."""

from __future__ import annotations

import os
import shutil
import subprocess

HEADLESS = ("chromium-headless-shell",)  # Chromium without its windows: the browser tests take half the time
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FIREFOX = ("firefox-esr", "firefox")
CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium() -> str | None:
    """REXVQA_CHROMIUM; else one without windows, installed if need be; else a whole one."""
    return (
        find_browser("REXVQA_CHROMIUM", HEADLESS)
        or install("chromium-headless-shell", "REXVQA_CHROMIUM", HEADLESS)
        or find_browser("REXVQA_CHROMIUM", CHROMIUM)
        or install("chromium", "REXVQA_CHROMIUM", CHROMIUM)
    )


def find_chromium() -> str | None:
    """A whole one."""
    return find_browser("REXVQA_CHROMIUM", CHROMIUM)


def find_headless_chromium() -> str | None:
    """One without its windows, of which a page costs a third; else a whole one."""
    return find_browser("REXVQA_CHROMIUM", HEADLESS) or find_chromium()


def firefox() -> str | None:
    return find_browser("REXVQA_FIREFOX", FIREFOX) or install("firefox-esr", "REXVQA_FIREFOX", FIREFOX)


def find_browser(variable: str, names: tuple[str, ...]) -> str | None:
    return os.environ.get(variable) or next((path for name in names if (path := shutil.which(name))), None)


def install(package: str, variable: str, names: tuple[str, ...]) -> str | None:
    """A browser from Debian's packages, where this user may install them."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print(f"installing {package} from the system's packages", flush=True)
    quiet = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
    for command in (["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", package, "fonts-dejavu-core"]):
        subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload]
    return find_browser(variable, names)
