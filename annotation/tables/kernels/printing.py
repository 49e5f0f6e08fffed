"""A table for print: the words of every cell, numbers rounded at the last moment, parts that fit a page. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
