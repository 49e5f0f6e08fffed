"""Programs of others, each in an environment of its own: a list of pinned packages beside this module, no requirement.

They are large, and wanted by proofs and measurements alone. Torch is taken as the package index has it: without a
graphics card a wheel for processors will do.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT

LISTS, PLACE = Path(__file__).parent, ROOT / ".tools"
PATIENCE = 1800  # seconds of an installation


class ToolMissing(Exception):
    """Why there is none, as a sentence."""


def programs_of(name: str, *how: str) -> Path:
    """The folder of its programs; installed when they are first wanted, and again once its list has changed.

    ``how``: said to pip as well. Raises ToolMissing.
    """
    listed, place = LISTS / f"{name}.txt", PLACE / name
    installed = place / listed.name
    if not installed.exists() or installed.read_text() != listed.read_text():
        shutil.rmtree(place, ignore_errors=True)
        print(f"Installing {name} into {place.relative_to(ROOT)} ...", flush=True)
        _run(name, sys.executable, "-m", "venv", str(place))
        pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *how)
        _run(name, str(place / "bin" / "python"), *pip, "-r", str(listed))
        shutil.copy(listed, installed)
    return place / "bin"


def _run(name: str, *command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise ToolMissing(f"{name} is not there: its installation took more than {PATIENCE} seconds.") from None
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise ToolMissing(f"{name} is not there: {(errors or done.stderr.splitlines() or ['no reason given'])[-1]}")
