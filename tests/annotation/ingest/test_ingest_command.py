"""manage.py ingest_images."""

from __future__ import annotations

import json
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotation.enums import ImageState
from annotation.ingest.exams import ingest_paths
from annotation.models import Image, QuestionBank
from tests.annotation.imaging.dicomfiles import chest, make_dicom

pytestmark = pytest.mark.django_db


def run(*arguments: Any, **options: Any) -> str:
    out = StringIO()
    call_command("ingest_images", *map(str, arguments), stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_result_is_json_and_images_are_searched(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom(chest(200, 160)))
    facts = json.loads(run(path, "--json"))
    assert list(facts) == ["files", "exams", "images", "duplicates", "quarantined", "refused"]
    assert (facts["images"], facts["quarantined"]) == (1, 0)
    assert Image.objects.get().state == ImageState.AVAILABLE


def test_why_images_wait_and_what_was_warned_of_is_printed(home: Path, tmp_path: Path) -> None:
    fields: dict[str, dict[str, Any]] = {
        "a": {"PatientOrientation": ["R", "F"]},
        "b": {"ViewPosition": "ZP", "SOPInstanceUID": "1.2.3"},
    }
    for n, (name, values) in enumerate(fields.items()):
        (tmp_path / f"{name}.dcm").write_bytes(make_dicom(chest(200, 160 + n), **values))
    told = run(tmp_path)
    assert "1 in quarantine: By its file it lies otherwise than usual." in told
    assert "1 with a warning: " in told
    facts = json.loads(run(tmp_path / "b.dcm", "--json"))
    assert not {"reasons", "warnings"} & facts.keys()


def test_views_that_are_not_understood_are_printed(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom(ViewPosition="04"))
    told = run(path)
    assert "view '04' not understood: 1 images" in told
    assert reverse("views-said") in told


def test_what_an_interrupted_run_left_unsearched_is_searched(home: Path, tmp_path: Path, noon: datetime) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom())
    ingest_paths([path], bank=None, actor=None, at=noon)
    assert Image.objects.get().state == ImageState.CHECKING
    assert json.loads(run(path, "--json"))["duplicates"] == 1
    assert Image.objects.get().state == ImageState.AVAILABLE


def test_people_get_a_table(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom())
    assert "images" in run(path)


def test_a_path_that_is_not_there_ends_with_status_2(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="neither a file nor a folder") as caught:
        run(tmp_path / "missing")
    assert caught.value.returncode == 2


def test_a_bank_that_is_not_there_ends_with_status_2(home: Path, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no bank 'None such'") as caught:
        run(tmp_path, "--bank", "None such")
    assert caught.value.returncode == 2


def test_a_refused_file_ends_with_status_2_and_says_why(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom(Modality="CT"))
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="1 of 1 files were refused") as caught:
        call_command("ingest_images", str(path), stdout=out, stderr=err)
    assert caught.value.returncode == 2
    assert "Only CR, DX and secondary captures are taken" in err.getvalue()
    assert not Image.objects.exists()


def test_images_go_to_the_bank_that_is_named(home: Path, tmp_path: Path, noon: datetime) -> None:
    bank = QuestionBank.objects.create(name="Chest", slug="chest", created_at=noon)
    (tmp_path / "a.dcm").write_bytes(make_dicom())
    run(tmp_path / "a.dcm", "--bank", "chest", "--json")
    assert Image.objects.get().exam.bank == bank
