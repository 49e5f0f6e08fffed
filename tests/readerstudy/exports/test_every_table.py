"""Every table that leaves the program, full of hostile texts, in every form and in the programs that people use."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace as replaced
from datetime import date
from pathlib import Path
from types import FrameType

import numpy as np
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from msgspec.structs import replace

from annotation.enums import Flag, RoundState
from annotation.exports import review_report
from annotation.exports.bank_contents import BankForm
from annotation.exports.bank_export import BankChoice, export_bank
from annotation.exports.review_report import write_review_report
from annotation.exports.reviews import export_reviews
from annotation.models import QuestionBank
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.source_names import export_missing, export_source_ids
from annotation.review.rounds import create_round, open_round
from annotation.review.samples import draw_sample
from annotation.statistics.kernels.sampling import StratifyBy
from annotation.tables import office, writing
from annotation.tables.kernels.table import Table, flat_cells, flat_columns
from annotation.tables.writing import CODEBOOK, CellOrDay, Column, Format, codebook_rows, neutralised
from readerstudy.analysis.comparing_models import compare_models
from readerstudy.analysis.gathering import gather
from readerstudy.analysis.kernels.arrays import Experts
from readerstudy.exports import report_writing
from readerstudy.exports.exporting import StudyTable, export_table
from readerstudy.exports.ratings import experts_csv
from readerstudy.leaderboard.public_board import files_of
from readerstudy.models import Enrolment
from readerstudy.predictions.listing import Target
from readerstudy.results.comparison_job import TableForm, take_comparison
from tests.annotation.exports.readers import READERS, Written, misread
from tests.annotation.prompts.flagged import two_versions
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file
from tests.annotation.review.cases import images_are_there
from tests.annotation.rounds.made import say, theirs
from tests.jobs import work
from tests.readerstudy.leaderboard.made import make_published
from tests.readerstudy.predictions.made import answers, entry_named, import_file, keyed_bank
from tests.readerstudy.report.made import reported_analysis

pytestmark = [pytest.mark.django_db, pytest.mark.check]
ROOT = Path(__file__).parents[3]
HOSTILE = ("1e5", "0012", "0x1F", "NA", "TRUE", "-", "1-2", "2024-01-01", "12345678e0000001", ";=1+1", "🫁", "None")
Maker = Callable[[pytest.FixtureRequest], object]
MAKERS: dict[str, tuple[Maker, tuple[str, ...]]] = {}  # by what they make: how, and the functions that write it


def makes(*doors: str) -> Callable[[Maker], Maker]:
    def kept(maker: Maker) -> Maker:
        MAKERS[maker.__name__] = maker, doors
        return maker

    return kept


@makes(
    "annotation.exports.bank_contents._write_table",
    "annotation.exports.bank_export._write_files",
    "annotation.questionbank.source_names.export_source_ids",
    "annotation.questionbank.source_names.export_missing",
)
def bank(asked: pytest.FixtureRequest) -> None:
    cora, folder = asked.getfixturevalue("cora"), asked.getfixturevalue("tmp_path")
    made = hostile_bank(folder)
    question = made.questions.get(number=1)
    current = current_revision(question)
    wording = replace(wording_of(current), explanation="Neither angle is blunted on this film.")
    revise(question, wording, "1-2", based_on=current.number, actor=cora, at=NOON)
    for form in (BankForm.CSV, BankForm.XLSX, BankForm.PARQUET):
        export_bank(made, BankChoice(form), folder / form.value, actor=None, at=NOON)
    for give in (export_source_ids, export_missing):
        with writing.scratch_file() as file:
            give(made, Format.CSV, file, actor=cora, at=NOON)


def hostile_bank(folder: Path) -> QuestionBank:
    records = {
        one: make_record(n, exam=n, study_id=f"{n}e5", category=one, PatientID=f"00{n}", AccessionNumber=one, note=one)
        for n, one in enumerate(HOSTILE, 1)
    }
    run_import(write_file(folder, records))
    return QuestionBank.objects.get()


@makes("annotation.exports.reviews.export_reviews", "annotation.exports.report_files.csv_contents")
def review_round(asked: pytest.FixtureRequest) -> None:
    cora, rita, folder = (asked.getfixturevalue(name) for name in ("cora", "rita", "tmp_path"))
    asked.getfixturevalue("monkeypatch").setattr(review_report, "_figures", lambda numbers: ())
    made = hostile_bank(folder)
    images_are_there(made)
    plan = draw_sample(made, name="0012", by=StratifyBy.CATEGORY, per_thousand=1000, actor=cora, at=NOON)
    opened = create_round(plan, name="1e5", reviewers=[rita], reviewers_per_question=1, actor=cora, at=NOON)
    open_round(opened, actor=cora, at=NOON)
    for assignment, text in zip(theirs(rita), HOSTILE, strict=True):
        say(assignment, flags=[Flag.OTHER], verdict="revise", comment=text, reasoning=text, category=text)
    type(opened).objects.update(state=RoundState.CLOSED)
    opened.refresh_from_db()
    with writing.scratch_file() as file:
        export_reviews(opened, Format.CSV, file, actor=cora, at=NOON, source_ids=True)
    write_review_report(opened, folder / "report", actor=cora, at=NOON, with_names=True)


@makes(
    "readerstudy.exports.exporting.export_table",
    "readerstudy.exports.ratings.ratings_csv",
    "readerstudy.exports.ratings.runs_csv",
    "readerstudy.exports.ratings.experts_csv",
    "annotation.exports.report_files.csv_contents",
    "readerstudy.exports.report_writing._tables",
)
def study(asked: pytest.FixtureRequest) -> None:
    asked.getfixturevalue("monkeypatch").setattr(report_writing, "figures_of", lambda _result: [])
    rita, remo, folder = (asked.getfixturevalue(name) for name in ("rita", "remo", "tmp_path"))
    analysis = reported_analysis(rita, remo)
    Enrolment.objects.update(facts={"exposure_text": "NA", "training": "radiologist", "years": 7})
    report_writing.write_report(analysis, folder / "report")
    for table in StudyTable:
        with writing.scratch_file() as file:
            export_table(analysis.study, table, Format.CSV, file, actor=None, at=NOON)
    arrays = gather(analysis.study)
    few = np.ones(len(arrays.questions.number), dtype=np.int32)
    experts_csv(replaced(arrays, experts=Experts(few, few)))


@makes("readerstudy.results.comparison_job.comparison_file", "readerstudy.results.comparison_job.take_comparison")
def comparison(asked: pytest.FixtureRequest) -> None:
    made = keyed_bank(3)
    for name in ("1e5", "NA"):
        import_file(entry_named(name), Target(made), answers(Q1="B", Q2="A", Q3="B"))
    compared = compare_models(made, actor=None, at=timezone.now())
    for form in (TableForm.CSV, TableForm.XLSX):
        take_comparison(compared, form, actor=asked.getfixturevalue("cora"), at=NOON)


@makes("readerstudy.leaderboard.public_board._csv")
def board(_asked: pytest.FixtureRequest) -> None:
    files_of(make_published(), on=date(2026, 6, 3))


@makes("annotation.views.prompts.prompt_history")
def prompts(asked: pytest.FixtureRequest) -> None:
    _first, second = two_versions()
    client: Client = asked.getfixturevalue("coordinator")
    b"".join(client.get(reverse("prompt-history", args=[second.public_id]), {"form": "csv"}))


@makes("annotation.acts.files.texts_response")
def refusals(asked: pytest.FixtureRequest) -> None:
    client: Client = asked.getfixturevalue("coordinator")
    asked.getfixturevalue("own_home")
    records = {one: make_record(n, correct_answer=one) for n, one in enumerate(HOSTILE)}
    sent = SimpleUploadedFile("questions.json", json.dumps(records).encode())
    address = str(client.post(reverse("question-import-new"), {"file": sent, "bank": "Bank"})["Location"])
    work()
    b"".join(client.get(f"{address}report.csv"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Written]:
    """Every table, as it comes to the functions that all of them go through."""
    made: list[Written] = []
    with_days, write_sheet = writing._with_days, office._write_sheet

    def keep(columns: Sequence[Column], rows: Sequence[Sequence[CellOrDay]]) -> Iterator[Sequence[CellOrDay]]:
        all_rows = list(with_days(columns, rows))  # type: ignore[arg-type]
        made.append(Written(door_of(sys._getframe(1)), columns, all_rows))
        return iter(all_rows)

    def keep_sheet(book: object, table: Table) -> None:
        rows = [list(flat_cells(row)) for row in table.rows]
        made.append(Written(door_of(sys._getframe(1)), flat_columns(table.columns), rows))
        write_sheet(book, table)  # type: ignore[arg-type]

    monkeypatch.setattr(writing, "_with_days", keep)
    monkeypatch.setattr(office, "_write_sheet", keep_sheet)
    return made


def door_of(frame: FrameType | None) -> str:
    """The function that has a table written."""
    while frame is not None:
        place = frame.f_code.co_qualname.partition(".<locals>")[0].rpartition(".")[2]
        if (door := f"{frame.f_globals['__name__']}.{place}") in DOORS:
            return door
        frame = frame.f_back
    return ""


def functions_with(*names: str) -> set[str]:
    """Those of the program that name one of these."""
    found = set()
    for path in (one for app in ("annotation", "readerstudy") for one in (ROOT / app).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in names):
            continue
        tree = ast.parse(text)
        of_classes = (one for top in tree.body if isinstance(top, ast.ClassDef) for one in top.body)
        for function in (one for one in (*tree.body, *of_classes) if isinstance(one, ast.FunctionDef)):
            used = {ast.unparse(one) for one in ast.walk(function) if isinstance(one, ast.Name | ast.Attribute)}
            if not used.isdisjoint(names):
                found.add(f"{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}.{function.name}")
    return found


DOORS = {
    one
    for one in functions_with("write_table", "writing.write_table", "write_digested", "workbook_of")
    if not one.startswith(writing.__name__)
}
LATER = {"readerstudy.exports.report_writing._tables"}  # its workbook is made by what writes all files


def test_every_function_that_writes_a_table_is_asked_here() -> None:
    assert {door for _maker, doors in MAKERS.values() for door in doors} == DOORS


def test_what_is_written_by_hand_marks_its_cells_as_tables_do() -> None:
    by_hand = functions_with("csv.writer", "csv.DictWriter")
    assert by_hand - functions_with("neutralised", "_cell") == {
        f"{writing.__name__}._write_csv",  # all others
        *(
            "annotation.questionbank.matchings._csv",
            "readerstudy.demonstration.finished._responses_csv",
        ),  # our examples
    }


@pytest.mark.parametrize("what", list(MAKERS))
def test_its_cells_are_the_same_in_every_form_and_program(
    what: str, request: pytest.FixtureRequest, written: list[Written], tmp_path: Path
) -> None:
    maker, doors = MAKERS[what]
    maker(request)
    assert {one.door for one in written if one.rows} >= set(doors) - LATER
    books = [Written(one.door, CODEBOOK, codebook_rows(one.columns)) for one in written]
    found = {repr(one): one for one in (*written, *books) if one.rows}
    wrong: set[tuple[str, ...]] = set()
    for number, (form, program) in enumerate(READERS):
        folder = tmp_path / str(number)
        folder.mkdir()
        with suppress(pytest.skip.Exception):  # a program is not on this machine, which test_default_readers says
            wrong |= misread(list(found.values()), form, program, folder)
    assert sorted(wrong)[:20] == []
    for table in written:  # no word of the program looks like something else
        for column in table.columns:
            assert [word for word in column.values.split(", ") if neutralised(word) != word] == []
