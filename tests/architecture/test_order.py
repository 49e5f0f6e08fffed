"""The order of rooms: a room imports only what stands above it in the list, wherever in its files."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.architecture.source import ROOT, imports_of, name_of, python_files, tree_of, where

ORDER: dict[str, tuple[str, ...]] = {
    "annotation": (
        "enums", "call_enums", "hashes", "refusals", "contributions", "triggers", "files", "models", "site", "audit",
        "jobs", "endpoints", "statistics", "tables", "imaging", "case",
        "backup", "ingest", "questionbank", "model_calls", "generation", "people",
        "review", "outcomes", "validators", "exports", "demonstration",
        "templatetags", "forms", "acts", "views", "api", "management", "urls", "apps",
    ),
    "readerstudy": (
        "enums", "triggers", "models", "study", "design", "predictions", "model_runs", "enrolment",
        "reading", "analysis", "results", "exports", "conducting", "leaderboard", "demonstration",
        "templatetags", "forms", "acts", "views", "api", "management", "urls", "apps",
    ),
}  # fmt: skip


# Names types of the rooms to which something is added; mypy alone reads these imports, which a test below holds.
ONLY_TYPES = {"annotation/contributions.py"}


def rooms_on_disk(app: str) -> set[str]:
    entries = (ROOT / app).iterdir()
    found = {p.stem for p in entries if p.suffix == ".py" or next(p.rglob("*.py"), None)}
    return found - {"__init__", "migrations"}


@pytest.mark.parametrize("app", ORDER)
def test_the_list_names_every_room_once(app: str) -> None:
    assert sorted(ORDER[app]) == sorted(rooms_on_disk(app))


@pytest.mark.parametrize("app", ORDER)
def test_no_room_imports_one_below_it(app: str) -> None:
    place = {room: number for number, room in enumerate(ORDER[app])}

    def against_the_order(path: Path) -> list[str]:
        own = place[path.relative_to(ROOT / app).parts[0].removesuffix(".py")]
        asked = (module.split(".") for module in imports_of(path) if module.startswith(f"{app}."))
        return sorted({".".join(parts) for parts in asked if place.get(parts[1], own) > own})

    files = [p for p in python_files(app) if p.relative_to(ROOT / app).parts[0] not in {"__init__.py", "migrations"}]
    files = [p for p in files if name_of(p) not in ONLY_TYPES]
    assert where(files, against_the_order) == {}


@pytest.mark.parametrize("app", ORDER)
def test_no_folder_holds_more_modules_than_one_remembers(app: str) -> None:
    """Kernels aside, and what Django looks for in one folder."""
    counted = Counter(path.parent for path in python_files(app) if path.stem != "__init__")
    not_counted = {"kernels", "commands", "migrations"}
    crowded = {folder: n for folder, n in counted.items() if n > 20 and folder.name not in not_counted}
    assert crowded == {}


def test_what_names_types_loads_none_of_them() -> None:
    for name in ONLY_TYPES:
        loaded = [node for node in tree_of(ROOT / name).body if isinstance(node, ast.ImportFrom)]
        assert not [node.module for node in loaded if str(node.module).startswith("annotation.")]
