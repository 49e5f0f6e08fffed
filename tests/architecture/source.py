"""What the architecture tests read: the source as a tree, never imported."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TEMPLATES = ROOT / "templates"

GROUND = (  # what models and kernels share
    *("annotation/enums.py", "annotation/call_enums.py", "annotation/hashes.py", "annotation/refusals.py"),
    "readerstudy/enums.py",
)
EDGES = ("acts", "views", "templatetags", "forms", "management", "migrations", "models", "api")  # not rooms


@cache
def python_files(*roots: str) -> list[Path]:
    return sorted(p for root in roots for p in (ROOT / root).rglob("*.py") if "__pycache__" not in p.parts)


@cache
def kernels() -> list[Path]:
    """The pure modules: what stands in the folder ``kernels/`` of a room, and the ground of both apps."""
    found = [path for path in python_files("annotation", "readerstudy") if path.parent.name == "kernels"]
    return found + [ROOT / name for name in GROUND]


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
