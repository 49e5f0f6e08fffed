from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Question, QuestionBank, Revision, SourceIdentifier
from tests.annotation.questionbank.files import make_record, write_file

pytestmark = pytest.mark.django_db


def run(*arguments: object, **options: Any) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("import_questions", *map(str, arguments), stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


def refused(*arguments: object) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_questions", *map(str, arguments), stdout=out, stderr=err)
    assert caught.value.returncode == 2
    return out.getvalue(), err.getvalue() + str(caught.value)


def test_the_bank_is_named_after_the_file(tmp_path: Path) -> None:
    out, _err = run(write_file(tmp_path, {"q1": make_record()}, "valid_vqa_data.json"))
    assert QuestionBank.objects.get().name == "valid_vqa_data"
    assert "created" in out


def test_the_json_result(tmp_path: Path) -> None:
    out, _err = run(write_file(tmp_path, {"q1": make_record()}), "--bank", "Chest", "--json")
    result = json.loads(out)
    assert list(result) == [
        *("bank", "read", "created", "updated", "unchanged", "rejected", "exams", "images", "errors")
    ]
    assert result == {
        "bank": "Chest",
        "read": 1,
        "created": 1,
        "updated": 0,
        "unchanged": 0,
        "rejected": 0,
        "exams": 1,
        "images": 2,
        "errors": [],
    }


def test_a_refused_record_exits_with_2_and_says_where_and_why(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"q1": make_record(), "q2": make_record(2, correct_answer="E")})
    out, err = refused(path, "--json")
    assert json.loads(out)["errors"][0].keys() == {"key", "field", "code", "message"}
    assert "q2: correct_answer" in err
    assert "Nothing was stored" in err
    assert not QuestionBank.objects.exists()


def test_skip_refused_stores_the_rest_and_lists_what_is_left_out(tmp_path: Path) -> None:
    path = write_file(tmp_path, {"q1": make_record(), "q2": make_record(2, correct_answer="E")})
    _out, err = refused(path, "--skip-refused")
    assert "left out" in err
    assert Question.objects.count() == 1


def test_dry_run(tmp_path: Path) -> None:
    out, _err = run(write_file(tmp_path, {"q1": make_record()}), "--dry-run")
    assert "would happen" in out
    assert not Question.objects.exists()


def test_another_root_for_the_images(tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    path = write_file(tmp_path / "elsewhere", {"q1": make_record(ImagePath=["../deid_png/a.png", "../deid_png/b.png"])})
    path.rename(tmp_path / "elsewhere" / "q.json")
    run(tmp_path / "elsewhere" / "q.json", "--images-root", tmp_path / "images")
    row = SourceIdentifier.objects.get(value="deid_png/a.png")
    assert row.root == (tmp_path / "images").as_posix()


@pytest.mark.parametrize("folder", ["metadata", "questions", "", "elsewhere/deep"])
def test_a_file_as_downloaded_goes_in_from_any_folder(tmp_path: Path, folder: str) -> None:
    """Its paths go up one folder, to the root of the release; in a folder beside the images that is where they are."""
    (tmp_path / "deid_png").mkdir()
    run(write_file(tmp_path / folder, {"q1": make_record(ImagePath=["../deid_png/a.png", "../deid_png/b.png"])}))
    [row] = SourceIdentifier.objects.filter(value="deid_png/a.png")
    assert row.root == (tmp_path / "elsewhere/deep" if folder.startswith("else") else tmp_path).as_posix()


@pytest.mark.parametrize("path", ["../../a.png", "../deid_png/../../a.png", "/deid_png/a.png"])
def test_what_leaves_the_root_is_refused_in_any_folder(tmp_path: Path, path: str) -> None:
    for folder in ("metadata", "elsewhere"):
        _out, err = refused(write_file(tmp_path / folder, {"q1": make_record(ImagePath=[path, "../b.png"])}))
        assert "path_outside_root" in err


def test_a_side_file_of_difficulties(tmp_path: Path) -> None:
    side_file = tmp_path / "d.csv"
    side_file.write_text("id,difficulty\nq1,hard\n", encoding="utf-8")
    run(write_file(tmp_path, {"q1": make_record()}), "--difficulty", side_file)
    assert Revision.objects.get().difficulty == "hard"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["missing.json"], "is not a file"),
        (["q.json", "--difficulty", "missing.csv"], "is not a file"),
        (["q.json", "--images-root", "missing"], "is not a folder"),
        (["q.json", "--bank", "x" * 201], "1 to 200"),
        (["q.json", "--min-explanation", "-1"], "from 0 up"),
        (["q.json", "--difficulty", "q.json"], "line 1"),
    ],
)
def test_bad_input_is_told_and_stores_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path, {"q1": make_record()}, "q.json")
    _out, err = refused(*arguments)
    assert told in err
    assert not QuestionBank.objects.exists()


def test_hostile_files_store_nothing(shared_data: Path) -> None:
    for name in ("answer_index_4", "dup_key_correct_answer", "nan", "lone_surrogate", "nul_escape", "image_traversal"):
        refused(shared_data / "hostile/json" / f"{name}.json")
    assert not QuestionBank.objects.exists()
