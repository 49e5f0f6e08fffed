"""A bank with images left out: written with what counts, and the same after it came in elsewhere or into itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from annotation.enums import QuestionState
from annotation.exports.bank_export import BankForm, Wordings
from annotation.models import Image, Question, QuestionBank, Revision, User
from annotation.questionbank.editing import current_revision
from tests.annotation.exports.test_bank_export import bring, edit, export
from tests.annotation.questionbank.files import make_record, run_import, write_file

pytestmark = pytest.mark.django_db

LISTS = {
    "ImagePath": ["2/pa.png", "2/lateral.png", "2/second.png"],
    "ImageViewPosition": ["PA", None],
    "ImageModality": ["DX", "DX", "CR"],
    "ImageShape": [[512, 420.5], None, [400, 300]],
}
RECORDS: dict[str, Any] = {
    "q1": make_record(1, exam=1),
    "q2": make_record(2, exam=1),
    "q3": make_record(3, exam=2, **LISTS),
    "q4": make_record(4, exam=2, **LISTS),
    "q5": make_record(5, exam=3, ImagePath=["../a/pa.png", "../a/./lateral.png"]),
    "q6": {
        **make_record(6, exam=4, ImagePath=..., ImageViewPosition=...),
        "image_path": ["4/pa.png", "4/lateral.png"],
        "frontal_lateral": ["Frontal", "Lateral"],
    },
}


def names_of(number: int, bank: str = "Bank") -> list[str]:
    images = Image.objects.filter(exam__questions__number=number, exam__questions__bank__name=bank)
    return list(images.order_by("position").values_list("public_id", flat=True))


def leave_out(number: int, cora: User, *places: int, **changes: Any) -> None:
    names = names_of(number)
    edit(number, cora, reason="Of no use", left_out=frozenset(names[place] for place in places), **changes)


def places_left_out(number: int, bank: str) -> list[int]:
    revision = current_revision(Question.objects.get(number=number, bank__name=bank))
    return [place for place, name in enumerate(names_of(number, bank)) if name in revision.left_out]


@pytest.fixture
def content(tmp_path: Path, cora: User) -> str:
    """The file of a bank of six questions, of which four leave an image out."""
    content = json.dumps(RECORDS)
    bring(tmp_path / "in/metadata/questions.json", content)
    leave_out(1, cora, 0)
    leave_out(3, cora, 0, 2, category="Other")
    leave_out(5, cora, 1)
    leave_out(6, cora, 0)
    as_imported()
    return content


def as_imported() -> None:
    """No record is marked as revised."""
    Question.objects.update(state=QuestionState.IMPORTED)


def test_the_lists_of_a_record_hold_what_counts(tmp_path: Path, content: str) -> None:
    told = json.loads(export(tmp_path / "out"))
    wanted = json.loads(content)
    wanted["q1"] |= {"ImagePath": ["1/lateral.png"], "ImageViewPosition": ["LATERAL"]}
    wanted["q1"]["images_left_out"] = [{"place": 1, "ImagePath": "1/pa.png", "ImageViewPosition": "PA"}]
    wanted["q3"] |= {"category": "Other", "ImagePath": ["2/lateral.png"], "ImageViewPosition": [None]}
    wanted["q3"] |= {"ImageModality": ["DX"], "ImageShape": [None]}
    first = {"ImagePath": "2/pa.png", "ImageViewPosition": "PA", "ImageModality": "DX", "ImageShape": [512, 420.5]}
    third = {"ImagePath": "2/second.png", "ImageModality": "CR", "ImageShape": [400, 300]}
    wanted["q3"]["images_left_out"] = [{"place": 1, **first}, {"place": 3, **third}]
    wanted["q5"] |= {"ImagePath": ["../a/pa.png"], "ImageViewPosition": ["PA"]}
    wanted["q5"]["images_left_out"] = [{"place": 2, "ImagePath": "../a/./lateral.png", "ImageViewPosition": "LATERAL"}]
    wanted["q6"] |= {"image_path": ["4/lateral.png"], "frontal_lateral": ["Lateral"]}
    wanted["q6"]["images_left_out"] = [{"place": 1, "image_path": "4/pa.png", "frontal_lateral": "Frontal"}]
    assert told == wanted
    rows = (tmp_path / "out/changes.csv").read_text().splitlines()
    assert rows[1] == "q1,images_left_out,,1/pa.png,Of no use,"
    assert "q3,images_left_out,,2/pa.png|2/second.png,Of no use," in rows


def test_as_imported_no_image_is_left_out(tmp_path: Path, content: str) -> None:
    assert json.loads(export(tmp_path / "before", wordings=Wordings.AS_IMPORTED)) == json.loads(content)
    assert "could not be written" not in (tmp_path / "before/card.md").read_text()


@pytest.mark.parametrize("form", list(BankForm))
def test_it_comes_in_elsewhere_with_what_counts_and_goes_out_the_same(
    tmp_path: Path, content: str, form: BankForm
) -> None:
    first = export(tmp_path / "metadata", form)
    result = run_import(tmp_path / "metadata" / form.file_name, bank="Again")
    assert (result.errors, result.counts.created) == ([], 6)
    assert [places_left_out(number, "Again") for number in range(1, 7)] == [[0], [], [0, 2], [], [1], [0]]
    assert export(tmp_path / "second", form, bank="Again") == first
    assert "could not be written" not in (tmp_path / "second/card.md").read_text()
    assert export(tmp_path / "third", form) == first
    again = run_import(tmp_path / "metadata" / form.file_name, bank="Again")
    assert again.counts.unchanged == 6


@pytest.mark.parametrize("form", [BankForm.REXVQA, BankForm.JSONL])
def test_it_comes_back_and_changes_nothing(tmp_path: Path, content: str, form: BankForm) -> None:
    file = tmp_path / "in/metadata" / f"corrected-{form.file_name}"
    file.write_bytes(export(tmp_path / "out", form))
    counts = run_import(file).counts
    assert (counts.updated, counts.unchanged, counts.images) == (0, 6, 0)
    assert run_import(tmp_path / "in/metadata/questions.json").counts.unchanged == 6


def test_another_choice_of_images_is_a_revision(tmp_path: Path, content: str, cora: User) -> None:
    run_import(
        write_file(tmp_path / "in/metadata", json.loads(export(tmp_path / "out")), "corrected.json"), bank="Again"
    )
    leave_out(1, cora, 1)
    file = write_file(tmp_path / "in/metadata", json.loads(export(tmp_path / "new")), "new.json")
    counts = run_import(file, bank="Again").counts
    assert (counts.updated, counts.unchanged) == (1, 5)
    assert places_left_out(1, "Again") == [1]
    leave_out(1, cora)
    as_imported()
    whole = json.loads(export(tmp_path / "whole"))
    assert whole["q1"] == RECORDS["q1"]


def test_an_edit_elsewhere_starts_from_what_came_in(tmp_path: Path, content: str, cora: User) -> None:
    first = export(tmp_path / "metadata")
    run_import(tmp_path / "metadata/questions.json", bank="Again")
    QuestionBank.objects.filter(name="Bank").update(name="Former")
    QuestionBank.objects.filter(name="Again").update(name="Bank")
    edit(1, cora, stem="Is there an effusion?")
    as_imported()
    file = write_file(tmp_path / "in/metadata", json.loads(export(tmp_path / "second")), "second.json")
    counts = run_import(file).counts
    assert (counts.updated, counts.unchanged) == (0, 6)
    before, after = json.loads(first), json.loads(file.read_text())
    assert after["q1"] == {**before["q1"], "question": "Is there an effusion?"}
    edit(1, cora, left_out=frozenset())
    as_imported()
    whole = json.loads(export(tmp_path / "third"))
    assert whole["q1"] == {**RECORDS["q1"], "question": "Is there an effusion?"}
    assert "q1,images_left_out,1/pa.png,," in (tmp_path / "third/changes.csv").read_text()


def test_an_image_that_only_another_record_names_is_in_the_list_of_changes(tmp_path: Path, cora: User) -> None:
    records = {"a": make_record(1), "b": make_record(2, ImagePath=["1/pa.png", "1/lateral.png", "1/oblique.png"])}
    run_import(write_file(tmp_path, records))
    leave_out(1, cora, 2)
    as_imported()
    assert json.loads(export(tmp_path / "out")) == records
    row = (tmp_path / "out/changes.csv").read_text().splitlines()[1]
    assert row == 'a,images_left_out,,"Image 3, which the file does not name",Of no use,'


BAD: list[tuple[Any, str]] = [
    ([{"place": 4, "ImagePath": "1/x.png"}, {"place": 1, "ImagePath": "1/pa.png"}], "names place 4"),
    ([{"place": 0, "ImagePath": "1/pa.png"}], "names place 0"),
    ([{"place": True, "ImagePath": "1/pa.png"}], "must be a list of objects"),
    ([{"place": 1, "ImageViewPosition": "PA"}], "must be a list of objects"),
    ([{"place": 1, "ImagePath": "1/pa.png", "question": "x"}], "must be a list of objects"),
    ([{"place": 1, "ImagePath": "1/lateral.png"}], "names an image twice"),
    ([{"place": 1, "ImagePath": "/etc/passwd"}], "leaves the folder"),
    ([{"place": 1, "ImagePath": "1/a.png"}, {"place": 1, "ImagePath": "1/b.png"}], "must be a list of objects"),
    ([{"place": 1, "image_path": "1/pa.png"}], "must be a list of objects"),
    ([{"place": 1, "ImagePath": ["1/pa.png"]}], "must be a list of objects"),
    ([{"place": 10**30, "ImagePath": "1/pa.png"}], "names place 1000"),
    ('[{"place": 1, "ImagePath": "1/pa.png", "ImageShape": [1]}]', "must be a list of objects"),
    ('[{"place": 1, "ImagePath": "\\ud800"}]', "half a surrogate"),
    ({"place": 1}, "must be a list of objects"),
    ("[", "must be a list of objects"),
    (7, "must be a list of objects"),
]


def test_a_bad_field_is_refused_with_its_place(tmp_path: Path) -> None:
    for left_out, told in BAD:
        record = make_record(1, ImagePath=["1/lateral.png"], ImageViewPosition=["LATERAL"], images_left_out=left_out)
        result = run_import(write_file(tmp_path, {"a": record}))
        assert not result.stored
        assert told in result.errors[0].message, left_out
        assert result.errors[0].field in ("images_left_out", "ImagePath")
    assert not Question.objects.exists()


def test_one_image_has_to_count(tmp_path: Path) -> None:
    left_out = [{"place": 1, "ImagePath": "1/pa.png"}]
    [one] = run_import(write_file(tmp_path, {"a": make_record(1, ImagePath=[], images_left_out=left_out)})).errors
    assert (one.field, one.message) == ("images_left_out", "At least one image of a question must count.")


def test_an_empty_field_leaves_nothing_out(tmp_path: Path) -> None:
    records = {"a": make_record(1, images_left_out=[]), "b": make_record(2, images_left_out=None)}
    run_import(write_file(tmp_path, records))
    assert not Revision.objects.exclude(images_left_out=None).exists()
    assert json.loads(export(tmp_path / "out")) == records
