"""manage.py export_report: a folder, and when it refuses."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEvent, User
from readerstudy.enums import StudyState
from readerstudy.models import ReaderStudy
from tests.readerstudy.exports.read_study import void
from tests.readerstudy.report.made import reported_analysis, reported_study

pytestmark = pytest.mark.usefixtures("few_figures")
REASON = "The funder asks for an interim look."


def test_a_folder_of_the_newest_analysis_and_the_study_is_unblinded(rita: User, remo: User, tmp_path: Path) -> None:
    analysis = reported_analysis(rita, remo)
    out = StringIO()
    call_command("export_report", "trial", "--output", str(tmp_path / "report"), stdout=out)
    assert f"files of analysis {analysis.public_id} of “Trial”" in out.getvalue()
    assert (tmp_path / "report" / "analysis.json").read_text() == analysis.result
    assert (tmp_path / "report" / "data" / "ratings.csv").is_file()
    assert ReaderStudy.objects.get().unblinded_at is not None
    named = ("export_report", "Trial", "--output", str(tmp_path / "named"), "--analysis", analysis.public_id)
    call_command(*named, stdout=StringIO())
    first, second = ((tmp_path / name / "SHA256SUMS").read_bytes() for name in ("report", "named"))
    assert first == second


def test_what_is_refused_writes_nothing(rita: User, remo: User, tmp_path: Path) -> None:
    analysis = reported_analysis(rita, remo)
    target = tmp_path / "report"

    def refused(*more: str, match: str, folder: Path = target) -> None:
        with pytest.raises(CommandError, match=match) as refusal:
            call_command("export_report", "trial", "--output", str(folder), *more, stdout=StringIO())
        assert refusal.value.returncode == 2
        assert ReaderStudy.objects.get().unblinded_at is None

    refused("--analysis", "nothing", match=f"Analyses: {analysis.public_id}")
    refused(match="cannot become one", folder=tmp_path / "no" / "folder")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "old.txt").write_text("x")
    refused(match="not empty", folder=tmp_path / "full")
    void(analysis.study.cases.get(block="main", number=4))
    refused(match="stale.*Nothing was written")
    assert not target.exists()


def test_without_an_analysis_it_says_what_to_run(rita: User, remo: User, tmp_path: Path) -> None:
    reported_study(rita, remo)
    with pytest.raises(CommandError, match="run analyse_study trial first"):
        call_command("export_report", "trial", "--output", str(tmp_path / "report"))


def test_before_closing_it_needs_a_reason_that_is_kept(rita: User, remo: User, tmp_path: Path) -> None:
    reported_analysis(rita, remo, state=StudyState.OPEN)
    with pytest.raises(CommandError, match="until the study is closed"):
        call_command("export_report", "trial", "--output", str(tmp_path / "report"))
    assert not (tmp_path / "report").exists()
    call_command(
        "export_report", "trial", "--output", str(tmp_path / "report"), "--before-closing", REASON, stdout=StringIO()
    )
    assert AuditEvent.objects.get(act="study.glass_broken").facts["reason"] == REASON
