"""The real and the hostile files: each behaves as its manifest says."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from django.apps import apps
from django.core import serializers

from annotation.enums import ImageState
from annotation.imaging.kernels.codestreams import SENTENCES
from annotation.ingest.exams import IngestResult
from annotation.ingest.searching import check_text
from annotation.models import AuditEvent, Image, SourceIdentifier
from tests.annotation.ingest.conftest import stored_files
from tests.annotation.ingest.planted import planted_forms, planted_in, rows_of

Ingest = Callable[..., IngestResult]
DOORS = ("dicom", "png", "archive", "phi", "label")
TAKEN_SAMPLES = 17


def test_the_26_dicom_files_come_in_or_get_their_reason(ingest: Ingest, shared_data: Path) -> None:
    result = ingest(shared_data / "dicom").as_json()
    reasons = {Path(refusal["file"]).name: refusal["code"] for refusal in result["refused"]}
    assert (result["files"], result["images"], result["exams"]) == (26, TAKEN_SAMPLES, TAKEN_SAMPLES - 1)
    assert reasons == {
        "breast_cc_mg_mono2_12bit_jpeg_lossless_overlay.dcm": "modality",
        "heart_xa_mono2_8bit_multiframe96_jpeg_baseline.dcm": "modality",
        "ct_mono2_16bit_rle_fragments.dcm": "modality",
        "mr_mono2_16bit_jpegls_lossless.dcm": "modality",
        "mr_mono2_truncated_pixel_data.dcm": "truncated",
        "nm_mono2_12bit_jpeg_extended_undecodable.dcm": "modality",
        "chest_cr_no_pixel_data_japanese_names.dcm": "not_an_image",
        "report_sr_no_image.dcm": "modality",
        "chest_pa_missing_photometric_view_window.dcm": "photometric",
    }
    warned = Image.objects.filter(warnings__icontains="body_part")
    assert warned.count() == 2  # the leg and the neck
    assert Image.objects.filter(photometric_interpretation="MONOCHROME1").count() == 13


@pytest.mark.check
def test_all_49_real_radiographs_come_in(ingest: Ingest, shared_data: Path) -> None:
    result = ingest(shared_data / "cxr").as_json()
    assert (result["files"], result["images"], result["refused"]) == (49, 49, [])
    displays = [image.display or {} for image in Image.objects.all()]
    assert all(display["eight_bit"] and not display["scanner_window"] for display in displays)


@pytest.fixture
def hostile(shared_data: Path) -> Path:
    return shared_data / "hostile"


def test_every_hostile_file_behaves_as_expected(ingest: Ingest, hostile: Path, home: Path) -> None:
    """All in one run, as a folder full of them would come in; a refusal leaves an audit event and nothing else."""
    rows = [row for row in rows_of(hostile / "MANIFEST.csv") if row["kind"] in DOORS]
    assert len(rows) > 150
    result = ingest(*(hostile / row["file"] for row in rows))
    refused: dict[str, str] = {}
    for refusal in result.refusals:
        assert refusal.code in SENTENCES
        refused[refusal.file.split(": ")[0]] = refusal.code
    wrong = {
        row["file"]: refused.get(str(hostile / row["file"]), "came in")
        for row in rows
        if row["expect"] != "either" and (row["expect"] == "reject") != (str(hostile / row["file"]) in refused)
    }
    assert not wrong
    assert not {"decoder_died", "timeout"} & set(refused.values())
    assert len(refused) + len(result.image_ids) + result.n_duplicates == len(rows)
    assert AuditEvent.objects.filter(act="image.refused").count() == len(result.refusals)
    assert len(stored_files(home)) == 3 * Image.objects.count()


def test_burned_in_text_is_quarantined_whatever_the_flag_says(ingest: Ingest, hostile: Path, noon: datetime) -> None:
    files = [hostile / row["file"] for row in rows_of(hostile / "MANIFEST.csv") if row["expect"] == "quarantine"]
    assert len(files) == 2
    result = ingest(*files, search_text=lambda image: check_text(image, at=noon))
    assert result.as_json()["quarantined"] == 2
    assert not Image.objects.exclude(state=ImageState.QUARANTINED).exists()


def test_no_planted_identifier_is_in_any_file_row_or_log(
    ingest: Ingest, hostile: Path, home: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    forms = planted_forms(hostile)
    result = ingest(hostile / "phi", hostile / "labels")
    assert result.as_json()["images"] == 14
    restricted = (SourceIdentifier,)
    tables = [model for model in apps.get_models() if model not in restricted and model._meta.app_label == "annotation"]
    rows = "".join(serializers.serialize("json", model._default_manager.all()) for model in tables)
    captured = capfd.readouterr()
    places = {path.name: path.read_bytes() for path in stored_files(home)}
    places |= {"rows": rows.encode(), "log": (caplog.text + captured.out + captured.err).encode()}
    places["result"] = json.dumps(result.as_json()).encode()
    assert not planted_in(places, forms)
