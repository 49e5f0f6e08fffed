"""Whatever a file does to the child that decodes it, the parent goes on."""

from __future__ import annotations

import json
import os
import signal
import struct
from pathlib import Path

import numpy as np
import pytest
from pydicom.uid import RLELossless

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.image_files import read_image
from annotation.ingest import sandbox
from annotation.ingest.decoding_child import FACTS, PIXELS, answer_for
from annotation.ingest.sandbox import Decoder, source_from
from tests.annotation.imaging.dicomfiles import as_bytes, chest, make_compressed, make_data_set, make_dicom
from tests.annotation.imaging.test_windowing import CURVE, lut
from tests.refusals import refuses


def test_the_child_gives_back_what_the_kernel_reads(tmp_path: Path) -> None:
    data = as_bytes(
        make_data_set(
            ModalityLUTSequence=lut(0, 10, CURVE),
            VOILUTSequence=lut(3, 10, CURVE),
            PixelSpacing=["0.14", "0.14"],
            WindowCenter=["1", "2"],
            WindowWidth=["10", "20"],
            BodyPartExamined="HAND",
        )
    )
    with Decoder(tmp_path) as decoder:
        got = decoder.decode(data)
    expected = read_image(data)
    assert np.array_equal(got.pixels, expected.pixels)
    assert (got.kind, got.identifiers, got.warnings) == (expected.kind, expected.identifiers, expected.warnings)
    for name, value in vars(expected.attributes).items():
        if name == "modality_lut":
            assert got.attributes.modality_lut is not None
            assert np.array_equal(got.attributes.modality_lut.data, value.data)
        elif name == "voi_luts":
            assert [table.data.tolist() for table in got.attributes.voi_luts] == [
                table.data.tolist() for table in value
            ]
        else:
            assert getattr(got.attributes, name) == value


def test_one_child_serves_many_files_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with Decoder(tmp_path) as decoder:
        decoder.decode(make_dicom())
        first = decoder._child
        with refuses(ImageRefused, "modality"):
            decoder.decode(make_dicom(Modality="CT"))
        decoder.decode(make_dicom())
        assert decoder._child is first
    assert not list(tmp_path.iterdir())
    assert first is not None
    assert first.poll() is not None


def test_the_child_is_replaced_after_some_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "RECYCLE_AFTER", 1)
    with Decoder(tmp_path) as decoder:
        decoder.decode(make_dicom())
        first = decoder._child
        decoder.decode(make_dicom())
        assert decoder._child is not first


def test_the_death_of_the_child_is_a_refusal_and_the_next_file_comes_in(tmp_path: Path) -> None:
    with Decoder(tmp_path) as decoder:
        decoder.decode(make_dicom())
        assert decoder._child is not None
        os.kill(decoder._child.pid, signal.SIGKILL)
        decoder._child.wait()
        with refuses(ImageRefused, "decoder_died"):
            decoder.decode(make_dicom())
        assert decoder.decode(make_dicom()).pixels.shape == (70, 80)


def test_a_file_that_needs_too_much_memory_is_refused(tmp_path: Path) -> None:
    with Decoder(tmp_path, address_space=256 * 1024 * 1024) as decoder:
        with refuses(ImageRefused, "decoder_died"):
            decoder.decode(make_dicom(np.zeros((6000, 6000), np.uint16), PixelRepresentation=0))
        assert decoder.decode(make_dicom()).pixels.shape == (70, 80)


def test_a_file_that_needs_too_much_processor_time_is_refused(tmp_path: Path) -> None:
    """Runs of one byte each decode in plain Python: eight million steps, against a limit of about a second."""
    side = 2048
    segment = np.zeros((side * side, 2), np.uint8).tobytes()
    head = struct.pack("<16I", 2, 64, 64 + len(segment), *[0] * 13)
    data = make_compressed(head + segment * 2, RLELossless, np.zeros((side, side), np.uint16))
    with Decoder(tmp_path, cpu_seconds=0) as decoder:
        with refuses(ImageRefused, "timeout"):
            decoder.decode(data)
        decoder.cpu_seconds = 10
        assert decoder.decode(make_dicom()).pixels.shape == (70, 80)


def test_a_child_that_hangs_is_ended(tmp_path: Path) -> None:
    with Decoder(tmp_path, wall_seconds=0.05) as decoder:
        with refuses(ImageRefused, "timeout"):  # it has not even started by then
            decoder.decode(make_dicom())
        decoder.wall_seconds = 30
        assert decoder.decode(make_dicom()).pixels.shape == (70, 80)


def test_the_child_inherits_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REXVQA_SECRET_KEY", "a secret")
    with Decoder(tmp_path) as decoder:
        decoder.decode(make_dicom())
        assert decoder._child is not None
        environment = Path(f"/proc/{decoder._child.pid}/environ").read_bytes()
        limits = Path(f"/proc/{decoder._child.pid}/limits").read_text()
        modules = Path(f"/proc/{decoder._child.pid}/maps").read_text()
    assert b"REXVQA" not in environment
    assert str(512 * 1024 * 1024) in limits
    assert "django" not in modules


def test_a_result_that_does_not_fit_itself_is_not_taken(tmp_path: Path) -> None:
    assert answer_for(make_dicom(), tmp_path) == {"done": "yes"}
    facts = json.loads((tmp_path / FACTS).read_bytes())
    assert source_from(json.dumps(facts).encode(), tmp_path / PIXELS).pixels.shape == (70, 80)
    for wrong in (
        {"shape": [70, 81], "dtype": "<u2"},
        {"dtype": "|O"},
        {"shape": [70]},
        {"attributes": {"slope": None}},
    ):
        with pytest.raises(ValueError, match="size|" + next(iter(reversed(wrong)))):
            source_from(json.dumps(facts | wrong).encode(), tmp_path / PIXELS)
    assert chest().nbytes == (tmp_path / PIXELS).stat().st_size
