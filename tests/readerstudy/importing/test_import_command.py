"""manage.py import_responses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy, Response
from tests.readerstudy.studies import make_study

HEADER = "reader,case,option,state\n"
WORDS = "read 2 created {} unchanged {} new readers {}"


@pytest.fixture
def study(db: None) -> ReaderStudy:
    return make_study("Old", n_cases=2, state=StudyState.CLOSED)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "old.csv"
    path.write_text(HEADER + "Reader 1,1,B,answered\nReader 1,2,A,answered\n")
    return path


def told(*arguments: str) -> str:
    out = io.StringIO()
    call_command("import_responses", *arguments, "--study", "old", stdout=out)
    return out.getvalue()


def test_it_says_what_it_did_and_the_second_time_that_nothing_changed(study: ReaderStudy, file: Path) -> None:
    assert " ".join(told(str(file)).split()) == "Study old: read 2 created 2 unchanged 0 new readers 1"
    assert " ".join(told(str(file)).split()) == "Study old: read 2 created 0 unchanged 2 new readers 0"


def test_a_dry_run_as_json(study: ReaderStudy, file: Path) -> None:
    result = json.loads(told(str(file), "--dry-run", "--json"))
    assert (result["created"], result["stored"], result["dry_run"], result["errors"]) == (2, False, True, [])
    assert not Response.objects.exists()


def test_refused_rows_are_named_with_status_2(
    study: ReaderStudy, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(HEADER + "Reader 1,1,B,answered\n" + "Reader 1,7,B,answered\n" * 30)
    out = io.StringIO()
    with pytest.raises(CommandError, match="Nothing was stored") as refusal:
        call_command("import_responses", str(file), "--study", "old", "--json", stdout=out)
    assert refusal.value.returncode == 2
    result = json.loads(out.getvalue())
    assert (result["rejected"], result["created"], result["stored"], len(result["errors"])) == (30, 0, False, 30)
    shown = capsys.readouterr().err
    assert "row 3, case: The study has no case '7' in its main block." in shown
    assert "10 more" in shown


def test_no_study_and_no_file(study: ReaderStudy, file: Path, tmp_path: Path) -> None:
    for arguments in ((str(file), "--study", "new"), (str(tmp_path / "gone.csv"), "--study", "old")):
        with pytest.raises(CommandError) as refusal:
            call_command("import_responses", *arguments)
        assert refusal.value.returncode == 2


def test_a_file_whose_name_is_no_text(study: ReaderStudy, file: Path) -> None:
    """A name from an old archive is bytes that no database holds."""
    told(str(file.rename(file.with_name("t\udcfcr.csv"))))
    assert Response.objects.earliest("pk").source.startswith("t?r.csv sha256:")


def test_what_came_in_goes_out_again(study: ReaderStudy, file: Path, tmp_path: Path) -> None:
    told(str(file))
    path = tmp_path / "out.csv"
    call_command("export_responses", "--study", "old", "--format", "csv", "--output", str(path), verbosity=0)
    with path.open(newline="") as text:
        rows = [(r["reader"], r["case"], r["option"], r["correct"], r["source"]) for r in csv.DictReader(text)]
    assert [row[:4] for row in rows] == [("Reader 1", "1", "B", "true"), ("Reader 1", "2", "A", "false")]
    assert rows[0][4].startswith("old.csv sha256:")
