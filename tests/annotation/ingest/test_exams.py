"""Files, folders and archives become exams with images; what is refused leaves nothing.

manage.py ingest_images.
"""

from __future__ import annotations

import json
import threading
import zipfile
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command
from django.urls import reverse
from PIL import Image as Picture

from annotation.audit.recording import verify
from annotation.enums import IdentifierKind, ImageState, RenditionKind, ViewPosition
from annotation.imaging.kernels.deidentification import VERSION
from annotation.imaging.kernels.image_files import SourceImage
from annotation.imaging.kernels.rendering import payload_of
from annotation.ingest import exams, storage, storing
from annotation.ingest.exams import AT_ONCE, IngestResult, ingest_paths
from annotation.ingest.matching import Source
from annotation.ingest.storing import PreparedImage, prepare_image
from annotation.models import AuditEvent, Exam, Image, QuestionBank, Rendition, SourceIdentifier, User
from tests.annotation.imaging.dicomfiles import chest, make_dicom
from tests.annotation.ingest.conftest import stored_files
from tests.commands import ends_with_2

Ingest = Callable[..., IngestResult]


def write(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def other(number: int, **values: object) -> bytes:
    """A DICOM file of other pixels and another SOP Instance UID, in the same study unless said otherwise."""
    return make_dicom(chest(seed=number), **{"SOPInstanceUID": f"1.2.3.{number}", **values})


def test_views_that_nobody_understands_are_told_with_their_words(ingest: Ingest, tmp_path: Path) -> None:
    views = ("04", "PA", "04", "FRONTAL", "")
    files = [write(tmp_path, f"{n}.dcm", other(n, ViewPosition=view)) for n, view in enumerate(views)]
    result = ingest(*files, files[0]).as_json()
    assert result["views"] == [{"words": "04", "images": 2}, {"words": "FRONTAL", "images": 1}]
    assert Image.objects.filter(warnings__icontains='"view"').count() == 3
    assert "FRONTAL" not in repr(list(Image.objects.values()))


@pytest.mark.logs("image.ingested")
def test_a_file_becomes_an_exam_with_an_image_that_nobody_sees_yet(ingest: Ingest, tmp_path: Path, home: Path) -> None:
    result = ingest(write(tmp_path, "a.dcm", make_dicom()), simulated=True)
    assert result.as_json() == {"files": 1, "exams": 1, "images": 1, "duplicates": 0, "quarantined": 0, "refused": []}
    image = Image.objects.get()
    assert (image.state, image.simulated) == (ImageState.CHECKING, True)
    assert (image.rows, image.columns, image.bits_stored, image.modality) == (70, 80, 12, "CR")
    assert (image.view_position, image.exam.age_years, image.exam.sex) == (ViewPosition.PA, 61, "F")
    assert image.deidentification == VERSION
    assert (image.display or {})["presets"]["full"]
    full = image.renditions.get(kind=RenditionKind.FULL)
    assert np.array_equal(payload_of(storage.load(full.name), full.width, full.height), chest())
    assert {rendition.kind for rendition in image.renditions.all()} == {RenditionKind.PREVIEW, RenditionKind.FULL}
    assert storage.load(image.object_name)[128:132] == b"DICM"
    names = {image.object_name, *image.renditions.values_list("name", flat=True)}
    assert {path.name for path in stored_files(home)} == names


def test_images_of_one_study_share_an_exam(ingest: Ingest, tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path, f"in/{number}.dcm", other(number))
    write(tmp_path, "in/3.dcm", other(3, StudyInstanceUID="9.9"))
    result = ingest(tmp_path / "in")
    assert (result.as_json()["exams"], result.as_json()["images"]) == (2, 3)
    assert sorted(Image.objects.values_list("exam__pseudonym", "position")) == sorted(
        [(exam.pseudonym, number) for exam in Exam.objects.all() for number in range(exam.images.count())]
    )
    assert len(set(Exam.objects.values_list("patient_pseudonym", flat=True))) == 1


def test_a_second_time_changes_nothing(ingest: Ingest, tmp_path: Path, home: Path) -> None:
    write(tmp_path, "in/1.dcm", other(1))
    write(tmp_path, "in/copy.dcm", other(1))
    write(tmp_path, "in/tagged.dcm", other(1, InstitutionName="elsewhere"))
    assert ingest(tmp_path / "in").as_json()["duplicates"] == 2
    files = sorted(stored_files(home))
    again = ingest(tmp_path / "in").as_json()
    assert (again["images"], again["duplicates"]) == (0, 3)
    assert sorted(stored_files(home)) == files
    assert len(files) == 3
    assert Exam.objects.count() == Image.objects.count() == 1


def test_an_image_is_replaced_neither_by_its_uid_nor_from_its_place(ingest: Ingest, tmp_path: Path, home: Path) -> None:
    path = tmp_path / "a.png"
    Picture.fromarray(chest(top=255).astype(np.uint8)).save(path)
    ingest(write(tmp_path, "a.dcm", other(1)), path)
    n_files = len(stored_files(home))
    result = ingest(write(tmp_path, "b.dcm", other(2, SOPInstanceUID="1.2.3.1")))
    assert [refusal.code for refusal in result.refusals] == ["same_uid"]
    Picture.fromarray(chest(top=255, seed=2).astype(np.uint8)).save(path)
    assert [refusal.code for refusal in ingest(path).refusals] == ["same_path"]
    assert Image.objects.count() == 2
    assert len(stored_files(home)) == n_files


def test_what_is_refused_leaves_an_audit_event_and_nothing_else(
    ingest: Ingest, tmp_path: Path, home: Path, cora: User
) -> None:
    path = write(tmp_path, "Sally Secret.dcm", make_dicom(Modality="CT"))
    result = ingest(path, actor=cora)
    refused = result.as_json()["refused"]
    assert refused[0]["file"] == str(path)
    assert (refused[0]["code"], refused[0]["message"][:15]) == ("modality", "Only CR, DX and")
    assert not Image.objects.exists()
    assert not Exam.objects.exists()
    assert not SourceIdentifier.objects.exists()
    assert not stored_files(home)
    event = AuditEvent.objects.get()
    assert (event.act, event.facts, event.actor) == ("image.refused", {"code": "modality"}, cora)
    assert verify().fault is None


def test_the_other_files_of_a_folder_come_in(ingest: Ingest, tmp_path: Path) -> None:
    write(tmp_path, "in/bad.dcm", b"")
    write(tmp_path, "in/good.dcm", make_dicom())
    write(tmp_path, "in/table.csv", b"a,b")
    write(tmp_path, "in/.hidden", b"x")
    (tmp_path / "in" / "link.dcm").symlink_to(tmp_path / "in" / "good.dcm")
    (tmp_path / "in" / "away").symlink_to("/etc")
    facts = ingest(tmp_path / "in").as_json()
    assert (facts["files"], facts["images"]) == (4, 1)
    assert sorted(refusal["code"] for refusal in facts["refused"]) == ["empty", "link", "link"]


@pytest.mark.parametrize(("limit", "code"), [("IMAGE_MAX_BYTES", "too_large"), ("IMAGE_MAX_PIXELS", "size")])
def test_the_limits_of_bytes_and_pixels_are_settings(
    ingest: Ingest, tmp_path: Path, settings: object, limit: str, code: str
) -> None:
    setattr(settings, limit, 1000)
    assert [refusal.code for refusal in ingest(write(tmp_path, "a.dcm", make_dicom())).refusals] == [code]


def test_an_archive_comes_in_as_a_whole(ingest: Ingest, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("x/1.dcm", other(1))
        archive.writestr("x/2.dcm", other(2))
        archive.writestr("x/same.dcm", other(2))
        archive.writestr("readme.txt", "hello")
    facts = ingest(tmp_path / "a.zip").as_json()
    assert (facts["files"], facts["images"], facts["duplicates"], facts["refused"]) == (3, 2, 1, [])


@pytest.mark.parametrize("bad", [b"not an image", make_dicom(Modality="CT"), b"PK\x03\x04 a zip in a zip"])
def test_one_refused_member_keeps_the_whole_archive_out(ingest: Ingest, tmp_path: Path, home: Path, bad: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("good.dcm", make_dicom())
        archive.writestr("bad.dcm", bad)
    facts = ingest(tmp_path / "a.zip").as_json()
    assert (facts["files"], facts["images"]) == (2, 0)
    assert [refusal["file"].split("/")[-1] for refusal in facts["refused"]] == ["a.zip: bad.dcm", "a.zip"]
    assert facts["refused"][1]["code"] == "archive_member"
    assert not Image.objects.exists()
    assert not stored_files(home)


def test_two_images_with_one_uid_in_an_archive_keep_it_out(ingest: Ingest, tmp_path: Path, home: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("1.dcm", other(1))
        archive.writestr("2.dcm", other(2, SOPInstanceUID="1.2.3.1"))
    assert [refusal.code for refusal in ingest(tmp_path / "a.zip").refusals] == ["same_uid"]
    assert not Image.objects.exists()
    assert not stored_files(home)


def test_the_flag_of_burned_in_text_quarantines_at_once(ingest: Ingest, tmp_path: Path) -> None:
    searched: list[Image] = []
    result = ingest(
        write(tmp_path, "a.dcm", other(1, BurnedInAnnotation="YES")),
        write(tmp_path, "b.dcm", other(2, BurnedInAnnotation="NO")),
        search_text=searched.append,
    )
    assert result.as_json()["quarantined"] == 1
    assert sorted(Image.objects.values_list("state", flat=True)) == ["checking", "quarantined"]
    assert [image.state for image in searched] == [ImageState.CHECKING]


def test_a_failure_while_rows_are_written_leaves_no_file(
    ingest: Ingest, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object, **_options: object) -> None:
        raise RuntimeError("the database went away")

    monkeypatch.setattr(storing, "_fill", fail)
    with pytest.raises(RuntimeError, match="went away"):
        ingest(write(tmp_path, "a.dcm", make_dicom()))
    assert not stored_files(home)
    assert not Exam.objects.exists()


def test_a_run_that_is_stopped_keeps_what_came_in(ingest: Ingest, tmp_path: Path, home: Path) -> None:
    class Stopped(Exception):
        pass

    def watch(done: int, total: int) -> None:
        assert total == 3
        if done == 1:
            raise Stopped

    for number in (1, 2, 3):
        write(tmp_path, f"in/{number}.dcm", other(number))
    with pytest.raises(Stopped):
        ingest(tmp_path / "in", watch=watch)
    assert Image.objects.count() == 1
    assert len(stored_files(home)) == 3, "nothing of those whose files were being written"
    assert ingest(tmp_path / "in").as_json()["images"] == 2
    assert len(stored_files(home)) == 9


@pytest.mark.parametrize("archived", [False, True])
def test_files_of_two_images_are_written_at_once(
    ingest: Ingest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, archived: bool
) -> None:
    both = threading.Barrier(AT_ONCE, timeout=60)

    def meeting(image: SourceImage, source: Source) -> PreparedImage:
        both.wait()  # raises BrokenBarrierError where they come one after the other
        return prepare_image(image, source)

    monkeypatch.setattr(exams, "prepare_image", meeting)
    folder = tmp_path / "in"
    for number in range(2 * AT_ONCE):
        write(folder, f"{number}.dcm", other(number))
    if archived:
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
        folder = tmp_path / "a.zip"
    assert ingest(folder).as_json()["images"] == 2 * AT_ONCE


def test_a_full_disk_keeps_the_images_before_it_and_no_half_one(
    ingest: Ingest, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(image: SourceImage, source: Source) -> PreparedImage:
        if source.name.endswith("3.dcm"):
            raise OSError("disk full")
        return prepare_image(image, source)

    monkeypatch.setattr(exams, "prepare_image", full)
    for number in (1, 2, 3, 4, 5):
        write(tmp_path, f"in/{number}.dcm", other(number))
    with pytest.raises(OSError, match="disk full"):
        ingest(tmp_path / "in")
    assert Image.objects.count() == 2
    assert len(stored_files(home)) == 6


def test_refusals_come_in_the_order_of_the_files(ingest: Ingest, tmp_path: Path) -> None:
    write(tmp_path, "in/1.dcm", other(1))
    write(tmp_path, "in/2.dcm", other(2, SOPInstanceUID="1.2.3.1"))  # found when its rows are written
    write(tmp_path, "in/3.dcm", make_dicom(Modality="CT"))  # found when it is decoded
    assert [refusal.code for refusal in ingest(tmp_path / "in").refusals] == ["same_uid", "modality"]


def test_names_of_the_source_stand_only_in_the_restricted_table(ingest: Ingest, tmp_path: Path) -> None:
    ingest(write(tmp_path, "MRN-0001.dcm", make_dicom(AccessionNumber="ACC-1")))
    kinds = dict(SourceIdentifier.objects.values_list("kind", "value"))
    assert kinds == {
        IdentifierKind.STUDY_UID: "1.2.3",
        IdentifierKind.SOP_UID: "1.2.3.4",
        IdentifierKind.PATIENT: "MRN-0001",
        IdentifierKind.ACCESSION: "ACC-1",
        IdentifierKind.IMAGE_PATH: "MRN-0001.dcm",
    }
    rows = [str(model.objects.values()) for model in (Exam, Image, Rendition, AuditEvent)]
    assert not [row for row in rows if any(value in row for value in kinds.values() if value != "1.2.3")]


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


def test_people_get_a_table_with_why_images_wait_and_what_was_not_understood(home: Path, tmp_path: Path) -> None:
    fields: dict[str, dict[str, Any]] = {
        "a": {"PatientOrientation": ["R", "F"]},
        "b": {"ViewPosition": "04", "SOPInstanceUID": "1.2.3"},
    }
    for n, (name, values) in enumerate(fields.items()):
        (tmp_path / f"{name}.dcm").write_bytes(make_dicom(chest(200, 160 + n), **values))
    told = run(tmp_path)
    for said in (
        "images",
        "1 in quarantine: By its file it lies otherwise than usual.",
        "1 with a warning: ",
        "view '04' not understood: 1 images",
        reverse("views-said"),
    ):
        assert said in told
    facts = json.loads(run(tmp_path / "b.dcm", "--json"))
    assert not {"reasons", "warnings"} & facts.keys()


def test_what_an_interrupted_run_left_unsearched_is_searched(home: Path, tmp_path: Path, noon: datetime) -> None:
    path = tmp_path / "a.dcm"
    path.write_bytes(make_dicom())
    ingest_paths([path], bank=None, actor=None, at=noon)
    assert Image.objects.get().state == ImageState.CHECKING
    assert json.loads(run(path, "--json"))["duplicates"] == 1
    assert Image.objects.get().state == ImageState.AVAILABLE


def test_what_is_not_there_or_refused_ends_with_status_2_and_says_why(home: Path, tmp_path: Path) -> None:
    with ends_with_2("neither a file nor a folder"):
        run(tmp_path / "missing")
    with ends_with_2("there is no bank 'None such'"):
        run(tmp_path, "--bank", "None such")
    path, err = tmp_path / "a.dcm", StringIO()
    path.write_bytes(make_dicom(Modality="CT"))
    with ends_with_2("1 of 1 files were refused"):
        call_command("ingest_images", str(path), stdout=StringIO(), stderr=err)
    assert "Only CR, DX and secondary captures are taken" in err.getvalue()
    assert not Image.objects.exists()


def test_images_go_to_the_bank_that_is_named(home: Path, tmp_path: Path, noon: datetime) -> None:
    bank = QuestionBank.objects.create(name="Chest", slug="chest", created_at=noon)
    (tmp_path / "a.dcm").write_bytes(make_dicom())
    run(tmp_path / "a.dcm", "--bank", "chest", "--json")
    assert Image.objects.get().exam.bank == bank
