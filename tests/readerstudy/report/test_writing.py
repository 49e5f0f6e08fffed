"""The folder of a report: what is in it, what the study says of it, and the same bytes for the same study."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import zipfile
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from pytest_django import DjangoDbBlocker
from pytest_django.fixtures import Settings as SiteSettings

from annotation.exports.kernels import recompute
from annotation.exports.report_files import SCRIPT, zip_folder
from annotation.models import AuditEvent, User
from readerstudy.analysis.kernels.scoring import Settings
from readerstudy.design.kernels.documents import Rules
from readerstudy.enums import StudyState
from readerstudy.exports import report_writing
from readerstudy.exports.report_job import path_of
from readerstudy.exports.report_writing import make_report, write_report
from readerstudy.models import Analysis, Enrolment, ReaderStudy, Reading, Remark
from readerstudy.study.permissions import StudyRefused
from tests.annotation.exports.stopped import Stopped, counted, stopped_before
from tests.annotation.review.cases import NOON
from tests.conftest import make_person
from tests.readerstudy.analysis.made import analyse_by
from tests.readerstudy.exports.read_study import void
from tests.readerstudy.report.made import HOSTILE, QUICK, reported_analysis, reported_study
from tests.readerstudy.report.oracle import differences
from tests.refusals import refuses

pytestmark = pytest.mark.usefixtures("few_figures")


def analysed(rita: User, remo: User) -> Analysis:
    return reported_analysis(rita, remo, simulated=True, protocol='{"study":"Trial"}', keys_salt="salt")


@pytest.fixture
def analysis(rita: User, remo: User) -> Analysis:
    return analysed(rita, remo)


@pytest.fixture(scope="module")
def folder(django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One report, whose rows are gone again: what takes it reads files alone."""
    folder = tmp_path_factory.mktemp("report")
    with django_db_blocker.unblock(), transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_writing, "figures_of", lambda _result: [])
        write_report(analysed(make_person("Rita"), make_person("Remo")), folder)
        transaction.set_rollback(True)
    return folder


def table(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / name).read_text(encoding="utf-8"), newline="")))


def test_every_file_is_named_in_the_readme_and_in_the_sums(folder: Path) -> None:
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = (line.partition("  ") for line in (folder / "SHA256SUMS").read_text().splitlines())
    sums = {name: said for said, _space, name in lines}
    assert sorted([*sums, "SHA256SUMS"]) == names
    for name, said in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == said
    readme = (folder / "README.txt").read_text()
    for name in names:
        if name.endswith((".codebook.csv", "README.txt")) or name.startswith(("flow.", "figures/")):
            continue
        assert name in readme or name.endswith(".tex"), name
    assert SCRIPT.name in names


def test_its_numbers_are_found_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert differences(folder) == []
    assert recompute.main(folder) == 0, capsys.readouterr().out


def test_a_report_with_best_guesses(rita: User, remo: User, tmp_path: Path) -> None:
    """One case declined, its guess right: the script finds both accuracies, and the codebook names the column."""
    study = reported_study(rita, remo, rules=Rules(cannot_tell=True))
    declined = Reading.objects.get(enrolment__pseudonym="R1", responses__state="declined")
    Remark.objects.create(reading=declined, kind="guess", value="B", key="guess", at=NOON)
    write_report(analyse_by(QUICK, study, at=NOON), tmp_path)
    assert differences(tmp_path) == []
    assert recompute.main(tmp_path) == 0
    rows = {one["measure"]: one for one in table(tmp_path, "tables/accuracy.csv") if _is_of_first_reader(one)}
    reader, guessed = rows["accuracy"], rows["accuracy_best_guess"]
    assert float(guessed["value"]) * float(guessed["n"]) == float(reader["value"]) * float(reader["n"]) + 1
    assert (guessed["n"], guessed["method"], guessed["n_guessed"]) == (reader["n"], "wilson", "1")
    assert [row["best_guess"] for row in table(tmp_path, "data/ratings.csv") if row["state"] == "declined"] == ["B"]
    assert [row["best_guess"] for row in table(tmp_path, "data/responses.csv") if row["state"] == "declined"] == ["B"]
    assert "best_guess" in (tmp_path / "data" / "ratings.codebook.csv").read_text()


def _is_of_first_reader(row: dict[str, str]) -> bool:
    return (row["rater"], row["panel"]) == ("R1", "All tasks")


def test_the_analysis_and_the_protocol_are_there_byte_for_byte(tmp_path: Path, analysis: Analysis) -> None:
    write_report(analysis, folder := tmp_path)
    stored = (folder / "analysis.json").read_bytes()
    assert stored.decode() == analysis.result
    assert hashlib.sha256(stored).hexdigest() == analysis.result_sha256
    assert (folder / "protocol.json").read_text() == '{"study":"Trial"}'
    assert (folder / "protocol.sha256").read_text() == f"{analysis.study.protocol_sha256}  protocol.json\n"
    assert json.loads((folder / "protocol_opening.json").read_text())["salt"] == "salt"


def test_numbers_of_sensitivity_analyses_stand_beside_the_studys_own(analysis: Analysis, tmp_path: Path) -> None:
    """Labelled, with the accuracy that they found; their own reports hold none of others."""
    chosen = Settings(**{**QUICK.as_json(), "failed_in_accuracy": "exclude"})
    other = analyse_by(QUICK, analysis.study, at=NOON, chosen=chosen)
    for place, one in (("own", analysis), ("other", other)):
        (tmp_path / place).mkdir()
        write_report(one, tmp_path / place)
    assert not (tmp_path / "other/tables/sensitivity.csv").exists()
    rows = table(tmp_path / "own", "tables/sensitivity.csv")
    whose = {(row["analysis"], row["differs"]) for row in rows}
    assert whose == {(other.public_id, "failed extractions left out of accuracy")}
    assert all("settings_differ" in row["flags"] for row in rows)
    shares = {row["first"]: row["value"] for row in rows if row["statistic"] == "accuracy"}
    of_other = table(tmp_path / "other", "tables/accuracy.csv")
    assert shares == {
        row["rater"]: row["value"] for row in of_other if (row["panel"], row["measure"]) == ("All tasks", "accuracy")
    }
    assert "difference" in {row["statistic"] for row in rows}


def test_data_hold_pseudonyms_and_no_names(folder: Path) -> None:
    everything = b"".join(path.read_bytes() for path in folder.rglob("*.*") if path.suffix in (".csv", ".txt", ".tex"))
    assert b"Rita" not in everything
    assert b"rita@" not in everything
    assert {row["reader"] for row in table(folder, "data/responses.csv")} == {"R1", "R2"}


def test_predictions_of_every_run_and_case(folder: Path) -> None:
    rows = table(folder, "data/predictions.csv")
    assert len(rows) == 3 * 8
    first = [row for row in rows if (row["model"], row["run"]) == ("Alpha", "1")]
    assert [row["state"] for row in first] == ["answered", "answered", "failed", *["answered"] * 4, "missing"]
    assert [row["correct"] for row in first] == ["true", "true", "false", *["true"] * 4, ""]
    assert {row["is_named"] for row in first} == {"true"}
    runs = table(folder, "data/models.csv")
    assert [(row["model"], row["run"], row["is_named"]) for row in runs][1:] == [
        ("Alpha", "1", "true"),
        ("Alpha", "2", "false"),
    ]


def test_no_cell_of_any_table_is_a_formula(folder: Path) -> None:
    for path in folder.rglob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")):
            for cell in row:
                assert not cell.startswith(("=", "+", "@", "\t")), (path.name, cell)
                assert not cell.startswith("-") or float(cell) < 0, (path.name, cell)
    assert {row["rater"] for row in table(folder, "data/ratings.csv")} == {"R1", "Alpha", f"'{HOSTILE}"}
    assert "'+1 image is cut" in {row["reason"] for row in table(folder, "data/voidings.csv")}


def test_the_readme_names_every_guideline_of_its_checklists(folder: Path) -> None:
    readme = " ".join((folder / "README.txt").read_text().split())
    guidelines = {row["guideline"] for row in table(folder, "checklists.csv")}
    assert len(guidelines) == 6
    line = readme[readme.index("checklists.csv") :].partition("ask for")[0].replace("- ", "-")
    assert [one for one in guidelines if one not in line] == []
    assert "what is left out, or was voided later and is kept" in readme


def test_simulated_data_say_so(folder: Path) -> None:
    for name in ("README.txt", "methods.txt"):
        assert "SIMULATED DATA" in (folder / name).read_text()
    assert "Simulated data." in (folder / "data/study.imrmc").read_text()
    assert all("Simulated data." in path.read_text() for path in (folder / "tables").glob("*[!s].tex"))


@pytest.mark.check
def test_the_same_study_gives_the_same_bytes(analysis: Analysis, tmp_path: Path) -> None:
    packed = []
    for place in ("first", "second"):
        folder = tmp_path / place
        folder.mkdir()
        write_report(analysis, folder)
        zip_folder(folder, tmp_path / f"{place}.zip", "trial-report")
        packed.append((tmp_path / f"{place}.zip").read_bytes())
        Enrolment.objects.update(reminded_at=NOON + timedelta(days=1))  # says nothing about answers
    assert packed[0] == packed[1]
    entries = zipfile.ZipFile(io.BytesIO(packed[0])).infolist()
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}
    assert all(entry.filename.startswith("trial-report/") for entry in entries)


def test_a_report_whose_worker_was_stopped_goes_on(
    analysis: Analysis, monkeypatch: pytest.MonkeyPatch, settings: SiteSettings
) -> None:
    undisturbed = make_report(analysis, actor=None, at=NOON)
    whole = path_of(undisturbed).read_bytes()
    path_of(undisturbed).unlink()
    made = counted(monkeypatch, report_writing)
    with pytest.raises(Stopped):
        make_report(analysis, actor=None, at=NOON, tell=stopped_before("flow.pdf"))
    assert {"tables/tables.docx", "flow.svg"} <= made.keys()
    assert make_report(analysis, actor=None, at=NOON) == undisturbed
    assert "flow.pdf" in made
    assert set(made.values()) == {1}
    assert path_of(undisturbed).read_bytes() == whole
    assert not list(Path(settings.TEMP_ROOT).glob("report-*"))


def test_an_analysis_whose_inputs_changed_has_no_report(analysis: Analysis, tmp_path: Path) -> None:
    void(analysis.study.cases.get(block="main", number=4))
    with refuses(StudyRefused, "stale", match="Analyse again"):
        write_report(analysis, tmp_path)
    assert not any(tmp_path.iterdir())


def test_progress_is_told_for_every_file(analysis: Analysis, tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    written = write_report(analysis, tmp_path, lambda done, total, name: told.append((done, total, name)))
    assert told[0] == (0, len(written), "README.txt")
    assert told[-1] == (len(written), len(written), "")


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
