from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from annotation.enums import Difficulty, Sex, Task, ViewPosition
from annotation.files.kernels.strictjson import Entry
from annotation.questionbank.importing import images_root
from annotation.questionbank.kernels.records import (
    QuestionRecord,
    RecordProblem,
    RecordReader,
    RecordRules,
    read_batches,
)
from tests.annotation.questionbank.files import make_record


def check(record: Any, key: str = "q1", **rules: Any) -> tuple[QuestionRecord | None, list[RecordProblem]]:
    return RecordReader(RecordRules(**rules)).read(Entry(key, record, ()))


def refusals(record: Any, **rules: Any) -> list[tuple[str, str]]:
    read, problems = check(record, **rules)
    assert (read is None) == bool(problems)
    assert all(problem.key == "q1" and problem.message.endswith(".") for problem in problems)
    return [(problem.field, problem.code) for problem in problems]


def accepted(record: Any, **rules: Any) -> QuestionRecord:
    read, problems = check(record, **rules)
    assert problems == []
    assert read is not None
    return read


def test_a_good_record() -> None:
    read = accepted(make_record())
    assert read.options == ["Yes, on the left", "No", "Yes, on the right", "On both sides"]
    assert (read.answer, read.task, read.difficulty) == ("B", Task.PRESENCE, Difficulty.UNKNOWN)
    assert (read.exam.age_years, read.exam.sex) == (58, Sex.FEMALE)
    assert read.exam.images == (("1/pa.png", ViewPosition.PA), ("1/lateral.png", ViewPosition.LATERAL))
    assert read.exam.report == ("", "", "No effusion.", "")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"question": ...}, ("question", "schema")),
        ({"category": ...}, ("category", "schema")),
        ({"correct_answer": ...}, ("correct_answer", "schema")),
        ({"ImagePath": ...}, ("ImagePath", "schema")),
        ({"study_id": ..., "StudyInstanceUid": ...}, ("study_id", "schema")),
        ({"question": None}, ("question", "completeness")),
        ({"question": " \n"}, ("question", "completeness")),
        ({"options": None}, ("options", "completeness")),
        ({"options": ["A. x", "B. ", "C. y", "D. z"]}, ("options", "completeness")),
        ({"correct_answer": ""}, ("correct_answer", "completeness")),
        ({"ImagePath": []}, ("ImagePath", "completeness")),
        ({"question": 7}, ("question", "data_type")),
        ({"options": "abcd"}, ("options", "data_type")),
        ({"options": ["a", "b", "c", 4]}, ("options", "data_type")),
        ({"correct_answer": True}, ("correct_answer", "data_type")),
        ({"correct_answer": 1.0}, ("correct_answer", "data_type")),
        ({"category": ["x"]}, ("category", "data_type")),
        ({"PatientAge": [58]}, ("PatientAge", "data_type")),
        ({"Findings": {}}, ("Findings", "data_type")),
        ({"ImageViewPosition": 3}, ("ImageViewPosition", "data_type")),
        ({"options": ["a", "b", "c"]}, ("options", "format")),
        ({"options": ["A. a", "B. b", "C. c", "d"]}, ("options", "format")),
        ({"correct_answer_explanation": "Too short."}, ("correct_answer_explanation", "format")),
        ({"difficulty": "brutal"}, ("difficulty", "format")),
        ({"ImagePath": ["a.png", "a.png"]}, ("ImagePath", "format")),
        ({"task_name": "Counting"}, ("task_name", "unknown_task")),
        ({"options": ["A. Yes", "B. No", "C.  no ", "D. Maybe"]}, ("options", "duplicate_options")),
        ({"correct_answer": "E"}, ("correct_answer", "key_outside_options")),
        ({"correct_answer": 4}, ("correct_answer", "key_outside_options")),
        ({"correct_answer": -1}, ("correct_answer", "key_outside_options")),
        ({"ImagePath": ["../../etc/passwd"]}, ("ImagePath", "path_outside_root")),
        ({"question": "x" * 20_001}, ("question", "too_long")),
        ({"more": [[[[[[[[[1]]]]]]]]]}, ("more", "too_deep")),
    ],
)
def test_each_fault_has_its_field_and_code(changes: dict[str, Any], found: tuple[str, str]) -> None:
    assert refusals(make_record(**changes)) == [found]


def test_every_problem_of_a_record_is_told() -> None:
    broken = make_record(question="", correct_answer="Z", ImagePath=["/a"], task_name=None, PatientSex=None)
    assert {field for field, _code in refusals(broken)} == {"question", "correct_answer", "ImagePath", "task_name"}


def test_what_is_not_an_object_is_refused() -> None:
    assert refusals("text") == [("", "schema")]


def test_unknown_views_null_ages_and_short_lists_are_accepted() -> None:
    read = accepted(make_record(ImageViewPosition=[None], PatientAge=None, PatientSex=None, category=None))
    assert [view for _path, view in read.exam.images] == [ViewPosition.UNKNOWN, ViewPosition.UNKNOWN]
    assert (read.exam.age_years, read.exam.sex, read.category) == (None, Sex.UNKNOWN, "")


@pytest.mark.parametrize(("answer", "letter"), [("c", "C"), (" D. ", "D"), (0, "A"), (3, "D")])
def test_keys_as_letter_or_index(answer: object, letter: str) -> None:
    assert accepted(make_record(correct_answer=answer)).answer == letter


def test_a_side_file_wins_over_the_record() -> None:
    record = make_record(difficulty="hard")
    assert accepted(record).difficulty is Difficulty.HARD
    assert accepted(record, difficulties={"q1": Difficulty.EASY}).difficulty is Difficulty.EASY
    assert accepted(record, difficulties={"other": Difficulty.EASY}).difficulty is Difficulty.HARD


def test_the_shortest_explanation_can_be_set() -> None:
    record = make_record(correct_answer_explanation="Too short.")
    assert refusals(record, min_explanation=10) == []


def private_form(**changes: Any) -> dict[str, Any]:
    usual = make_record(**changes)
    names = {"ImagePath": "image_path", "Findings": "section_findings", "Impression": "section_impression"}
    names |= {"ImageViewPosition": "frontal_lateral"}
    return {names.get(name, name): value for name, value in usual.items()}


def test_the_private_test_form_is_the_same_record_and_may_lack_answers() -> None:
    read = accepted(private_form())
    assert (read.answer, read.exam.report[2], len(read.exam.images)) == ("B", "No effusion.", 2)
    without = private_form(correct_answer=..., correct_answer_explanation=..., category=...)
    assert accepted(without).answer == ""
    assert refusals(make_record(correct_answer=...)) == [("correct_answer", "schema")]


def test_a_model_prediction_is_left_out() -> None:
    read = accepted(make_record(model_prediction="Surely C"))
    assert "Surely" not in read.extra
    assert refusals(make_record(model_prediction="C", correct_answer=...)) == [("correct_answer", "schema")]


def test_what_no_column_gives_back_is_kept_and_old_ages_are_not() -> None:
    read = accepted(make_record(validation_code=1, StudyDate=20200102, PatientAge="097Y", correct_answer=1))
    extra = json.loads(read.extra)
    assert extra["fields"] == {"validation_code": 1}
    assert extra["exam"]["StudyDate"] == 20200102
    assert extra["exam"]["PatientAge"] == "090Y"
    assert extra["form"] == {"key": "index"}


def test_the_content_hash_sees_every_change_but_the_order_of_fields() -> None:
    record = make_record()
    same = accepted(dict(reversed(record.items()))).content_sha256
    assert same == accepted(record).content_sha256
    changes = (
        {"question": "Is there one?"}, {"correct_answer": "A"}, {"Findings": "Effusion."}, {"category": "Heart"},
        {"ImagePath": ["1/pa.png"]}, {"PatientAge": "059Y"}, {"new_field": 1}, {"ImageViewPosition": ["AP", None]},
        {"options": ["A. Yes", "B. No", "C. Yes, on the right", "D. On both sides"]},
    )  # fmt: skip
    hashes = {accepted(make_record(**change)).content_sha256 for change in changes}
    assert len(hashes | {same}) == len(changes) + 1


def test_neighbours_of_one_exam_share_it_and_true_is_not_one() -> None:
    reader = RecordReader(RecordRules())
    first, _none = reader.read(Entry("1", make_record(StudyDate=1), ()))
    second, _none = reader.read(Entry("2", make_record(2, StudyDate=1), ()))
    third, _none = reader.read(Entry("3", make_record(3, StudyDate=True), ()))
    assert first is not None
    assert second is not None
    assert third is not None
    assert first.exam is second.exam
    assert third.exam is not second.exam


@pytest.mark.parametrize(
    ("folder", "root", "inside"),
    [("/data/set", "/data/set", ""), ("/data/set/metadata", "/data/set", "metadata"), ("/metadata", "/", "metadata")],
)
def test_the_root_of_the_images(folder: str, root: str, inside: str) -> None:
    assert images_root(folder) == (root, inside)


def hostile_rows() -> list[Any]:
    manifest = Path(__file__).resolve().parents[4] / "shared/data/hostile/MANIFEST.csv"
    if not manifest.is_file():
        return [pytest.param("", "", marks=pytest.mark.skip("the sample data is not on this machine"))]
    with manifest.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "json" and not row["file"].startswith("(")]
    return [pytest.param(row["file"], row["expect"], id=row["file"]) for row in rows]


@pytest.mark.parametrize(("name", "expect"), hostile_rows())
def test_hostile_files_behave_as_their_row_says(name: str, expect: str, shared_data: Path) -> None:
    with (shared_data / "hostile" / name).open("rb") as stream:
        batches = list(read_batches(stream, RecordRules(), size=2_000))
    problems = [problem for batch in batches for problem in batch.problems]
    accepts = sum(len(batch.questions) for batch in batches) > 0 and not problems
    if expect == "reject":
        assert not accepts
    elif expect.startswith("accept"):
        assert accepts
    assert all(problem.code and problem.message for problem in problems)


def test_the_sample_files_are_good(shared_data: Path) -> None:
    counts = {}
    for name, folder in (("rexvqa_sample.json", ""), ("rexvqa_release_layout/metadata/test_vqa_data.json", "metadata")):
        with (shared_data / name).open("rb") as stream:
            (batch, *_rest) = read_batches(stream, RecordRules(folder), size=2_000)
        assert batch.problems == []
        pairs = sum(len(row.exam.images) == 2 for row in batch.questions)
        counts[name] = (len(batch.questions), len({row.exam.key for row in batch.questions}), pairs)
    assert list(counts.values()) == [(124, 40, 42), (8, 3, 3)]
