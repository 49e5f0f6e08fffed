"""A folder as a ZIP file whose bytes follow from names and contents alone. Pure."""

from __future__ import annotations

import zipfile
from pathlib import Path

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a ZIP can name
FILE_MODE = 0o100644 << 16
UNIX = 3


def zip_folder(folder: Path, to: Path, top: str) -> None:
    """Every file of ``folder`` by name, under the folder ``top``; no time, no owner, the same compression for all."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for name in names:
            write_entry(archive, f"{top}/{name}", (folder / name).read_bytes())


def write_entry(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, FILE_MODE, UNIX
    archive.writestr(entry, content)
