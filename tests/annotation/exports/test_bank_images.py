"""Images and decisions in an exported bank: what is written, what is counted, what stays."""

from __future__ import annotations

import io
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from PIL import Image as Picture

from annotation.enums import ImageState, QuestionState
from annotation.imaging.kernels.rendering import png_of
from annotation.models import Image, Question, QuestionBank, Settlement, SourceIdentifier, User
from annotation.review.ending import complete_reviews
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.images.test_uploads import png
from tests.annotation.questionbank.files import make_record, run_import, write_file

pytestmark = pytest.mark.django_db


@pytest.fixture
def chest(tmp_path: Path) -> Path:
    """Two exams of two images: three came in, of which one waits in quarantine. Gives the folder of the files."""
    files = tmp_path / "files"
    run_import(write_file(files, {f"q{n}": make_record(n, exam=n) for n in (1, 2)}), bank="Chest")
    for number, path in enumerate(("1/pa.png", "1/lateral.png", "2/pa.png")):
        (files / path).parent.mkdir(exist_ok=True)
        (files / path).write_bytes(png(number))
    call_command("ingest_images", str(files), verbosity=0)
    held = SourceIdentifier.objects.get(kind="image_path", value="2/pa.png").image_id
    Image.objects.filter(pk__in=filter(None, [held])).update(state=ImageState.QUARANTINED)
    Image.objects.filter(state=ImageState.AVAILABLE).update(attribution="A. Author", licence="CC BY 4.0")
    return files


def test_available_images_are_written_under_the_paths_of_their_questions(chest: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    call_command("export_questions", bank="Chest", form="rexvqa", output=str(out), images="images", verbosity=0)
    written = sorted(path.relative_to(out / "images").as_posix() for path in out.glob("images/*/*"))
    assert written == ["1/lateral.png", "1/pa.png"]
    for path in written:
        with Picture.open(out / "images" / path) as mine, Picture.open(chest / path) as theirs:
            assert np.array_equal(np.asarray(mine), np.asarray(theirs.convert(mine.mode)))
    card = (out / "card.md").read_text()
    assert "written: 2, in quarantine: 1, missing or removed: 1" in card
    assert "| A. Author | CC BY 4.0 | 2 |" in card


def test_another_folder_for_the_images_has_to_be_empty(chest: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "old").touch()
    arguments = {"bank": "Chest", "form": "rexvqa", "output": str(tmp_path / "out"), "images": str(other)}
    with pytest.raises(CommandError, match="not empty"):
        call_command("export_questions", **arguments)
    assert not (tmp_path / "out").exists()
    (other / "old").unlink()
    call_command("export_questions", **arguments, verbosity=0)
    assert (other / "1" / "pa.png").is_file()


@pytest.mark.parametrize(("bits", "mode"), [(8, "L"), (12, "I;16")])
def test_a_picture_keeps_its_depth_and_has_white_bones(bits: int, mode: str) -> None:
    payload = np.array([[0, 1], [5, (1 << bits) - 1]], np.uint16)
    for is_inverted in (False, True):
        with Picture.open(io.BytesIO(png_of(payload, bits=bits, is_inverted=is_inverted))) as picture:
            assert picture.mode == mode
            wanted = (1 << bits) - 1 - payload.astype(int) if is_inverted else payload
            assert np.array_equal(np.asarray(picture), wanted)


@pytest.mark.usefixtures("without_pixels")
def test_the_card_tells_decisions_with_their_intervals_and_the_rule(
    tmp_path: Path, cora: User, rita: User, remo: User, noon: datetime
) -> None:
    made = make_reviewed(cora, rita, remo)
    complete_reviews(made, actor=cora, at=noon, confirmed_open=N_OPEN)
    bank = QuestionBank.objects.get()
    call_command("export_questions", bank=bank.slug, form="jsonl", output=str(tmp_path / "out"), verbosity=0)
    card = (tmp_path / "out" / "card.md").read_text()
    Question.objects.filter(state=QuestionState.ACCEPTED).update(state=QuestionState.REJECTED)  # in a later round
    Settlement.objects.filter(outcome=QuestionState.ACCEPTED).update(outcome=QuestionState.REJECTED)
    call_command("export_questions", bank=bank.slug, form="jsonl", output=str(tmp_path / "later"), verbosity=0)
    later = (tmp_path / "later" / "card.md").read_text()
    assert "| rejected | 1 of 1 |" in later, "what stayed back was decided all the same: 0 rejected would be false"
    assert "## Stayed back\n\n| state | questions |\n| --- | ---: |\n| disputed | 2 |" in card
    assert "| accepted | 1 of 1 | 100.0% | 20.7% to 100.0% |" in card
    assert "Rules of settling: settling-1." in card
    assert "questions: 2 of 4 in the bank" in card
