"""Tables as LaTeX in the style of booktabs: text that cannot break out, numbers rounded at the last moment,
captions that name the rule. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from annotation.figures.kernels.forms import printed_percent
from annotation.statistics.kernels.estimate import Value
from readerstudy.analysis.kernels.result import ALL_TASKS, StoredAnalysis
from readerstudy.results.kernels.stored import post_hoc_models

PACKAGES = ("booktabs", "longtable")
NONE = "n/a"
MARKS = {"small_n": r"\textdagger", "few_disagreements": r"\textdaggerdbl"}
LONGEST_HEAD = 28  # signs in a line of the head of a row
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
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")
INTERVAL = r"95\,\% interval"
SHARED_DIFFICULTY = (
    "Raters who share nothing but the difficulty of questions have 7 to 13 points of excess and an error consistency "
    "of 0.27 to 0.45, one attractive distractor adds 3 to 4 points; excess is no proof of shared reasoning."
)
Rows = list[list[str]]


def escaped(text: str) -> str:
    """Text as it is read: nothing in it is a command, joins letters to a ligature or ends a cell or a row."""
    return "".join(_SPECIAL.get(sign, sign) for sign in _CONTROL.sub(" ", text))


_PLAIN = {sign: text for text, sign in _SPECIAL.items()} | {
    r"\begin{tabular}[t]{@{}l@{}}": "",
    r"\end{tabular}": "",
    r"\shortstack[r]": "",
    r"\textsuperscript": "",
    r"\textdaggerdbl": "‡",
    r"\textdagger": "†",
    r"$\pm$": "±",
    r"\quad ": "\N{EM SPACE}",
    r"\,": "",
    r"\\": " ",
    "''": "”",
    "{": "",
    "}": "",
}
_TOKENS = re.compile("|".join(re.escape(one) for one in sorted(_PLAIN, key=len, reverse=True)))


def plain(tex: str) -> str:
    """What a cell or a caption reads in print: names come back as they were, with the apostrophe of print."""
    return _TOKENS.sub(lambda found: _PLAIN[found[0]], tex)


# --- numbers --------------------------------------------------------------------------------------
def fixed(value: float | None, places: int, *, signed: bool = False) -> str:
    """With so many decimals and a true minus; no minus before a zero."""
    if value is None:
        return NONE
    number = Decimal(f"{value:.{places}f}")
    if not number:
        return f"{abs(number)}"
    return f"$-${abs(number)}" if number < 0 else f"+{number}" if signed else f"{number}"


def percent(one: Value, *, signed: bool = False) -> str:
    """A share, or a difference, in percent with the decimals of the figures; without the sign for percent."""
    return percent_of(one["value"], one["n"], signed=signed)


def percent_of(value: float | None, n: int, *, signed: bool = False) -> str:
    return NONE if value is None else escaped(printed_percent(value, n, signed=signed))


def limits(one: Value, places: int, *, signed: bool = False) -> str:
    """The 95 % limits in brackets; empty where there is no interval."""
    return _in_brackets(fixed(limit, places, signed=signed) for limit in one["ci95"] or ())


def percent_limits(one: Value, *, signed: bool = False) -> str:
    return _in_brackets(percent_of(limit, one["n"], signed=signed) for limit in one["ci95"] or ())


def _in_brackets(ends: Iterable[str]) -> str:
    text = " to ".join(ends)
    return f"({text})" if text else ""


def p_value(p: float | None) -> str:
    if p is None:
        return NONE
    return r"\textless{}0.001" if p < 0.001 else fixed(p, 3)


def marked(text: str, one: Value) -> str:
    """A dagger where n is small, a double one where few disagree."""
    marks = [mark for flag, mark in MARKS.items() if flag in one["flags"]]
    return rf"{text}\textsuperscript{{{''.join(marks)}}}" if marks and text != NONE else text


def stacked(text: str, width: int = 15) -> str:
    """The head of a column of numbers: plain text, broken into short lines."""
    lines = [escaped(line) for line in textwrap.wrap(text, width)]
    if len(lines) < 2:
        return "".join(lines)
    return r"\shortstack[r]{" + r"\\".join(lines) + "}"


def row_head(*names: str) -> str:
    """Who a row is about, in lines that leave room for the numbers, however long the names are."""
    lines = [escaped(line) for line in textwrap.wrap(", ".join(names), LONGEST_HEAD, break_on_hyphens=False)]
    if len(lines) < 2:
        return "".join(lines)
    return r"\begin{tabular}[t]{@{}l@{}}" + r"\\".join(lines) + r"\end{tabular}"


# --- tables ---------------------------------------------------------------------------------------
@dataclass(frozen=True)
class TexTable:
    """Cells are LaTeX already. A part is a head of its own with its rows, under the same columns."""

    name: str
    caption: str
    columns: str  # as in tabular: "lrr"
    parts: Sequence[tuple[Sequence[str], Sequence[Sequence[str]]]]
    is_long: bool = False  # may go over several pages

    def tex(self) -> str:
        return _long(self) if self.is_long else _floating(self)


def _floating(table: TexTable) -> str:
    lines = [r"\begin{table}[htbp]", r"\centering\scriptsize", r"\setlength{\tabcolsep}{3pt}"]
    lines += [r"\setlength{\belowcaptionskip}{4pt}"]
    lines += [rf"\caption{{{table.caption}}}", rf"\label{{tab:{table.name}}}"]
    lines += [rf"\begin{{tabular}}{{@{{}}{table.columns}@{{}}}}", r"\toprule"]
    for place, (head, rows) in enumerate(table.parts):
        lines += [r"\midrule"] if place else []
        lines += [_row(head), r"\midrule", *map(_row, rows)]
    return _text([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])


def _long(table: TexTable) -> str:
    """The head is repeated on every page; with several parts each head comes where its part begins."""
    lines = [r"\begingroup\scriptsize\setlength{\tabcolsep}{3pt}", rf"\begin{{longtable}}{{@{{}}{table.columns}@{{}}}}"]
    lines += [rf"\caption{{{table.caption}}}\label{{tab:{table.name}}}\\", r"\toprule"]
    if len(table.parts) == 1:
        head, rows = table.parts[0]
        lines += [_row(head), r"\midrule", r"\endfirsthead", r"\toprule", _row(head), r"\midrule", r"\endhead"]
        lines += [r"\bottomrule", r"\endfoot", *map(_row, rows)]
        return _text([*lines, r"\end{longtable}", r"\endgroup"])
    lines += [r"\endfirsthead", r"\toprule", r"\endhead", r"\bottomrule", r"\endfoot"]
    for place, (head, rows) in enumerate(table.parts):
        lines += [r"\midrule"] if place else []
        lines += [_row(head), r"\midrule", *map(_row, rows)]
    return _text([*lines, r"\end{longtable}", r"\endgroup"])


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"


def whole_document(tables: Sequence[TexTable], title: str) -> str:
    """A document of its own that shows every table, in landscape."""
    lines = [r"\documentclass[10pt]{article}", r"\usepackage[a4paper,landscape,margin=14mm]{geometry}"]
    lines += [r"\usepackage[T1]{fontenc}", r"\usepackage[utf8]{inputenc}", r"\usepackage{textcomp}"]
    lines += [*(rf"\usepackage{{{name}}}" for name in PACKAGES), r"\setlength{\LTcapwidth}{\textwidth}"]
    lines += [r"\begin{document}", rf"\section*{{{title}}}"]
    for table in tables:  # those that float stand before one that may break, in the order of their numbers
        lines += [r"\clearpage"] if table.is_long else []
        lines.append(rf"\input{{{table.name}.tex}}")
    return _text([*lines, r"\end{document}"])


def caption(result: StoredAnalysis, text: str) -> str:
    """The study is named, and simulated data says so in every caption."""
    simulated = " Simulated data." if result["simulated"] else ""
    return f"{text} Study: {escaped(result['study'])}.{simulated}"


def rater_head(result: StoredAnalysis, *names: str) -> str:
    """The head of a row about these raters, which says of a model that it is post hoc."""
    late = {one["name"] for one in post_hoc_models(result)}
    return row_head(*(f"{name} (post hoc)" if name in late else name for name in names))


def failed_rule(result: StoredAnalysis) -> str:
    is_wrong = result["settings"]["failed_in_accuracy"] == "wrong"
    return "count as wrong" if is_wrong else "are left out of accuracy"


def bootstrap_rule(result: StoredAnalysis) -> str:
    drawn = "patients or exams" if result["panels"][ALL_TASKS]["unit"] == "cluster" else "questions"
    settings = result["settings"]
    draws = f"{settings['draws']:,} draws, seed {settings['seed']}"
    return rf"95\,\% intervals: percentile bootstrap over {drawn}, {draws}, raters fixed."


def pair_rule(result: StoredAnalysis) -> str:
    """The intervals of pairs: what agrees by Wilson where questions are drawn, and none without a disagreement."""
    by_wilson = ""
    if result["panels"][ALL_TASKS]["unit"] == "question":
        by_wilson = " Brennan--Prediger: Wilson's limits of the same option, rescaled."
    return f"{bootstrap_rule(result)}{by_wilson} None where two agree on all questions or on none."


def layout(n_columns: int) -> str:
    return "l" + "r" * n_columns


def with_n(text: str, n: int) -> str:
    return f"{text} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n})"


def quotes(text: str) -> str:
    return text.replace("“", "``").replace("”", "''")
