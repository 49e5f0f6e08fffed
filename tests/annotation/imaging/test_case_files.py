"""Files that hold what public trackers report of DICOM in the field: each comes in right, or is refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from annotation.imaging.kernels.codestreams import ImageRefused
from annotation.imaging.kernels.image_files import read_image
from annotation.imaging.kernels.rendering import as_8bit, prepare

REFUSED = {"13_big_endian": "big_endian", "14_jxl": "jpeg_xl"}
WARNED = {
    "01_voilut_declares16_holds12": "voi_lut_bits",
    "01b_voilut_declares16_holds12_with_window": "voi_lut_bits",
    "04_bitsstored12_values16": "bits_stored",
    "06_excess_padding_512": "padding",
}
TURNS = {"11_PatientOrientation_RF": "mirrored", "11c_PatientOrientation_LH_upside_down": "upended"}
VIEWS = {
    "10_view_by_code_sequence_lateral": "lateral",
    "40_vindr_style_header": "unknown",  # states none
    "40b_vindr_style_plus_modality": "unknown",
    "42_fuji_view_in_processing_description": "lateral",
}


@pytest.fixture
def cases(shared_data: Path) -> dict[str, bytes]:
    files = sorted((shared_data.parent / "cases" / "dicom").glob("*.dcm"))
    if not files:
        pytest.skip("the case files (../shared/cases/dicom) are not on this machine")
    return {path.stem: path.read_bytes() for path in files}


def test_every_case_shows_the_same_phantom_or_is_refused_by_name(cases: dict[str, bytes]) -> None:
    right = as_8bit(*prepare(read_image(cases["10_view_by_code_sequence_lateral"]))).astype(int)
    for name, data in cases.items():
        if name in REFUSED:
            with pytest.raises(ImageRefused) as caught:
                read_image(data)
            assert caught.value.code == REFUSED[name], name
            continue
        image = read_image(data)
        assert np.abs(as_8bit(*prepare(image)).astype(int) - right).max() <= 1, name
        assert image.warnings == ((WARNED[name],) if name in WARNED else ()), name
        assert image.attributes.turn == TURNS.get(name, ""), name
        assert image.attributes.view_position == VIEWS.get(name, "PA"), name
