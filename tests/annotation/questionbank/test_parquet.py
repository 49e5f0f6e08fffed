"""Question files as Parquet, and what is told where they cannot be read; apostrophes of exported CSV files."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.questionbank.kernels import parquet
from annotation.questionbank.kernels.cells import neutralised, read_cell
from annotation.questionbank.kernels.entries import read_entries
from annotation.questionbank.kernels.strictjson import BankRefused, Entry

ROW: dict[str, Any] = {
    "id": "q1",
    "study_id": 7,
    "question": "Which?",
    "option_a": "one",
    "option_b": "two",
    "option_c": "-5 mm",
    "option_d": "four",
    "correct_answer": "A",
    "correct_answer_explanation": "It is seen on both views.",
    "task_name": "Presence Assessment",
    "category": "Chest",
    "ImagePath": ["1/a.png", "1/b.png"],
    "note": None,
}


def file_of(rows: list[dict[str, Any]]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


def entries(content: bytes) -> list[Entry]:
    return list(read_entries(io.BytesIO(content)))


def test_a_parquet_file_says_what_the_table_says() -> None:
    (entry,) = entries(file_of([ROW]))
    assert (entry.key, entry.faults) == ("q1", ())
    assert entry.value["options"] == ["A. one", "B. two", "C. -5 mm", "D. four"]
    assert entry.value["ImagePath"] == ["1/a.png", "1/b.png"]
    assert entry.value["study_id"] == "7"
    assert "note" not in entry.value


def test_a_broken_one_is_refused() -> None:
    content = file_of([ROW])
    for broken in (b"PAR1", content[:-9], content[:100] + bytes(len(content) - 100)):
        with pytest.raises(BankRefused, match="not Parquet, or broken"):
            entries(broken)


def test_one_that_is_too_large_or_too_wide_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BankRefused, match="more than 200 columns"):
        entries(file_of([{**ROW, **{f"further {n}": "x" for n in range(200)}}]))
    monkeypatch.setattr(parquet, "MOST_BYTES", 100)
    with pytest.raises(BankRefused, match="too large"):
        entries(file_of([ROW]))


def test_without_pyarrow_the_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    content = file_of([ROW])
    monkeypatch.setattr(parquet, "find_spec", lambda _name: None)
    with pytest.raises(BankRefused, match=r"pyarrow is not installed.*or send CSV or JSON Lines"):
        entries(content)


@pytest.mark.parametrize("text", ["-5 mm", "=1+1", "'quoted' word", " @home", "plain", "", "it's"])
def test_what_an_export_marks_comes_in_without_its_mark(text: str) -> None:
    assert read_cell(neutralised(text)) == text
    if neutralised(text) == text:
        assert read_cell(text) == text


def test_an_apostrophe_before_a_word_stays() -> None:
    assert read_cell("'Tis normal") == "'Tis normal"
