"""Small files that grow: an archive, and many small members that do together what one of them may not."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from django.utils import timezone
from PIL import Image as Picture

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.image_files import SourceImage, read_image
from annotation.ingest import source_files
from annotation.ingest.exams import ingest_paths
from annotation.ingest.matching import Source
from annotation.ingest.sandbox import Decoder
from annotation.ingest.source_files import ArchiveLimits, open_archive
from annotation.ingest.storing import prepare_image
from annotation.models import Image
from readerstudy.predictions.kernels.streamed_predictions import read_predictions
from tests.annotation.ingest.conftest import stored_files

SIDE = 700  # pixels


def flat(grey: int) -> bytes:
    """An image of nothing: about 1 MB of pixels in a few kB."""
    file = io.BytesIO()
    Picture.fromarray(np.full((SIDE, SIDE), grey, np.uint16)).save(file, "PNG")
    return file.getvalue()


@pytest.mark.django_db
def test_an_archive_of_flat_images_takes_no_more_than_its_budget(
    tmp_path: Path, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 images in 9 kB took 1.4 GB of memory and 961 MB of disk."""
    home = tmp_path / "media"
    settings.MEDIA_ROOT = home  # type: ignore[attr-defined]
    decoded: list[bytes] = []
    monkeypatch.setattr(source_files, "DECODED_SMALL", 3 * SIDE * SIDE * 2)
    monkeypatch.setattr(source_files, "DECODED_RATIO", 1)

    def noted(decoder: Decoder, data: bytes) -> SourceImage:
        decoded.append(data)
        return decode(decoder, data)

    decode = Decoder.decode
    monkeypatch.setattr(Decoder, "decode", noted)
    path = tmp_path / "flat.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(9):
            archive.writestr(f"{number}.png", flat(100 * number))
    result = ingest_paths([path], bank=None, actor=None, at=timezone.now())
    assert [refusal.code for refusal in result.refusals] == ["archive_size"]
    assert len(decoded) == 4
    assert (Image.objects.count(), stored_files(home)) == (0, [])


def test_what_is_kept_of_an_image_while_its_archive_is_read_is_small(tmp_path: Path, settings: object) -> None:
    settings.MEDIA_ROOT = tmp_path  # type: ignore[attr-defined]
    prepared = prepare_image(read_image(flat(7)), Source("a.png", "", "a.png", ""))
    assert (prepared.image.pixels.size, prepared.shape) == (0, (SIDE, SIDE))


def test_many_small_members_do_not_inflate_beyond_the_whole(tmp_path: Path) -> None:
    """Each is as small as a flat image may be; together they are 80 MB in 80 kB."""
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(str(number), bytes(source_files.SMALL))
    limits = ArchiveLimits(member_bytes=1 << 30, total_bytes=1 << 40)
    with pytest.raises(ImageRefused) as refused, open_archive(path, limits):
        pass
    assert refused.value.code == "archive_size"


@pytest.mark.parametrize("form", ["lines", "object", "table"])
def test_a_file_of_predictions_is_not_held_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    """110 MB took 1.25 GB. Here 6 MB, read from the disk and kept on the disk."""
    monkeypatch.setattr("readerstudy.predictions.kernels.records.IN_MEMORY", 1_000)
    said = ({"id": f"Q{number}", "pred_answer": "clear lungs " * 500 + "Answer: B"} for number in range(1_000))
    path = tmp_path / "answers"
    if form == "lines":
        path.write_text("\n".join(json.dumps(one) for one in said))
    elif form == "object":
        path.write_text(json.dumps({one["id"]: {"prediction": one["pred_answer"]} for one in said}))
    else:
        path.write_text("id,pred_answer\n" + "\n".join(f"{one['id']},{one['pred_answer']}" for one in said))
    tracemalloc.start()
    try:
        read = read_predictions(path)
        _now, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (path.stat().st_size > 6_000_000, peak < 6_000_000) == (True, True)
    assert (len(read.records), read.records[999].id, read.problems) == (1_000, "Q999", ())
