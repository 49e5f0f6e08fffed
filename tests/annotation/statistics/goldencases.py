"""Worked examples that other software reproduced, each a file of inputs and expected values.

Those typed from publications or simulated lie in ``golden/``, with their source; others are read where they are.
A newer file takes the place of an older one of its name.
A module ``golden_*.py`` holds one ``GOLDEN``: which files it computes from, and which of their values are its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
SHARED = HERE.parents[4] / "shared" / "stats"
FOLDERS = (SHARED / "golden-4", SHARED / "golden-3", HERE.parent / "golden", SHARED / "golden")

Found = dict[str, Any]


def at_hand() -> list[str]:
    """Names of all files on this machine."""
    return sorted({path.stem for folder in FOLDERS for path in folder.glob("*.json")})


@cache
def read(name: str) -> Any:
    """The file of this name, or None where it is not on this machine."""
    path = next((folder / f"{name}.json" for folder in FOLDERS if (folder / f"{name}.json").is_file()), None)
    return None if path is None else json.loads(path.read_text())


class Golden:
    """Values of some files, computed by us.

    Parameters
    ----------
    files : name of a file -> function from its ``input`` to our values, by the names of its expected ones
    own : kind of file -> regular expression of the names that are computed here
    """

    def __init__(self, files: Mapping[str, Callable[[Any], Found]], own: Mapping[str, str]) -> None:
        self.files = files
        self.own = own
        self._found: dict[str, Found] = {}

    def names(self) -> Iterator[tuple[str, str]]:
        """(file, value) of all that are computed here and are at hand."""
        for file in self.files:
            case = read(file)
            if case is not None:
                own = self.own[case["kind"]]
                yield from ((file, name) for name in case["expected"] if re.fullmatch(own, name))

    def check(self, file: str, name: str) -> None:
        """Raises AssertionError, or KeyError where we did not compute the value."""
        if file not in self._found:
            self._found[file] = self.files[file](read(file)["input"])
        expected = read(file)["expected"][name]
        assert_agrees(self._found[file][name], expected["value"], expected["tolerance"], name)


def statistic_of(file: str, name: str) -> str:
    """What a value is, without its group, panel, rater or place in a list."""
    if read(file)["kind"] == "degenerate":
        return "undefined and edge kappas"
    is_multireader = read(file)["kind"].startswith("mrmc") or "mean of readers" in name
    if ": " in name and not is_multireader:
        return name.rpartition(": ")[2]
    words = name.split(" ")
    return words[-1] if is_multireader else words[0]


def assert_agrees(found: Any, expected: Any, tolerance: float, where: str) -> None:
    """Undefined must be None. Numbers may differ by the tolerance, 0: not at all; lists and objects part by part."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            assert_agrees(found[key], value, tolerance, f"{where} / {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, value in enumerate(expected):
            assert_agrees(found[place], value, tolerance, f"{where} [{place}]")
    elif expected is None or isinstance(expected, str):
        assert found == expected, where
    else:
        assert found is not None, f"{where} is undefined"
        assert abs(found - expected) <= tolerance, f"{where}: {found}, not {expected}"
