"""The lists of docs/analysis.md that follow from the code: ``python -m tests.readerstudy.analysis.result_page``."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from annotation.statistics.kernels.catalogue import CATALOGUE
from annotation.statistics.kernels.cautions import FLAGS, REASONS
from annotation.statistics.kernels.estimate import DrawnValue, Value, ValueWithError
from readerstudy.analysis.kernels.panel_result import MultiReaderPanel, MultiReaderValue
from readerstudy.analysis.kernels.result import ResultPart, StoredAnalysis, Times
from tests.architecture.source import ROOT

PAGE = ROOT / "docs" / "analysis.md"
BASES: tuple[Any, ...] = (ResultPart, MultiReaderValue, MultiReaderPanel, Times, DrawnValue, ValueWithError, Value)
SHAPE = re.compile(r"<!-- shape -->.*?<!-- end -->", re.DOTALL)
NAMES = re.compile(r"<!-- statistics -->.*?<!-- end -->", re.DOTALL)


def shape_lines() -> Iterator[str]:
    """Each type once, in the order in which it is met, with its names, what they hold and what they mean."""
    waiting, seen = [StoredAnalysis], {StoredAnalysis}
    while waiting:
        kind = waiting.pop(0)
        text = f"**{kind.__name__}**{about(kind)}: {'; '.join(names_of(kind))}."
        yield textwrap.fill(text, 140, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        hints = get_type_hints(kind, include_extras=True).values()
        for part in (*filter(None, [base_of(kind)]), *(part for hint in hints for part in parts_of(hint))):
            if is_typeddict(part) and part not in seen:
                seen.add(part)
                waiting.append(part)


def base_of(kind: Any) -> Any | None:
    """The type whose names this one has, too: a TypedDict does not remember it."""
    hints = get_type_hints(kind, include_extras=True).items()
    return next(
        (one for one in BASES if one is not kind and get_type_hints(one, include_extras=True).items() <= hints), None
    )


def about(kind: Any) -> str:
    text = " ".join((kind.__doc__ or "").split()).rstrip(".").replace("``", "`")
    return f" ({text[0].lower()}{text[1:]})" if text and not text.startswith("dict(") else ""


def names_of(kind: Any) -> Iterator[str]:
    hints, base = get_type_hints(kind, include_extras=True), base_of(kind)
    if base is not None:
        yield f"all of *{base.__name__}*"
        hints = {name: hint for name, hint in hints.items() if name not in get_type_hints(base)}
    for name, hint in hints.items():
        optional = "?" if get_origin(hint) is NotRequired else ""
        held = [part.__name__ for part in parts_of(hint) if is_typeddict(part)]
        noted = [part for part in (hint, *get_args(hint)) if get_origin(part) is Annotated]
        words = ", ".join([*(f"*{one}*" for one in held), *(text for part in noted for text in part.__metadata__)])
        yield f"`{name}`{optional}" + (f" {words}" if words else "")


def parts_of(hint: Any) -> Iterator[Any]:
    if get_origin(hint) in (Annotated, NotRequired):
        yield from parts_of(get_args(hint)[0])
    elif get_args(hint):
        for part in get_args(hint):
            yield from parts_of(part)
    else:
        yield hint


def statistic_lines() -> Iterator[str]:
    yield "| entry | name | on pages | what it is | 95 % interval |"
    yield "| --- | --- | --- | --- | --- |"
    for one in CATALOGUE.values():
        name = f"mean_{one.name}_*" if one.about == "means" else one.name
        yield f"| {one.about} | `{name}` | {one.label} | {one.meaning} | {one.interval or 'none'} |"
    yield ""
    yield "Flags: " + "; ".join(f"`{code}` {one.meaning}" for code, one in FLAGS.items()) + "."
    yield ""
    yield "Reasons: " + "; ".join(f"`{code}` {one.meaning}" for code, one in REASONS.items()) + "."


def written(page: str) -> str:
    shape = "\n".join(["<!-- shape -->", *shape_lines(), "<!-- end -->"])
    names = "\n".join(["<!-- statistics -->", *statistic_lines(), "<!-- end -->"])
    return NAMES.sub(lambda _: names, SHAPE.sub(lambda _: shape, page))


def main(page: Path = PAGE) -> None:
    page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
