"""manage.py export_responses."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.exports.tables import Format
from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.exports.exporting import StudyTable, columns_of
from readerstudy.models import ReaderStudy
from tests.readerstudy.exports.read_study import read_study, void


@pytest.fixture
def study(rita: User, remo: User) -> ReaderStudy:
    study = read_study(rita, remo, state=StudyState.CLOSED)
    void(study.cases.filter(block="main")[0])
    return study


def export(path: Path, *more: str, form: str = "csv") -> None:
    call_command("export_responses", "--study", "trial", "--format", form, "--output", str(path), *more, verbosity=0)


@pytest.mark.parametrize("form", list(Format))
def test_a_file_and_its_codebook_the_same_each_time(study: ReaderStudy, form: Format, tmp_path: Path) -> None:
    path = tmp_path / f"answers.{form.value}"
    export(path, form=form.value)
    first = path.read_bytes()
    export(path, form=form.value)
    assert path.read_bytes() == first
    with (tmp_path / "answers.codebook.csv").open(encoding="utf-8-sig") as file:
        named = [row["column"] for row in csv.DictReader(file)]
    assert named == [column.name for column in columns_of(study, StudyTable.RESPONSES)]
    assert len(list(tmp_path.iterdir())) == 2


def test_into_a_folder_go_all_tables(study: ReaderStudy, tmp_path: Path) -> None:
    export(tmp_path)
    expected = {f"{table.value}{end}" for table in StudyTable for end in (".csv", ".codebook.csv")}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_one_table_by_its_name(study: ReaderStudy, tmp_path: Path) -> None:
    export(tmp_path / "v.csv", "--table", "voidings")
    with (tmp_path / "v.csv").open(encoding="utf-8-sig") as file:
        assert [row["reason"] for row in csv.DictReader(file)] == ["two keys are right"]


def test_answers_of_an_open_study_need_a_reason(study: ReaderStudy, tmp_path: Path) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    for more in ((), ("--table", "events"), ("--before-closing", "why not")):
        with pytest.raises(CommandError, match="--before-closing") as refusal:
            export(tmp_path / "a.csv", *more)
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
    export(tmp_path / "o.csv", "--table", "orders")
    export(tmp_path / "a.csv", "--before-closing", "the sponsor asks for it now")
    assert AuditEvent.objects.get(act="study.glass_broken").facts["reason"] == "the sponsor asks for it now"
    assert "correct" not in (tmp_path / "a.csv").read_text().splitlines()[0]


@pytest.mark.parametrize("state", [StudyState.CLOSED, StudyState.ANALYSED])
def test_own_ids_of_a_study_that_is_over(study: ReaderStudy, tmp_path: Path, state: StudyState) -> None:
    ReaderStudy.objects.update(state=StudyState.OPEN)
    with pytest.raises(CommandError, match="not closed yet"):
        export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    assert not list(tmp_path.iterdir())
    ReaderStudy.objects.update(state=state)
    export(tmp_path / "o.csv", "--table", "orders", "--source-ids")
    for name in ("o.csv", "o.codebook.csv"):
        assert "source_id" in (tmp_path / name).read_text()


def test_what_cannot_be_is_refused_with_status_2(study: ReaderStudy, tmp_path: Path) -> None:
    for study_name, path in (("nowhere", tmp_path / "a.csv"), ("trial", tmp_path / "missing" / "a.csv")):
        with pytest.raises(CommandError) as refusal:
            call_command("export_responses", "--study", study_name, "--format", "csv", "--output", str(path))
        assert refusal.value.returncode == 2
    assert not list(tmp_path.iterdir())
