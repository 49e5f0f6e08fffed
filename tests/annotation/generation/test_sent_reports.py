"""Every form in which reports come gives the same rows, and what is wrong is said by row."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from openpyxl import Workbook

from annotation.files.kernels.strictjson import FileRefused
from annotation.generation.kernels import sent_reports
from annotation.generation.kernels.answer_forms import sent_text
from annotation.generation.kernels.sent_reports import (
    SentReports,
    parts_of_report,
    parts_of_sent,
    sent_file,
    sent_folder,
    sent_values,
)

HEART, CLEAR = "The heart is enlarged.", "Clear lungs; no effusion."
RECORDS = [{"study_id": "s1", "Findings": HEART}, {"study_id": "s2", "Findings": CLEAR, "Impression": "Normal."}]


def read(content: str | bytes, name: str = "sent") -> SentReports:
    return sent_file(io.BytesIO(content.encode() if isinstance(content, str) else content), name)


def archive(**texts: str | bytes) -> bytes:
    """Without the time: its bytes name a test, which every worker must name alike."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for name, text in texts.items():
            member = zipfile.ZipInfo(name.replace("__", "/").replace("_dot_", "."))
            made.writestr(member, text, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def sheet(*rows: list[str]) -> bytes:
    stream, book = io.BytesIO(), Workbook(write_only=True)
    page = book.create_sheet()
    for row in rows:
        page.append(row)
    book.save(stream)
    return stream.getvalue()


TABLE = f"study_id;Findings;Impression\ns1;{HEART};\ns2;“{CLEAR}”;Normal.\n".replace("“", '"').replace("”", '"')
FORMS: dict[str, str | bytes] = {
    "csv": TABLE,
    "csv with other names": TABLE.replace("study_id", "Exam ID").replace("Findings", "findings"),
    "lines": "\n".join(map(json.dumps, RECORDS)),
    "list": json.dumps(RECORDS),
    "object": json.dumps({"a": RECORDS[0], "b": RECORDS[1]}),
    "sheet": sheet(["study_id", "Findings", "Impression"], ["s1", HEART, ""], ["s2", CLEAR, "Normal."]),
    "zip": archive(reports__s1_dot_txt=HEART, reports__s2_dot_txt=f"Findings: {CLEAR} Impression: Normal."),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_rows(form: str) -> None:
    found = read(FORMS[form])
    assert [row.value for row in found.rows] == RECORDS
    assert not any(row.faults for row in found.rows)


def test_a_folder_of_texts_and_values_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "s1.txt").write_text(f"\ufeff{HEART}\n")
    (tmp_path / "s2.TXT").write_text(f"Findings: {CLEAR}\r\nImpression: Normal.")
    (tmp_path / ".hidden").write_text("x")
    assert [row.value for row in sent_folder(tmp_path).rows] == RECORDS
    assert [row.value for row in sent_values([{"exam": "s1", "text": HEART}, RECORDS[1]]).rows] == RECORDS


def test_lines_bring_back_rows_and_their_places() -> None:
    found = read(TABLE)
    again = read(found.lines())
    assert again.rows == found.rows
    assert [row.place for row in again.rows] == ["row 2", "row 3"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "The file is empty"),
        ("a;b\n1;2", "must name the columns study_id"),
        ("study_id;indication\n1;cough", "and report, or Findings and Impression"),
        (b"%PDF-1.4", "a PDF"),
        (b"PK\x05\x06" + bytes(18), "Found: PK.$"),
        (b"\x89PNG\r\n", "an image"),
        (archive(a_dot_pdf="x"), "'a.pdf' is no report"),
        (archive(a_dot_txt="x")[:60], "broken"),
        ("The heart is enlarged. No effusion.", "must name the columns"),
        ('[{"study_id": "s1", "report": "x"', "not JSON"),
    ],
)
def test_a_file_of_another_kind(content: str | bytes, words: str) -> None:
    with pytest.raises(FileRefused, match=words):
        read(content)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"study_id,report\ns1,{HEART},more", "3 cells"),
        ('{"study_id": "s1", "report": 7}', "'report' must be text"),
        ('[7, {"study_id": "s1"}]', "no object"),
        ('{"study_id": "s1", "report": "a\\u0000b"}', "character"),
        (archive(s1_dot_txt=b"\xff\xfe\x00"), "not UTF-8"),
    ],
)
def test_a_row_that_cannot_be_read_has_its_faults(content: str | bytes, words: str) -> None:
    first = read(content).rows[0]
    assert words in " ".join(first.faults), first


def test_what_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = archive(a_dot_txt="x" * 800, b_dot_txt="y" * 800)
    with pytest.raises(FileRefused, match=r"or 1,000 bytes of them"):
        sent_file(io.BytesIO(packed), "sent", most=1_000)
    monkeypatch.setattr(sent_reports, "MOST_BYTES", 1_000)  # whatever an archive says of itself
    with pytest.raises(FileRefused, match=r"more than 1,000 bytes"):
        read(packed)
    monkeypatch.setattr(sent_reports, "MOST_REPORTS", 1)
    with pytest.raises(FileRefused, match=r"more than 1 reports"):
        read(TABLE)


def test_only_fields_of_an_exam_are_kept() -> None:
    row = read('{"study_id": "s1", "report": "x", "Patient name": "Miller", "question": "?"}').rows[0]
    assert row.value == {"study_id": "s1", "Findings": "x"}


def test_a_whole_report_is_read_by_its_headings() -> None:
    read_as: list[tuple[str, dict[str, str]]] = [
        (HEART, {"Findings": HEART}),
        ("", {}),
        ("FINAL REPORT\nEXAM: Chest.\nFINDINGS:\nA.\nB.\nIMPRESSION: C.", {"Findings": "A.\nB.", "Impression": "C."}),
        ("A. IMPRESSION: C.", {"Findings": "A.", "Impression": "C."}),
        (
            "INDICATION: cough. COMPARISON: none. FINDINGS: A.",
            {"Indication": "cough.", "Comparison": "none.", "Findings": "A."},
        ),
        ("FINDINGS AND IMPRESSION: A.", {"Findings": "A."}),
        ("CLINICAL HISTORY: pain\nCONCLUSION: C.", {"Indication": "pain", "Impression": "C."}),
        ("The findings are: A.", {"Findings": "The findings are: A."}),
        ("TECHNIQUE: two views.", {}),
    ]
    assert [(text, parts_of_report(text)) for text, _parts in read_as] == read_as


@pytest.mark.parametrize("findings", ["", "A.", "A.\nImpression: B."])
@pytest.mark.parametrize("impression", ["", "C."])
def test_parts_of_what_is_sent_make_it_again(findings: str, impression: str) -> None:
    text = sent_text(findings, impression)
    assert sent_text(*parts_of_sent(text)) == text
