"""Tables as LaTeX in the style of booktabs, from text that cannot break out. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from annotation.tables.kernels.printing import Printed, Row

PACKAGES = ("booktabs", "longtable")
LONGEST_HEAD = 28  # signs in a line of the head of a row
LONGEST_COLUMN = 15  # of a column of numbers
MOST_LINES = 24  # of a table that floats
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": "{'}",
    "-": "{-}",
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    "\N{MINUS SIGN}": "$-$",
    "\N{EN DASH}": "--",
    "\N{EM DASH}": "---",
    "\N{RIGHT SINGLE QUOTATION MARK}": "{'}",
    "\N{LEFT SINGLE QUOTATION MARK}": "{`}",
    "\N{LEFT DOUBLE QUOTATION MARK}": "``",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "{''}",
    "\N{HORIZONTAL ELLIPSIS}": r"\ldots{}",
    "\N{NO-BREAK SPACE}": "~",
    "\N{MULTIPLICATION SIGN}": r"$\times$",
    "\N{MIDDLE DOT}": r"$\cdot$",
    "\N{EM SPACE}": r"\quad ",
    "†": r"\textsuperscript{\textdagger}",
    "‡": r"\textsuperscript{\textdaggerdbl}",
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def escaped(text: str) -> str:
    """Text as it is read: nothing in it is a command, joins letters to a ligature or ends a cell or a row."""
    return "".join(_SPECIAL.get(sign, sign) for sign in _CONTROL.sub(" ", text))


def stacked(text: str) -> str:
    """The head of a column of numbers, broken into short lines."""
    lines = [escaped(line) for line in textwrap.wrap(text, LONGEST_COLUMN)]
    return r"\shortstack[r]{" + r"\\".join(lines) + "}" if len(lines) > 1 else "".join(lines)


def row_head(text: str) -> str:
    """Who a row is about, in lines that leave room for the numbers, however long the names are."""
    lines = [escaped(line) for line in textwrap.wrap(text, LONGEST_HEAD, break_on_hyphens=False)]
    if len(lines) < 2:
        return "".join(lines)
    return r"\begin{tabular}[t]{@{}l@{}}" + r"\\".join(lines) + r"\end{tabular}"


def is_long(table: Printed) -> bool:
    """Whether it may go over several pages."""
    return sum(1 + len(rows) for _head, rows in table.parts) > MOST_LINES


def tex(table: Printed) -> str:
    return _long(table) if is_long(table) else _floating(table)


def _floating(table: Printed) -> str:
    lines = [r"\begin{table}[htbp]", r"\centering\scriptsize", r"\setlength{\tabcolsep}{3pt}"]
    lines += [r"\setlength{\belowcaptionskip}{4pt}"]
    lines += [rf"\caption{{{escaped(table.caption)}}}", rf"\label{{tab:{table.name}}}"]
    lines += [rf"\begin{{tabular}}{{@{{}}{table.sides}@{{}}}}", r"\toprule", *_parts(table)]
    return _text([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _long(table: Printed) -> str:
    """The head is repeated on every page; with several parts each head comes where its part begins."""
    lines = [r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}", rf"\begin{{longtable}}{{@{{}}{table.sides}@{{}}}}"]
    lines += [rf"\caption{{{escaped(table.caption)}}}\label{{tab:{table.name}}}\\", r"\toprule"]
    if len(table.parts) == 1:
        [(head, rows)] = table.parts
        lines += [_head(head), r"\midrule", r"\endfirsthead", r"\toprule", _head(head), r"\midrule", r"\endhead"]
        lines += [r"\bottomrule", r"\endfoot", *map(_row, rows)]
    else:
        lines += [r"\endfirsthead", r"\toprule", r"\endhead", r"\bottomrule", r"\endfoot", *_parts(table)]
    return _text([*lines, r"\end{longtable}", r"\endgroup"])


def _parts(table: Printed) -> list[str]:
    lines: list[str] = []
    for head, rows in table.parts:
        lines += [r"\midrule"] if lines else []
        lines += [_head(head), r"\midrule", *map(_row, rows)]
    return lines


def _head(cells: Row) -> str:
    return " & ".join([escaped(cells[0]), *map(stacked, cells[1:])]) + r" \\"


def _row(cells: Row) -> str:
    return " & ".join([row_head(cells[0]), *map(escaped, cells[1:])]) + r" \\"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def whole_document(tables: Sequence[Printed], title: str) -> str:
    """A document of its own that shows every table, in landscape."""
    lines = [r"\documentclass[10pt]{article}", r"\usepackage[a4paper,landscape,margin=14mm]{geometry}"]
    lines += [r"\usepackage[T1]{fontenc}", r"\usepackage[utf8]{inputenc}", r"\usepackage{textcomp}"]
    lines += [*(rf"\usepackage{{{name}}}" for name in PACKAGES), r"\setlength{\LTcapwidth}{\textwidth}"]
    lines += [r"\begin{document}", rf"\section*{{{escaped(title)}}}"]
    for table in tables:  # those that float stand before one that may break, in the order of their numbers
        lines += [r"\clearpage"] if is_long(table) else []
        lines.append(rf"\input{{{table.name}.tex}}")
    return _text([*lines, r"\end{document}"])
