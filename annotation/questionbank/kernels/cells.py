"""Cells of CSV files that a spreadsheet could take for a formula. Pure.

What a table of ours marks by an apostrophe comes in again without it: options such as "-5 mm" stay what they are.
"""

from __future__ import annotations

import re

# A cell that a spreadsheet could take for a formula, or that starts with the apostrophe that marks one here.
_FORMULA = re.compile(r"^(?:'|\s*[=+\-@＝＋－＠﹢﹣﹦﹫]|[\t\r\n])")


def neutralised(text: str) -> str:
    """Text that no spreadsheet takes for a formula: one apostrophe in front of what could be one.

    Reversible: whoever reads the file takes one leading apostrophe away, see ``restored``.
    """
    return "'" + text if _FORMULA.match(text) else text


def restored(cell: str) -> str:
    """The text before ``neutralised``."""
    return cell.removeprefix("'")


def read_cell(cell: str) -> str:
    """The text of a cell of any file: an apostrophe goes only where ``neutralised`` would have put it."""
    return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell[1:]) else cell
