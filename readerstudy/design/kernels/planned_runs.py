"""Which run stands for a model of several runs, as an analysis plan says it: read from a plan and from lines. Pure.

As with pairs, whom a name means is found when the study is analysed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from readerstudy.design.kernels.planned_pairs import BETWEEN, GROUPS, fault_of_name, folded

MEAN_OF_RUNS = "mean of all runs"
ONE_RUN = re.compile(r"run ([1-9][0-9]{0,3})")
MOST_RUNS = 100
WHAT_DOES = f"“{MEAN_OF_RUNS}”, or “run 2” for the second"

PlannedRun = tuple[str, str]  # name of a model; "mean of all runs", or "run" and its number


class RunsRefused(ValueError):
    """The sentence names the line, and what would do."""


def read_runs(data: object) -> tuple[PlannedRun, ...]:
    """Runs from JSON: a list, on each line a name and a run. Raises RunsRefused."""
    if not isinstance(data, list | tuple):
        raise RunsRefused(f'The runs are a list, each of two texts: [["Model A", "{MEAN_OF_RUNS}"]].')
    return _read(enumerate(data, 1))


def runs_of_text(text: str) -> tuple[PlannedRun, ...]:
    """One model on each line that is not empty, as ``text_of_runs`` writes it. Raises RunsRefused."""
    lines = enumerate(text.splitlines(), 1)
    return _read((number, line.split(BETWEEN)) for number, line in lines if line.strip())


def text_of_runs(runs: Iterable[PlannedRun]) -> str:
    return "\n".join(f" {BETWEEN} ".join(run) for run in runs)


def run_number(said: str) -> int | None:
    """None: the mean of all runs."""
    found = ONE_RUN.fullmatch(said)
    return int(found[1]) if found else None


def _read(lines: Iterable[tuple[int, object]]) -> tuple[PlannedRun, ...]:
    found: list[PlannedRun] = []
    line_of: dict[str, int] = {}
    for number, line in lines:
        name, said = _read_line(line, number)
        first = line_of.setdefault(folded(name), number)
        if first != number:
            raise RunsRefused(f"Line {number}: “{name}” stands on line {first} already. Leave one of the two.")
        found.append((name, said))
    if len(found) > MOST_RUNS:
        raise RunsRefused(f"A plan names the runs of {MOST_RUNS} models at the most; these are {len(found)}.")
    return tuple(found)


def _read_line(line: object, number: int) -> PlannedRun:
    if not isinstance(line, list | tuple) or len(line) != 2:
        raise RunsRefused(f"Line {number}: write the name of a model, one {BETWEEN}, and {WHAT_DOES}.")
    name, said = (" ".join(one.split()) if isinstance(one, str) else "" for one in line)
    fault = fault_of_name(name)
    if fault:
        raise RunsRefused(f"Line {number}: {fault}")
    if name.lower() in GROUPS:
        raise RunsRefused(f"Line {number}: name one model, not “{name}”.")
    if said.lower() != MEAN_OF_RUNS and not ONE_RUN.fullmatch(said.lower()):
        shown = f"“{said}” is no run" if said else "the run is missing"
        raise RunsRefused(f"Line {number}: {shown}. Write {WHAT_DOES}.")
    return name, said.lower()
