"""In which sizes and files a figure comes, and its words and numbers. Loads no matplotlib. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from itertools import groupby, takewhile
from textwrap import fill


class Width(StrEnum):
    """Columns of a journal: 85 mm and 178 mm."""

    ONE = "one"
    TWO = "two"


class FigureForm(StrEnum):
    SVG = "svg"
    PDF = "pdf"
    PNG = "png"


BLUE, ORANGE = "#0b3c6f", "#d9822b"  # dark blue and orange: apart in grey and for all colour vision
COLUMNS = {Width.ONE: "one-column", Width.TWO: "two-columns"}


def download_header(subject: str, figure: str, width: Width, form: FigureForm) -> str:
    """Content-Disposition of a file that a link saves under a name that says what it is; as an image it shows."""
    return f'attachment; filename="{subject}-{figure}-{COLUMNS[width]}.{form}"'


FIGURE_TYPES = {FigureForm.SVG: "image/svg+xml", FigureForm.PDF: "application/pdf", FigureForm.PNG: "image/png"}


LONGEST_NAME = 22


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """Cut in the middle: versions of one model often differ in their last signs only."""
    if len(name) <= longest:
        return name
    kept_in_front = longest * 6 // 11
    return f"{name[:kept_in_front]}…{name[kept_in_front + 1 - longest :]}"


WORD = re.compile(r"(?:[^\s/_:-]|(?<=\d)-(?=\d))*[\s/_:-]*")  # with what parts it from the next; a date is one word


def told_apart(names: Sequence[str], longest: int = LONGEST_NAME) -> tuple[list[str], str]:
    """Each name as a figure writes it, and once what the figure leaves out: "Simulated radiologist 1, 2, …, 8".

    Names that are too long lose the words with which others of them begin too, so that the number or name that tells
    them apart comes first; what is still too long is cut in the middle.
    """
    starts = _starts(sorted(set(names)), 0, longest)
    while alike := _alike(starts, longest):  # "reader 1" of two hospitals: with the word before
        starts |= {
            name: max(one.start() for one in WORD.finditer(name) if one.start() < starts[name]) for name in alike
        }
    left_out: dict[str, list[str]] = {}
    for name, start in starts.items():
        if start:
            left_out.setdefault(name[:start], []).append(name[start:])
    return [short(name[starts[name] :], longest) for name in names], "; ".join(
        before + ", ".join(_ends(sorted(ends, key=lambda end: (len(end), end)))) for before, ends in left_out.items()
    )


def _starts(names: list[str], start: int, longest: int) -> dict[str, int]:
    """By name how many signs are left out in front: whole words that several of the sorted ``names`` share."""
    if len(names) == 1 or all(len(name) - start <= longest for name in names):
        return dict.fromkeys(names, start)
    words = ([one[0] for one in WORD.finditer(name, start)][:-2] for name in (names[0], names[-1]))  # all but the last
    shared = start + sum(
        len(one) for one, other in takewhile(lambda pair: pair[0] == pair[1], zip(*words, strict=False))
    )
    if all(len(name) - shared <= longest for name in names):
        return dict.fromkeys(names, shared)
    groups = groupby(names, lambda name: name[shared : _end_of_word(name, shared)])
    return {name: at for _word, group in groups for name, at in _starts(list(group), shared, longest).items()}


def _end_of_word(name: str, start: int) -> int | None:
    """None for the last word."""
    end = next(WORD.finditer(name, start)).end()
    return end if end < len(name) else None


def _alike(starts: dict[str, int], longest: int) -> list[str]:
    """Names that would be written as another one is, and left out words that may stay."""
    shown = {name: short(name[start:], longest) for name, start in starts.items()}
    times = Counter(shown.values())
    return [name for name, start in starts.items() if start and times[shown[name]] > 1]


def _ends(ends: list[str]) -> list[str]:
    """All of them, but of many numbers the first and the last."""
    return ends if len(ends) < 6 or not all(map(str.isdecimal, ends)) else [*ends[:2], "…", ends[-1]]


def title_with_n(title: str, n: int, signs: int, behind: str = "") -> str:
    """Of a panel, in lines of so many signs, the letter of the panel in the first; "(n = 12)" is never parted."""
    letter = " " * 3
    heading = f"{title} (n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{n}){behind}"
    lines = fill(heading, signs, initial_indent=letter, break_on_hyphens=False)[len(letter) :]
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def printed_percent(value: float, n: int, *, signed: bool = False) -> str:
    """A share in percent, or a difference in points: one decimal below n = 1,000, two from there on."""
    text = f"{100 * value:{'+' if signed else ''}.{1 if n < 1000 else 2}f}"
    return text.lstrip("+-") if not float(text) else text.replace("-", "\N{MINUS SIGN}")
