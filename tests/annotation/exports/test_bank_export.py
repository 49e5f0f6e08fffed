"""A bank written as files: equal records in their order, with what people changed, and in again."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace

from annotation.enums import QuestionState
from annotation.exports.bank_export import BankChoice, BankForm, Wordings, export_bank
from annotation.exports.kernels.question_records import TEMPLATE
from annotation.models import AnswerKey, AuditEvent, BankImport, Question, QuestionBank, Revision, User
from annotation.questionbank.editing import current_revision, revise, wording_of
from annotation.questionbank.kernels import examfields
from annotation.questionbank.matchings import COLUMNS
from annotation.review.ending import complete_reviews
from annotation.tables.writing import restored
from tests.annotation.adjudication.made import N_OPEN, make_reviewed
from tests.annotation.questionbank.files import NOON, make_record, run_import, write_file
from tests.annotation.questionbank.test_stored_before import FURTHER, LETTERED, NESTED
from tests.commands import ends_with_2

pytestmark = pytest.mark.django_db

ODD: dict[str, Any] = {
    "odd-nulls": make_record(11, exam=11, subcategory="", Comparison="", Findings=None, **{"class": None}),
    "odd-types": make_record(12, exam=12, study_id=12, PatientID=17, correct_answer=1, ImagePath="12/pa.png"),
    "odd-key": make_record(13, exam=13, correct_answer="b.", prior_study=" study-1 ", difficulty="HARD"),
    "odd-exam": make_record(14, exam=1, PatientID="another", ImagePath=["1/lateral.png", "./1/pa.png", "1/third.png"]),
    "odd-order": dict(reversed(make_record(15, exam=15, **FURTHER).items())),
    "odd-object": make_record(16, exam=16, zeta=1, alpha={"z": [1.5, None], "a": {"y": True, "b": "é 放"}}, id="own"),
    "odd-views": make_record(
        17, exam=17, ImageViewPosition=["POSTERO_ANTERIOR", None], ImageShape=[[512, 420.5], None]
    ),
    "odd-cells": make_record(19, exam=19, options=["A. -5 mm", "B. =1+1", "C. 'one'", "D.  two "], note="'=x", far=" "),
    "odd-form": make_record(18, exam=18, **LETTERED),
    "0012": make_record(20, exam=20, study_id="1e5", category="None", options=["A. 1-2", "B. NA", "C. TRUE", "D. 3/4"]),
}
PLAIN = {f"q{n} ä;=1": make_record(n, exam=(n + 1) // 2) for n in range(1, 6)}
RECORDS = {**PLAIN, "nested": make_record(6, exam=5, **NESTED), **ODD}
RECORDS["nested"].pop("model_prediction")  # an answer of a model is no part of a question


def export(folder: Path, form: BankForm = BankForm.REXVQA, *, bank: str = "Bank", **choice: Any) -> bytes:
    named = QuestionBank.objects.get(name=bank)
    export_bank(named, BankChoice(form, **choice), folder, actor=None, at=NOON)
    return (folder / form.file_name).read_bytes()


def bring(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert run_import(path).stored


def edit(number: int, cora: User, reason: str = "Side was wrong", **changes: Any) -> Revision:
    """A revision written by hand, two days after the import."""
    question = Question.objects.get(number=number, bank__name="Bank")
    current = current_revision(question)
    if "options" in changes:
        changes["options"] = tuple(changes["options"])
    wording = replace(wording_of(current), **changes)
    return revise(question, wording, reason, based_on=current.number, actor=cora, at=NOON + timedelta(days=2))


@pytest.mark.parametrize("style", [{"indent": 4}, {"separators": (",", ":"), "ensure_ascii": False}])
def test_an_unchanged_bank_is_given_back_as_equal_records_in_their_order(tmp_path: Path, style: dict[str, Any]) -> None:
    text = json.dumps(RECORDS, **style).replace("Pleural Effusion", "Pleural \\/ Effusion", 2)
    bring(tmp_path / "in/questions.json", text)
    assert list(json.loads(export(tmp_path / "out")).items()) == list(json.loads(text).items())
    assert "could not be written" not in (tmp_path / "out/card.md").read_text()


@pytest.mark.parametrize("name", ["rexvqa_sample.json", "rexvqa_release_layout/metadata/test_vqa_data.json"])
def test_the_sample_files_are_given_back(tmp_path: Path, shared_data: Path, name: str) -> None:
    assert run_import(shared_data / name).stored
    source = json.loads((shared_data / name).read_bytes())
    split = {"imported_split": "test"} if name.endswith("test_vqa_data.json") else {}
    assert list(json.loads(export(tmp_path / "out")).items()) == [(key, one | split) for key, one in source.items()]


@pytest.mark.parametrize("form", list(BankForm))
@pytest.mark.parametrize("source", ["made", "rexvqa_sample.json"])
def test_what_is_exported_comes_in_and_goes_out_the_same(
    tmp_path: Path, shared_data: Path, form: BankForm, source: str
) -> None:
    path = write_file(tmp_path, RECORDS) if source == "made" else shared_data / source
    run_import(path)
    first = export(tmp_path / "first", form)
    result = run_import(tmp_path / "first" / form.file_name, bank="Again")
    assert (result.errors, result.counts.created) == ([], Question.objects.filter(bank__name="Bank").count())
    assert export(tmp_path / "second", form, bank="Again") == first
    assert export(tmp_path / "third", form) == first


@pytest.mark.parametrize("form", list(BankForm))
def test_every_form_reads_the_bank_once_and_what_questions_share_once(tmp_path: Path, form: BankForm) -> None:
    run_import(write_file(tmp_path, PLAIN))
    with (
        CaptureQueriesContext(connection) as queries,
        patch.object(examfields, "_read_exam", wraps=examfields._read_exam) as exams_read,
    ):
        export(tmp_path / "out", form)
    told = Counter(
        re.findall(r'FROM "annotation_(answerkey|report|edit)"', " ".join(map(str, queries.captured_queries)))
    )
    assert told == {"answerkey": 1, "report": 1, "edit": 1}, "edits are asked for their last day alone"
    assert exams_read.call_count == 3, "of five questions"


def test_an_age_above_89_and_the_answer_of_a_model_stay_away(tmp_path: Path) -> None:
    records = {"old": make_record(1, PatientAge="097Y", odd=1.0), "model": make_record(2, model_prediction="C")}
    bring(tmp_path / "in/questions.json", json.dumps(records, indent=7))
    told = export(tmp_path / "out").decode()
    assert "097Y" not in told
    assert '"090Y"' in told
    assert "model_prediction" not in told
    assert not AnswerKey.objects.filter(extra__contains="097Y").exists()


def test_a_bank_of_an_earlier_version_is_written_by_its_known_fields(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, PLAIN))
    for key in AnswerKey.objects.all():
        kept = json.loads(key.extra)
        kept.pop("source")
        AnswerKey.objects.filter(pk=key.pk).update(extra=json.dumps(kept))
    BankImport.objects.update(result={})
    told = json.loads(export(tmp_path / "out"))
    wanted = {key: {n: v for n, v in record.items() if v is not None} for key, record in PLAIN.items()}
    assert told == wanted
    assert list(told) == list(PLAIN)


def test_what_was_edited_is_replaced_and_the_rest_stays(tmp_path: Path, cora: User) -> None:
    records = {**PLAIN, "z": make_record(9, exam=9, **LETTERED)}
    run_import(write_file(tmp_path, records))
    edit(2, cora, options=["Yes, on the right side", "No", "Yes, on the right", "On both sides"], key="A")
    edit(2, cora, reason="Harder than said", difficulty="hard")
    edit(6, cora, options=["a", "b", "c", "changed"])
    told = export(tmp_path / "out")
    wanted = json.loads(json.dumps(records))
    changed = wanted["q2 ä;=1"]
    changed["options"][0], changed["correct_answer"] = "A. Yes, on the right side", "A"
    changed["difficulty"] = "hard"
    wanted["z"]["options"][3] = "D) changed"
    changed["review_state"] = wanted["z"]["review_state"] = "revised"
    assert json.loads(told) == wanted
    assert json.loads(export(tmp_path / "before", wordings=Wordings.AS_IMPORTED)) == records
    rows = [restored(row) for row in (tmp_path / "out/changes.csv").read_text("utf-8-sig").splitlines()]
    assert rows[0] == "id,field,before,after,why,round"
    assert rows[1] == 'q2 ä;=1,option_a,"Yes, on the left","Yes, on the right side",Side was wrong,'
    assert rows[2] == "q2 ä;=1,correct_answer,B,A,Side was wrong,"
    assert rows[3] == "q2 ä;=1,difficulty,,hard,Harder than said,"
    page = (tmp_path / "out/changes.md").read_text()
    assert "## q2 ä;=1" in page
    assert "  - after: Yes, on the right side" in page
    card = (tmp_path / "out/card.md").read_text()
    assert "changed since their file: 2 " in card
    assert "newest import or edit: 2026-11-23" in card


def test_the_round_that_prompted_an_edit_is_named(tmp_path: Path, cora: User, rita: User, remo: User) -> None:
    made = make_reviewed(cora, rita, remo)
    complete_reviews(made, actor=cora, at=NOON, confirmed_open=N_OPEN)
    QuestionBank.objects.update(name="Bank")
    revision = edit(2, cora, reason="=Unsound *stem*", stem="Another <stem>?")
    assert revision.edit.settlement is None, "an edit that names none was prompted by what settled the wording before"
    export(tmp_path / "out")
    row = (tmp_path / "out/changes.csv").read_text("utf-8-sig").splitlines()[1]
    assert row.endswith(",Another <stem>?,'=Unsound *stem*,Spring")
    page = (tmp_path / "out/changes.md").read_text()
    assert "- **question**, round Spring" in page
    assert "  - after: Another \\<stem\\>?" in page
    assert "  - why: =Unsound \\*stem\\*" in page


def test_an_edit_that_was_taken_back_is_no_change(tmp_path: Path, cora: User) -> None:
    run_import(write_file(tmp_path, PLAIN))
    edit(1, cora, category="Other")
    edit(1, cora, category="Pleural Effusion")
    told = json.loads(export(tmp_path / "out"))
    assert told["q1 ä;=1"].pop("review_state") == "revised"
    assert told == PLAIN
    assert (tmp_path / "out/changes.csv").read_text("utf-8-sig").splitlines() == ["id,field,before,after,why,round"]
    assert "No question differs from its file." in (tmp_path / "out/changes.md").read_text()


def test_the_newest_file_is_what_edits_are_compared_with(tmp_path: Path, cora: User) -> None:
    run_import(write_file(tmp_path, PLAIN))
    edit(1, cora, category="Other")
    newer = {key: {**record, "category": "Newer"} for key, record in PLAIN.items()}
    run_import(write_file(tmp_path, newer, "newer.json"))
    edit(2, cora, category="Edited")
    told = json.loads(export(tmp_path / "out"))
    assert [record["category"] for record in told.values()] == ["Newer", "Edited", "Newer", "Newer", "Newer"]
    (row,) = (tmp_path / "out/changes.csv").read_text("utf-8-sig").splitlines()[1:]
    assert restored(row) == "q2 ä;=1,category,Newer,Edited,Side was wrong,"


def test_a_correction_that_comes_back_changes_nothing(tmp_path: Path, cora: User) -> None:
    bring(tmp_path / "in/questions.json", json.dumps({**PLAIN, "z": make_record(9, exam=9, **LETTERED)}))
    edit(1, cora, stem="Is there an effusion?", explanation="Both angles are sharp on both of the views.")
    edit(2, cora, difficulty="hard")
    edit(6, cora, options=["a", "b", "c", "changed"], key="A")
    told = export(tmp_path / "out")
    for form in (BankForm.REXVQA, BankForm.JSONL):
        file = tmp_path / form / form.file_name
        export(file.parent, form)
        counts = run_import(file).counts
        assert (counts.created, counts.updated, counts.unchanged) == (0, 0, 6)
    assert export(tmp_path / "again") == told
    records = json.loads(told)
    records["q1 ä;=1"]["PatientSex"] = "M"  # the wording of the edit, and something else
    records["q2 ä;=1"]["difficulty"] = "easy"
    counts = run_import(write_file(tmp_path, records, "newer.json")).counts
    assert (counts.updated, counts.unchanged) == (2, 4)


def test_an_exam_that_a_later_file_names_otherwise_is_written_as_each_file_has_it(tmp_path: Path) -> None:
    first = {"a": make_record(1, exam=1), "b": make_record(2, exam=2)}
    run_import(write_file(tmp_path, first))
    later = {"c": make_record(3, exam=1, ImagePath=["1/new.png", "1/pa.png"], AccessionNumber="other")}
    run_import(write_file(tmp_path, later, "later.json"))
    assert json.loads(export(tmp_path / "out")) == {**first, **later}
    assert "could not be written" not in (tmp_path / "out/card.md").read_text()


def test_only_questions_in_the_asked_states(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, PLAIN))
    Question.objects.filter(number__in=(1, 4)).update(state=QuestionState.ACCEPTED)
    Question.objects.filter(number=3).update(state=QuestionState.REJECTED)
    some = export(tmp_path / "one", states=(QuestionState.ACCEPTED,))
    assert list(json.loads(some)) == ["q1 ä;=1", "q4 ä;=1"]
    both = export(tmp_path / "two", states=(QuestionState.ACCEPTED, QuestionState.REJECTED))
    assert list(json.loads(both)) == ["q1 ä;=1", "q3 ä;=1", "q4 ä;=1"]
    assert json.loads(export(tmp_path / "none", states=(QuestionState.WITHDRAWN,))) == {}
    assert "questions: 2 of 5" in (tmp_path / "one/card.md").read_text()


@pytest.mark.parametrize("form", list(BankForm))
def test_what_was_found_wanting_stays_back_and_records_carry_their_state(tmp_path: Path, form: BankForm) -> None:
    run_import(write_file(tmp_path, PLAIN))
    states = dict(enumerate(("accepted", "rejected", "withdrawn", "needs_revision", "imported"), start=1))
    for number, state in states.items():
        Question.objects.filter(number=number).update(state=state)
    export(tmp_path / "some", form)
    card = (tmp_path / "some/card.md").read_text()
    back = "| needs revision | 1 |\n| rejected | 1 |\n| withdrawn | 1 |"
    assert f"## Stayed back\n\n| state | questions |\n| --- | ---: |\n{back}" in card, "the card lists what stayed back"
    result = run_import(tmp_path / "some" / form.file_name, bank="Some")
    assert (result.errors, result.counts.created) == ([], 2), (
        "what reviews rejected goes out only where it is asked for"
    )
    file = export(tmp_path / "all", form, states=tuple(QuestionState))
    if form not in (BankForm.PARQUET, BankForm.XLSX):
        marked = [state for state in states.values() if form != BankForm.REXVQA or state != "imported"]
        assert re.findall(rb"accepted|rejected|withdrawn|needs_revision|imported", file) == [s.encode() for s in marked]
    again = run_import(tmp_path / "all" / form.file_name, bank="All")
    assert (again.errors, again.counts.created) == ([], 5)
    assert set(Question.objects.filter(bank__name="All").values_list("state", flat=True)) == {"imported"}
    assert run_import(tmp_path / "all" / form.file_name).counts.updated == 0, "a state is no other wording"


def test_a_mark_changes_nothing_else_of_a_record(tmp_path: Path) -> None:
    record = make_record(1, odd=1.5, more="A")
    bring(tmp_path / "in/questions.json", json.dumps({"a": record}))
    Question.objects.update(state=QuestionState.ACCEPTED)
    told = export(tmp_path / "out")
    assert json.loads(told) == {"a": {**record, "review_state": "accepted"}}
    assert run_import(tmp_path / "out/questions.json").counts.unchanged == 1
    assert export(tmp_path / "again") == told
    other = told.replace(b'"accepted"', b'"for Tuesday"')
    (tmp_path / "other.json").write_bytes(other)
    (error,) = run_import(tmp_path / "other.json", bank="Other").errors
    assert "give the field another name" in error.message, "a field that means something else is not lost unseen"


def test_the_command_gives_all_out_where_it_is_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_import(write_file(tmp_path, PLAIN))
    Question.objects.filter(number=3).update(state=QuestionState.REJECTED)
    asked = {"bank": "Bank", "form": "jsonl"}
    call_command("export_questions", **asked, output=str(tmp_path / "some"))
    assert "4 questions in" in (told := capsys.readouterr().out)
    assert "1 stayed back, by state in" in told
    call_command("export_questions", **asked, output=str(tmp_path / "all"), state=["all"])
    assert "5 questions in" in (told := capsys.readouterr().out)
    assert "stayed back" not in told


def test_a_folder_that_holds_something_is_refused(tmp_path: Path) -> None:
    run_import(write_file(tmp_path, PLAIN))
    folder = tmp_path / "out"
    (folder / "old").mkdir(parents=True)
    arguments = ("export_questions", "--bank", "Bank", "--form", "csv", "--output", str(folder))
    with ends_with_2(r"not empty: name a new folder.*Nothing was written"):
        call_command(*arguments)
    assert [path.name for path in folder.iterdir()] == ["old"]
    assert not AuditEvent.objects.filter(act="bank.exported").exists()
    (folder / "old").rmdir()
    call_command(*arguments, verbosity=0)
    described = {"codebook.csv", "datapackage.json"}
    assert {path.name for path in folder.iterdir()} == described | {
        *("card.md", "changes.csv", "changes.md", "questions.csv")
    }
    assert not list(tmp_path.glob("*.part"))
    assert AuditEvent.objects.get(act="bank.exported").facts["questions"] == len(PLAIN)


def test_the_columns_of_a_table_are_those_of_the_template() -> None:
    assert tuple(column.name for column in COLUMNS) == TEMPLATE
