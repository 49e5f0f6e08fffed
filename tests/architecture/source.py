"""What the architecture tests read: the source as a tree, never imported."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = ROOT / "templates"

KERNEL_PATTERNS = (
    "*/*/kernels/*.py",
    "annotation/enums.py",
    "annotation/figures/*.py",
    "annotation/imaging/*.py",
    "annotation/statistics/*.py",
    "annotation/questionbank/rexvqa.py",
    "annotation/sampling/strata.py",
    "annotation/sampling/allocation.py",
    "annotation/review/transitions.py",
    "annotation/review/visibility.py",
    "annotation/review/form.py",
    "annotation/timing/durations.py",
    "annotation/timing/spans.py",
    "annotation/timing/parsing.py",
    "annotation/timing/witnessed.py",
    "annotation/quality/schema.py",
    "readerstudy/enums.py",
    "readerstudy/analysis/arrays.py",
    "readerstudy/analysis/computing.py",
    "readerstudy/comparing/arrays.py",
    "readerstudy/comparing/computing.py",
    "readerstudy/comparing/repeatability.py",
    "readerstudy/comparing/showing.py",
    "readerstudy/comparing/tables.py",
    "readerstudy/design/rules.py",
    "readerstudy/design/chance.py",
    "readerstudy/design/drawing.py",
    "readerstudy/design/drawn.py",
    "readerstudy/design/assumptions.py",
    "readerstudy/design/forecast.py",
    "readerstudy/design/hinting.py",
    "readerstudy/design/inferences.py",
    "readerstudy/design/options.py",
    "readerstudy/design/ordering.py",
    "readerstudy/design/parsing.py",
    "readerstudy/design/plan.py",
    "readerstudy/design/planfields.py",
    "readerstudy/design/protocol.py",
    "readerstudy/report/facts.py",
    "readerstudy/report/guideline_items.py",
    "readerstudy/report/latex.py",
    "readerstudy/report/sample_size.py",
    "readerstudy/report/zipping.py",
    "readerstudy/results/bank_mix.py",
    "readerstudy/results/planning_figures.py",
    "readerstudy/results/stored.py",
    "readerstudy/results/tables.py",
    "readerstudy/results/heatmap.py",
    "readerstudy/results/disagreeing.py",
    "readerstudy/results/items.py",
    "readerstudy/predictions/extraction.py",
    "readerstudy/predictions/matching.py",
    "readerstudy/predictions/reading.py",
    "readerstudy/report/recompute.py",
    "readerstudy/reading/response_file.py",
    "readerstudy/reading/transitions.py",
    "readerstudy/reading/visibility.py",
    "readerstudy/reading/limits.py",
    "readerstudy/reading/elapsed.py",
    "readerstudy/reading/keys.py",
    "readerstudy/statistics/*.py",
    "readerstudy/enrolling/steps.py",
    "readerstudy/enrolling/facts.py",
    "readerstudy/enrolling/display.py",
)
EDGES = ("views", "templatetags", "forms", "management", "migrations", "models", "api")  # not rooms


@cache
def python_files(*roots: str) -> list[Path]:
    return sorted(p for root in roots for p in (ROOT / root).rglob("*.py") if "__pycache__" not in p.parts)


@cache
def kernels() -> list[Path]:
    """The pure modules, and everything of this project that they import: it must be pure as well."""
    found: set[Path] = set()
    waiting = [p for pattern in KERNEL_PATTERNS for p in ROOT.glob(pattern)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += [file for module in imports_of(path) if (file := file_of(module)) is not None]
    return sorted(found)


def file_of(module: str) -> Path | None:
    """The file of a module of this project; None for a package, a name in a module, and a library."""
    path = ROOT.joinpath(*module.split(".")).with_suffix(".py")
    return path if path.is_file() else None


def rooms() -> list[Path]:
    """Every module of a room, kernel or act."""
    return [
        p
        for p in python_files("annotation", "readerstudy")
        if len(p.relative_to(ROOT).parts) > 2 and p.relative_to(ROOT).parts[1] not in EDGES
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def where(paths: Iterable[Path], finds: Callable[[Path], object]) -> dict[str, object]:
    """What is found, by name of the file. One test asks all files: one for each costs more than the question."""
    return {name_of(path): found for path in paths if (found := finds(path))}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=name_of(path))


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Full names of the modules that a file imports, wherever in the file; only for types or not."""
    found: list[str] = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return tuple(found)


@cache
def calls_of(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of every call, such as (12, "timezone.now")."""
    calls = [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    return tuple((node.lineno, ast.unparse(node.func)) for node in calls)
