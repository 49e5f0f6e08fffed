"""A release with its images that one machine packed and another gives out, with one bucket and a home each."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from pytest_django import Settings

from annotation.exports.release_files import ImageSize
from annotation.exports.releases import ask_to_pack, forget_packed, packed_file, packed_of, release
from annotation.exports.tables import ExportRefused
from annotation.models import QuestionBank, User
from tests.annotation.exports.test_releases import chest as chest
from tests.annotation.exports.test_releases import wanted
from tests.jobs import worked
from tests.object_storage import TwoHomes, object_storage
from tests.refusals import refuses

pytestmark = [pytest.mark.services, pytest.mark.django_db]


def test_a_packed_release_is_given_out_by_the_other_machine(
    chest: QuestionBank, cora: User, noon: datetime, settings: Settings, tmp_path: Path
) -> None:
    media = settings.MEDIA_ROOT
    made = release(wanted(chest), actor=None, at=noon)
    with object_storage() as s3:
        homes = TwoHomes(tmp_path / "machines", settings, s3)
        settings.MEDIA_ALSO = "folder"
        for size in ImageSize:
            homes.at("b")
            settings.MEDIA_ROOT = media
            assert worked(ask_to_pack(made, size, actor=cora, at=noon)).error == ""
            assert (homes.left(), len(homes.in_bucket())) == ([], 1)
        homes.at("a")
        found = packed_of(made)
        assert found is not None
        path = packed_file(made, found.images)
        assert (path.read_bytes()[:2], path.stat().st_size) == (b"PK", found.n_bytes)
        forget_packed(made)
        assert (packed_of(made), homes.left(), homes.in_bucket()) == (None, [], [])
        with refuses(ExportRefused, "not_packed"):
            packed_file(made, found.images)
