"""A table for print: the words of every cell, numbers rounded at the last moment, parts that fit a page. Pure.

The same as LaTeX in the style of booktabs, from text that cannot break out.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal

from msgspec import Struct

from annotation.statistics.kernels.catalogue import Scale
from annotation.statistics.kernels.estimate import Value
from annotation.tables.kernels.forms import printed_percent
from annotation.tables.kernels.table import (
    BY_CLUSTER,
    TEXT,
    Column,
    Counted,
    Kind,
    Name,
    ShownEstimate,
    Table,
    TableCell,
)

NONE, NO_INTERVAL, NOT_SHOWN = "n/a", "no interval", "not shown"
INTERVAL = "95% CI"
MARKS = {"small_n": "†", "few_disagreements": "‡"}
BEST = "*"
AT_ONCE = 8  # columns of stacked estimates beside each other
MINUS = "\N{MINUS SIGN}"
Row = list[str]


class Printed(Struct, frozen=True):
    """One or more tables below one caption. A part is a head with its rows; all parts have as many columns."""

    name: str
    caption: str
    sides: str  # l or r of every column
    parts: Sequence[tuple[Row, list[Row]]]


def printed(name: str, tables: Sequence[Table], ending: str = "") -> Printed:
    """``ending``: what every caption says last."""
    parts = [part for table in tables for part in _parts(table)]
    width = max(len(columns) for columns, _rows in parts)
    captions = (" ".join(filter(None, [table.caption, table.note])) for table in tables)
    sides = "".join("l" if column.kind == TEXT else "r" for column in parts[0][0])
    return Printed(
        name,
        " ".join([*dict.fromkeys(captions), ending]).strip(),
        sides + "r" * (width - len(sides)),
        [(_filled(map(_head, columns), width), [_filled(row, width) for row in rows]) for columns, rows in parts],
    )


def _filled(cells: Sequence[str] | Iterator[str], width: int) -> Row:
    found = list(cells)
    return found + [""] * (width - len(found))


def _head(column: Column) -> str:
    return column.name if column.n is None else f"{column.name} {_of_n(column.n)}"


def _of_n(n: int) -> str:
    return f"(n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n})"  # on one line


def _parts(table: Table) -> Iterator[tuple[list[Column], list[Row]]]:
    if not table.is_stacked:
        columns = [one for column in table.columns for one in _beside(column)]
        pairs = [list(zip(table.columns, row, strict=True)) for row in table.rows]
        yield columns, [[word for column, cell in row for word in _side(column, cell)] for row in pairs]
        return
    first, *others = table.columns
    for start in range(0, len(others), AT_ONCE):
        chosen = others[start : start + AT_ONCE]
        rows: list[Row] = []
        for head, *cells in table.rows:
            own = list(zip(chosen, cells[start : start + AT_ONCE], strict=True))
            n = head.n if isinstance(head, Name) else None
            values = [_words(cell) for _column, cell in own]
            below = [_below(cell, n if column.n is None else column.n) for column, cell in own]
            rows += [[_words(head), *values], ["", *below]] if any(values) else [[_words(head), *below]]
            rows.append(["", *map(_clustered, (cell for _column, cell in own))])
            rows[-1][0] = f"\N{EM SPACE}{BY_CLUSTER}" if any(rows[-1]) else ""
        yield [first, *chosen], [row for row in rows if any(row)]


def _beside(column: Column) -> Iterator[Column]:
    yield column
    if column.kind == Kind.ESTIMATE and column.has_interval:
        yield Column(INTERVAL, Kind.ESTIMATE)


def _side(column: Column, cell: TableCell) -> Iterator[str]:
    """The cell, and its interval or why there is none in the column beside it."""
    if not (column.kind == Kind.ESTIMATE and column.has_interval):
        yield number(cell.one, cell.scale) if isinstance(cell, ShownEstimate) else _words(cell)
    else:
        yield _words(cell)
        yield (limits(cell.one, cell.scale) or _why(cell)) if isinstance(cell, ShownEstimate) else ""


def _why(cell: ShownEstimate) -> str:
    return "" if cell.one["reason"] == "hidden" else cell.caution


def _words(cell: TableCell) -> str:
    if isinstance(cell, ShownEstimate):
        return "" if cell.is_same else marked(number(cell.one, cell.scale), cell.one) + BEST * cell.is_best
    if isinstance(cell, Name):
        return cell.text if cell.n is None else f"{cell.text} {_of_n(cell.n)}"
    if isinstance(cell, Counted):
        return f"{cell.count} ({printed_percent(cell.count / cell.of, cell.of)}%)" if cell.count else "0"
    return "" if cell is None else str(cell)


def _below(cell: TableCell, n: int | None) -> str:
    """The interval or why there is none, and n where it is not that of the column or row."""
    if not isinstance(cell, ShownEstimate):
        return ""
    one, is_hidden = cell.one, cell.one["reason"] == "hidden"
    interval = limits(one, cell.scale) or ("" if is_hidden else cell.caution or NO_INTERVAL)
    return ", ".join(filter(None, [interval, "" if one["n"] == n and not is_hidden else f"n = {one['n']}"]))


def _clustered(cell: TableCell) -> str:
    own = cell.clustered if isinstance(cell, ShownEstimate) else None
    return (limits(own.one, own.scale) or own.caution) if own else ""


# --- numbers --------------------------------------------------------------------------------------
def number(one: Value, scale: Scale) -> str:
    """Without a unit: the head or the caption says it."""
    if one["value"] is None:
        return NOT_SHOWN if one["reason"] == "hidden" else NONE
    return _rounding(scale, one["n"])(one["value"])


def limits(one: Value, scale: Scale) -> str:
    """The 95 % limits in brackets; empty where there is no interval."""
    ends = " to ".join(map(_rounding(scale, one["n"]), one["ci95"] or ()))
    return f"({ends})" if ends else ""


def _rounding(scale: Scale, n: int) -> Callable[[float], str]:
    if scale in (Scale.SHARE, Scale.POINTS):
        return lambda value: printed_percent(value, n, signed=scale is Scale.POINTS)
    if scale is Scale.P:
        return lambda value: "<0.001" if value < 0.001 else fixed(value, 3)
    places = {Scale.SECONDS: 1, Scale.CHANGE: 2}.get(scale, 3)
    return lambda value: fixed(value, places, signed=scale is Scale.CHANGE)


def fixed(value: float, places: int, *, signed: bool = False) -> str:
    """With so many decimals and a true minus; no minus before a zero."""
    rounded = Decimal(f"{value:.{places}f}")
    if not rounded:
        return f"{abs(rounded)}"
    return f"{MINUS}{abs(rounded)}" if rounded < 0 else f"+{rounded}" if signed else f"{rounded}"


def marked(text: str, one: Value) -> str:
    """A dagger where n is small, a double one where few disagree."""
    marks = "".join(mark for flag, mark in MARKS.items() if flag in one["flags"])
    return text if text in (NONE, NOT_SHOWN) else f"{text}{marks}"


# --- as LaTeX ----------------------------------------------------------------------------------------
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
    return sum(1 + len(rows) for _tex_head, rows in table.parts) > MOST_LINES


def tex(table: Printed) -> str:
    return _long(table) if is_long(table) else _floating(table)


def _floating(table: Printed) -> str:
    lines = [r"\begin{table}[htbp]", r"\centering\scriptsize", r"\setlength{\tabcolsep}{3pt}"]
    lines += [r"\setlength{\belowcaptionskip}{4pt}"]
    lines += [rf"\caption{{{escaped(table.caption)}}}", rf"\label{{tab:{table.name}}}"]
    lines += [rf"\begin{{tabular}}{{@{{}}{table.sides}@{{}}}}", r"\toprule", *_tex_parts(table)]
    return _text([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _long(table: Printed) -> str:
    """The head is repeated on every page; with several parts each head comes where its part begins."""
    lines = [r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}", rf"\begin{{longtable}}{{@{{}}{table.sides}@{{}}}}"]
    lines += [rf"\caption{{{escaped(table.caption)}}}\label{{tab:{table.name}}}\\", r"\toprule"]
    if len(table.parts) == 1:
        [(head, rows)] = table.parts
        lines += [
            _tex_head(head),
            r"\midrule",
            r"\endfirsthead",
            r"\toprule",
            _tex_head(head),
            r"\midrule",
            r"\endhead",
        ]
        lines += [r"\bottomrule", r"\endfoot", *map(_tex_row, rows)]
    else:
        lines += [r"\endfirsthead", r"\toprule", r"\endhead", r"\bottomrule", r"\endfoot", *_tex_parts(table)]
    return _text([*lines, r"\end{longtable}", r"\endgroup"])


def _tex_parts(table: Printed) -> list[str]:
    lines: list[str] = []
    for head, rows in table.parts:
        lines += [r"\midrule"] if lines else []
        lines += [_tex_head(head), r"\midrule", *map(_tex_row, rows)]
    return lines


def _tex_head(cells: Row) -> str:
    return " & ".join([escaped(cells[0]), *map(stacked, cells[1:])]) + r" \\"


def _tex_row(cells: Row) -> str:
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
