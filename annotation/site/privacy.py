"""Only the owner of a home reads what is in it: the answers, the keys and the images of patients."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from annotation.refusals import Refused

SHORTEST_SECRET = 32  # characters of a key that is in the home
UMASK = 0o077  # of every process of the site
OTHERS = stat.S_IRWXG | stat.S_IRWXO


class SiteRefused(Refused):
    """The site cannot be run like this; the sentence says why and what to do."""


def is_open_to_others(home: Path) -> bool:
    """Whether the home, or something directly in it, gives a right to its group or to everybody."""
    return any(_gives_rights(path) for path in (home, *home.iterdir()))


def make_private(home: Path) -> bool:
    """Take every right from everybody but the owner; whether there were any. Raises SiteRefused."""
    if not is_open_to_others(home):
        return False
    try:
        for path in (home, *_parts(home)):
            if _gives_rights(path):
                path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
    except PermissionError:
        raise SiteRefused(
            "not_private",
            f"other users of this machine can read {home}, and it is not yours to change; "
            f"let its owner say: chmod -R go-rwx {home}",
        ) from None
    return True


def _parts(home: Path) -> Iterator[Path]:
    """All that is below the home, each folder before what is in it."""
    for folder, folders, files in os.walk(home):
        yield from (Path(folder) / name for name in (*folders, *files))


def _gives_rights(path: Path) -> bool:
    with suppress(FileNotFoundError):  # removed in between, or a link to nowhere
        return bool(path.stat().st_mode & OTHERS)
    return False
