"""Cells of CSV files that a spreadsheet could take for a formula, or that a program would change into a number, a
moment, a truth value or nothing. Pure.

What a table of ours marks by an apostrophe comes in again without it: options such as "-5 mm" and ids such as "0012"
stay what they are.
"""

from __future__ import annotations

import re
from functools import lru_cache

# A cell that a spreadsheet could take for a formula, or that starts with the apostrophe that marks one here.
_SIGNS = "[=+\\-@＝＋－＠﹢﹣﹦﹫]"
_FORMULA = re.compile(rf"^(?:'|\s*{_SIGNS}|[\t\r\n])")
# Where a spreadsheet of another locale begins a new cell, or a new line: quotes do not keep it from that.
_INSIDE = re.compile(rf"([;\t\r\n])(?=['\s]*{_SIGNS})")
_MARKED_INSIDE = re.compile(rf"([;\t\r\n])'(?=['\s]*{_SIGNS})")
# What pandas, polars, DuckDB, R or a spreadsheet reads otherwise than it is written: "MAR1" and "1-2" as days ...
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = "(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?,? )"
_NUMBER = r"(?:\d[\d,]*(?:\.\d*)?|\.\d+)"
_AMOUNT = rf"[$€£¥]? ?{_NUMBER} ?[%$€£¥]?"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[ap]m|z|[+-]\d{2}:?\d{2})?"
_CHANGED = re.compile(
    rf"(?i:{_NUMBER}(?:[ed][+-]?\d+)?[il]?|{_AMOUNT}|\({_AMOUNT}\)|\d+ \d{{1,3}}/\d{{1,3}}"
    r"|\d+[+-]\d+i|0[xb][\da-f]+|inf(?:inity)?"
    r"|\d{1,2}[-/]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{2}|\d{4})|\d{1,2}[-/]\d{4}"
    rf"|\d{{4}}[-/.]\d{{1,2}}(?:[-/.]\d{{1,2}}(?:[ t]{_TIME})?)?|{_TIME}"
    rf"|{_WEEKDAY}?{_MONTH}[- ]?\d{{1,4}}(?:,? \d{{2,4}})?|\d{{1,2}}[- ]?{_MONTH}(?:[- ]?\d{{2,4}})?)"
    r"|T|F|t|f|TRUE|FALSE|True|False|true|false"
    r"|NA|N/A|n/a|NaN|nan|NULL|null|None|<NA>|#N/?A(?: N/A)?|1\.#(?:IND|QNAN)"
)
# ... but for numbers and days that are written as each of them writes them.
_SAME = re.compile(r"(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{0,9}[1-9])?|[0-9]{4}-[0-9]{2}-[0-9]{2}")
_LONGEST_CHANGED = 40


def _is_taken_for_another(text: str) -> bool:
    if _FORMULA.match(text):
        return True
    return len(text) <= _LONGEST_CHANGED and bool(_CHANGED.fullmatch(text.strip())) and not _SAME.fullmatch(text)


@lru_cache(maxsize=1_000)  # cells of a column are often the same
def neutralised(text: str) -> str:
    """Text that no spreadsheet takes for a formula, whatever ends a cell there, and no program for anything but text:
    one apostrophe in front of what could be. Reversible: see ``restored``.
    """
    text = _INSIDE.sub(r"\1'", text)
    return "'" + text if _is_taken_for_another(text) else text


def restored(cell: str) -> str:
    """The text before ``neutralised``."""
    return _MARKED_INSIDE.sub(r"\1", cell.removeprefix("'"))


def read_cell(cell: str) -> str:
    """The text of a cell of any file: an apostrophe goes only where ``neutralised`` would have put it."""
    return _MARKED_INSIDE.sub(r"\1", cell[1:] if cell[:1] == "'" and _is_taken_for_another(cell[1:]) else cell)
