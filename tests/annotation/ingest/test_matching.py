"""Files find the images that questions wait for: by place on disk, or by their path in an upload."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image as Picture

from annotation.enums import ImageState
from annotation.ingest.exams import IngestResult
from annotation.models import Exam, Image, Question, QuestionBank
from annotation.questionbank.importing import import_questions, locate
from tests.annotation.imaging.dicomfiles import chest, make_dicom

Ingest = Callable[..., IngestResult]


def question(study: str, *paths: str) -> dict[str, object]:
    return {
        "study_id": study,
        "question": "Is there an effusion?",
        "options": ["A. Yes", "B. No", "C. Both sides", "D. Not shown"],
        "correct_answer": "B",
        "correct_answer_explanation": "Both costophrenic angles are sharp on the frontal view.",
        "task_name": "Presence Assessment",
        "category": "Effusion",
        "ImagePath": list(paths),
        "ImageViewPosition": ["PA"] * len(paths),
    }


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """Two exams: one of two views, one of one, laid out beside their question file."""
    folder = tmp_path / "release"
    for number, name in enumerate(("one/a.png", "one/b.png", "two/a.png")):
        path = folder / "deid_png" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Picture.fromarray(chest(top=65535, seed=number)).save(path)
    questions = {
        "q1": question("one", "../deid_png/one/a.png", "../deid_png/one/b.png"),
        "q2": question("two", "../deid_png/two/a.png"),
    }
    (folder / "metadata").mkdir()
    (folder / "metadata" / "test.json").write_text(json.dumps(questions))
    return folder


def bring_questions(folder: Path, bank: str, noon: datetime) -> QuestionBank:
    source = locate(folder / "metadata" / "test.json")
    result = import_questions(source, bank_name=bank, actor=None, clock=lambda: noon)
    assert result.stored, result.errors
    return QuestionBank.objects.get(name=bank)


def views_of(bank: QuestionBank) -> dict[int, list[str]]:
    return {
        asked.number: list(asked.exam.images.order_by("position").values_list("state", flat=True))
        for asked in Question.objects.filter(bank=bank)
    }


def test_images_after_questions_fill_what_waits(ingest: Ingest, release: Path, noon: datetime) -> None:
    bank = bring_questions(release, "First", noon)
    facts = ingest(release).as_json()
    assert (facts["images"], facts["exams"], facts["refused"]) == (3, 2, [])
    assert views_of(bank) == {1: ["checking", "checking"], 2: ["checking"]}
    assert Image.objects.count() == 3
    assert set(Image.objects.values_list("view_position", flat=True)) == {"PA"}
    hashes = set(Image.objects.values_list("pixels_sha256", flat=True))
    assert (len(hashes), {len(value) for value in hashes}) == (3, {64}), "pixels of one do not mix with another's"
    again = ingest(release).as_json()
    assert (again["images"], again["duplicates"]) == (0, 3)


def test_questions_after_images_find_them(ingest: Ingest, release: Path, noon: datetime) -> None:
    ingest(release / "deid_png")
    bank = bring_questions(release, "First", noon)
    assert views_of(bank) == {1: ["checking", "checking"], 2: ["checking"]}
    assert Image.objects.count() == 3


def test_any_way_to_the_file_leads_to_it(
    ingest: Ingest, release: Path, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    bank = bring_questions(release, "First", noon)
    monkeypatch.chdir(release / "deid_png" / "one")
    (release.parent / "link").symlink_to(release)
    ingest(Path("a.png"), Path("../one/b.png"), release.parent / "link" / "deid_png" / "two" / "a.png")
    assert views_of(bank) == {1: ["checking", "checking"], 2: ["checking"]}


def test_two_banks_of_one_file_are_filled_one_after_the_other(ingest: Ingest, release: Path, noon: datetime) -> None:
    first, second = (bring_questions(release, name, noon) for name in ("First", "Second"))
    ingest(release, bank=second)
    assert views_of(first)[2] == [ImageState.PENDING]
    assert views_of(second)[2] == [ImageState.CHECKING]
    ingest(release)
    assert views_of(first)[2] == [ImageState.CHECKING]


def test_only_the_same_root_attaches(ingest: Ingest, release: Path, noon: datetime, tmp_path: Path) -> None:
    bank = bring_questions(release, "First", noon)
    elsewhere = tmp_path / "elsewhere" / "deid_png" / "two" / "a.png"
    elsewhere.parent.mkdir(parents=True)
    (release / "deid_png" / "two" / "a.png").rename(elsewhere)
    ingest(elsewhere)
    assert views_of(bank)[2] == [ImageState.PENDING]


def test_an_archive_for_a_bank_fills_by_relative_path(
    ingest: Ingest, release: Path, noon: datetime, tmp_path: Path
) -> None:
    bank = bring_questions(release, "First", noon)
    with zipfile.ZipFile(tmp_path / "up.zip", "w") as archive:
        for path in sorted(release.rglob("*.png")):
            archive.write(path, f"wrapped/{path.relative_to(release)}")
    facts = ingest(tmp_path / "up.zip", bank=bank).as_json()
    assert (facts["images"], facts["refused"]) == (3, [])
    assert views_of(bank) == {1: ["checking", "checking"], 2: ["checking"]}


def test_an_archive_without_a_bank_fills_nothing(ingest: Ingest, release: Path, noon: datetime, tmp_path: Path) -> None:
    bank = bring_questions(release, "First", noon)
    with zipfile.ZipFile(tmp_path / "up.zip", "w") as archive:
        archive.write(release / "deid_png/two/a.png", "deid_png/two/a.png")
    ingest(tmp_path / "up.zip")
    assert views_of(bank)[2] == [ImageState.PENDING]


def test_an_upload_fills_by_its_path_in_the_folder(
    ingest: Ingest, release: Path, noon: datetime, tmp_path: Path
) -> None:
    bank = bring_questions(release, "First", noon)
    upload = tmp_path / "uploads" / "u1"
    upload.parent.mkdir()
    release.rename(upload)
    facts = ingest(upload, bank=bank, uploaded_from=upload).as_json()
    assert facts["images"] == 3
    assert views_of(bank) == {1: ["checking", "checking"], 2: ["checking"]}
    again = ingest(upload, bank=bank, uploaded_from=upload, at=noon + timedelta(minutes=1))
    assert (again.n_duplicates, again.add_earlier([noon])) == (3, 3)
    facts = again.as_json()
    assert (facts["images"], facts["exams"], facts["waiting"], facts["met"]) == (3, 2, 3, 3)


def test_an_image_completes_what_the_question_file_left_out(ingest: Ingest, release: Path, noon: datetime) -> None:
    """A DICOM file under the name of a question's image brings age, sex and its own view position."""
    bank = bring_questions(release, "First", noon)
    (release / "deid_png/two/a.png").write_bytes(make_dicom(chest(seed=9), ViewPosition="AP"))
    ingest(release / "deid_png/two/a.png")
    exam = Exam.objects.get(bank=bank, questions__number=2)
    assert (exam.age_years, exam.sex, exam.images.get().view_position) == (61, "F", "AP")


@pytest.mark.parametrize(("view", "turn", "n_warnings"), [("Lateral", "", 1), ("PA", "mirrored", 0)])
def test_how_a_film_lies_is_judged_by_the_view_of_its_question(
    ingest: Ingest, release: Path, noon: datetime, view: str, turn: str, n_warnings: int
) -> None:
    path = release / "metadata" / "test.json"
    path.write_text(path.read_text().replace('"PA"', f'"{view}"'))
    bring_questions(release, "One", noon)
    film = make_dicom(ViewPosition=None, PatientOrientation=["R", "F"])
    (release / "deid_png" / "two" / "a.png").write_bytes(film)
    ingest(release / "deid_png" / "two")
    image = Image.objects.exclude(state=ImageState.PENDING).get()
    assert (image.turn, len(image.warnings)) == (turn, n_warnings)
