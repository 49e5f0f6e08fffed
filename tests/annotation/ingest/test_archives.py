"""ZIP archives are checked as a whole and counted while they inflate."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.ingest.source_files import ArchiveLimits, open_archive

LIMITS = ArchiveLimits(member_bytes=20_000_000, total_bytes=30_000_000)
Fill = Callable[[zipfile.ZipFile], None]


def make_zip(path: Path, fill: Fill) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        fill(archive)
    return path


def link(archive: zipfile.ZipFile) -> None:
    member = zipfile.ZipInfo("link")
    member.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive.writestr(member, "/etc/passwd")


def twice(archive: zipfile.ZipFile) -> None:
    archive.writestr("a/b.png", b"1")
    archive.writestr("A/B.png", b"2")


def folder_and_file(archive: zipfile.ZipFile) -> None:
    archive.writestr("x/", "")
    archive.writestr("x/y.png", b"data")


def three_large_ones(archive: zipfile.ZipFile) -> None:
    for number in range(3):
        archive.writestr(str(number), bytes(11_000_000), zipfile.ZIP_STORED)


def read_all(path: Path) -> list[bytes]:
    with open_archive(path, LIMITS) as archive:
        return [archive.read(name) for name in archive.names]


def refusal_of(path: Path) -> str:
    with pytest.raises(ImageRefused) as caught:
        read_all(path)
    return caught.value.code


def test_members_are_read_by_name(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", folder_and_file)
    with open_archive(path, LIMITS) as archive:
        assert archive.names == ["x/y.png"]
        assert archive.read("x/y.png") == b"data"


@pytest.mark.parametrize(
    ("fill", "code"),
    [
        (lambda a: a.writestr("../../evil.dcm", b"x"), "archive_path"),
        (lambda a: a.writestr("/etc/evil.dcm", b"x"), "archive_path"),
        (lambda a: a.writestr("C:evil.dcm", b"x"), "archive_path"),
        (lambda a: a.writestr("a\\..\\evil.dcm", b"x"), "archive_path"),
        (link, "archive_path"),
        (twice, "archive_duplicate"),
        (lambda a: a.writestr("bomb", bytes(10_000_000)), "archive_size"),
        (lambda a: a.writestr("large", bytes(21_000_000), zipfile.ZIP_STORED), "archive_size"),
        (three_large_ones, "archive_size"),
    ],
)
def test_one_bad_member_refuses_the_archive(tmp_path: Path, fill: Fill, code: str) -> None:
    assert refusal_of(make_zip(tmp_path / "a.zip", fill)) == code


def spoilt(content: bytes, place: int, put: bytes) -> bytes:
    """An archive of this one member, other bytes standing at a place of its entry in the list of members."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.png", content)
    data = bytearray(stream.getvalue())
    at = data.index(b"PK\x01\x02") + place
    data[at : at + len(put)] = put
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(spoilt(b"data", 8, b"\1\0"), "archive_encrypted", id="encrypted"),
        pytest.param(spoilt(bytes(range(256)) * 40, 24, (10).to_bytes(4, "little")), "archive", id="lies of its size"),
        pytest.param(spoilt(b"data" * 500, 0, b"PK")[:-30], "archive", id="cut"),
        *(pytest.param(data, "archive", id="damaged") for data in (b"PK\x03\x04", b"PK\x03\x04" + bytes(100), b"")),
    ],
)
def test_a_damaged_archive_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(data)
    assert refusal_of(path) == code
