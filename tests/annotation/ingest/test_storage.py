"""Files are whole or not there; what no row names is swept."""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from annotation.ingest import storage
from annotation.ingest.exams import IngestResult
from tests.annotation.imaging.dicomfiles import make_dicom
from tests.annotation.ingest.conftest import stored_files


def test_a_file_comes_back_under_a_name_that_tells_nothing(home: Path) -> None:
    names = {storage.store(b"the same bytes") for _n in range(20)}
    assert len(names) == 20
    assert all(storage.load(name) == b"the same bytes" for name in names)
    storage.remove([*names, "aaaa"])
    assert not stored_files(home)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "a\0b", "ä" * 16])
def test_only_names_lead_to_files(name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        storage.key_of(name)


def test_a_write_that_fails_leaves_no_half_file(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        storage.store(b"data")
    assert all(path.suffix == ".part" for path in stored_files(home))


@pytest.mark.django_db
def test_old_files_without_a_row_are_swept_and_others_stay(
    home: Path, noon: datetime, ingest: object, tmp_path: Path
) -> None:
    file = tmp_path / "a.dcm"
    file.write_bytes(make_dicom())
    result = ingest(file)  # type: ignore[operator]
    assert isinstance(result, IngestResult)
    old, young = storage.store(b"orphan"), storage.store(b"of an ingest that runs")
    workplace = home / "tmp" / "decoding-lost"
    workplace.mkdir(parents=True)
    before = (noon - timedelta(days=2)).timestamp()
    for path in (*(home / "media").glob("??/*"), workplace):
        os.utime(path, (before, before))
    os.utime(home / "media" / storage.key_of(young), (noon.timestamp(), noon.timestamp()))
    assert storage.sweep_orphans(at=noon) == 1
    assert not storage.is_there(old)
    assert not workplace.exists()
    assert len(stored_files(home)) == 4
