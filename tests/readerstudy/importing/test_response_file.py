"""Reading a file of readings, without a database: what is taken, and the sentence for what is not."""

from __future__ import annotations

import pytest

from readerstudy.enums import ResponseState
from readerstudy.reading.kernels.response_file import ResponseRow, read_response_file

HEADER = "reader,case,option,state,confidence,active_ms,position\n"


def problems(*rows: str, header: str = HEADER) -> list[tuple[int, str, str]]:
    return [(p.row, p.column, p.message) for p in read_response_file((header + "\n".join(rows)).encode()).problems]


def test_rows_become_answers() -> None:
    read = read_response_file((HEADER + "R 1,Q1,B,answered,80,4200,1\r\n\nR 1,Q2,,declined,,,2\n").encode())
    assert read.answers == (
        ResponseRow(2, "R 1", "Q1", ResponseState.ANSWERED, "B", 80, 4200, 1),
        ResponseRow(4, "R 1", "Q2", ResponseState.DECLINED, "", None, None, 2),
    )
    assert (read.problems, read.n_rows) == ((), 2)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffstate,option,case,reader\nanswered,B,Q1,R\n".encode(),
        b"reader;case;option;state\nR;Q1;B;answered\n",
        b'"reader","case","option","state"\n"R"," Q1 ",B,answered\n',
    ],
    ids=["mark and other order", "semicolons", "quotes and blanks"],
)
def test_what_spreadsheets_write(content: bytes) -> None:
    assert read_response_file(content).answers == (ResponseRow(2, "R", "Q1", ResponseState.ANSWERED, "B"),)


@pytest.mark.parametrize(
    ("row", "column", "part"),
    [
        (",Q1,B,answered,,,", "reader", "empty"),
        ("R,,B,answered,,,", "case", "empty"),
        ("R" * 61 + ",Q1,B,answered,,,", "reader", "more than 60"),
        ("R\0,Q1,B,answered,,,", "reader", "cannot be seen: 'R\\x00'"),
        ("R\u200b1,Q1,B,answered,,,", "reader", "cannot be seen: 'R\\u200b1'"),
        ("R,Q1,E,answered,,,", "option", "none of A, B, C, D"),
        ("R,Q1,b,answered,,,", "option", "none of A, B, C, D"),
        ("R,Q1,,answered,,,", "option", "needs an option"),
        ("R,Q1,,unconfirmed,,,", "option", "needs an option"),
        ("R,Q1,A,declined,,,", "option", "has no option"),
        ("R,Q1,A,timed_out,,,", "option", "has no option"),
        ("R,Q1,A,missing,,,", "option", "has no option"),
        ("R,Q1,A,guessed,,,", "state", "'guessed' is not known"),
        ("R,Q1,A,,,,", "state", "'' is not known"),
        ("R,Q1,A,answered,50,,", "confidence", "not in the list"),
        ("R,Q1,A,answered,high,,", "confidence", "not in the list"),
        ("R,Q1,A,answered,,-5,", "active_ms", "negative"),
        ("R,Q1,A,answered,,4.5,", "active_ms", "not a whole number"),
        ("R,Q1,A,answered,,604800001,", "active_ms", "outside"),
        ("R,Q1,A,answered,,,0", "position", "outside"),
        ("R,Q1,A,answered,,,9" + "9" * 400, "position", "outside"),
    ],
)
def test_one_sentence_for_what_is_wrong(row: str, column: str, part: str) -> None:
    [(number, where, message)] = problems("R,Q0,C,answered,,,", row)
    assert (number, where) == (3, column)
    assert part in message
    assert message.endswith(".")


def test_a_best_guess_beside_cannot_tell() -> None:
    read = read_response_file(b"reader,case,option,state,best_guess\nR,Q1,,declined,C\nR,Q2,B,answered,\n")
    assert read.answers == (
        ResponseRow(2, "R", "Q1", ResponseState.DECLINED, best_guess="C"),
        ResponseRow(3, "R", "Q2", ResponseState.ANSWERED, "B"),
    )


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("R,Q1,,declined,E", "'E' is none of A, B, C, D."),
        ("R,Q1,,declined,cannot tell", "'cannot tell' is none of A, B, C, D."),
        ("R,Q1,B,answered,C", "belongs to declined, but the state is answered."),
        ("R,Q1,,late,C", "belongs to declined, but the state is late."),
    ],
)
def test_a_best_guess_that_is_none(row: str, part: str) -> None:
    [(number, column, message)] = problems(row, header="reader,case,option,state,best_guess\n")
    assert (number, column) == (2, "best_guess")
    assert part in message


def test_every_wrong_row_is_named_and_the_right_ones_stay_answers() -> None:
    read = read_response_file((HEADER + "R,Q1,Z,later,7,-1,x\nR,Q2,B,answered,,,\n").encode())
    assert {problem.column for problem in read.problems} == {"option", "state", "confidence", "active_ms", "position"}
    assert [answer.case for answer in read.answers] == ["Q2"]


def test_late_goes_with_and_without_an_option() -> None:
    assert not problems("R,Q1,B,late,,,", "R,Q2,,late,,,")


def test_a_reader_has_one_case_at_a_position() -> None:
    assert problems("R,Q1,B,answered,,,4", "S,Q1,B,answered,,,4", "R,Q2,B,answered,,,4") == [
        (4, "position", "R has position 4 in row 2 already.")
    ]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "Missing: 'reader', 'case', 'option', 'state'"),
        (HEADER.encode(), "no rows"),
        (b"reader,case,option\nR,Q,B\n", "Missing: 'state'"),
        (b"reader,case,option,state,task\n", "'task' is not known"),
        (b"reader,case,option,state,state\nR,Q,B,answered,answered\n", "twice"),
        (b"reader,case,option,state\nR,Q,B\n", "Row 2: The row has 3 cells"),
        (b'reader,case,option,state\n"R,Q,B,answered\n', "Row 2 is not valid CSV"),
        (b'reader,case,option,state\nR,Q,B,answered\nR,"Q"2,B,answered\n', "Row 3 is not valid CSV"),
        (b'reader,case,"option,state\n', "Row 1 is not valid CSV"),
        (HEADER.encode() + b"R," + b"Q" * 200_000 + b",B,answered,,,\n", "field larger than"),
        ("reader,case,option,state\nMüller,Q,B,answered\n".encode("latin-1"), "not UTF-8"),
    ],
)
def test_a_file_that_is_something_else(content: bytes, part: str) -> None:
    read = read_response_file(content)
    [problem] = read.problems
    assert (problem.row, read.answers, read.n_rows) == (0, (), 0)
    assert part in problem.message
