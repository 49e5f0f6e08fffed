"""Who may import whom, and what a layer must not do."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.architecture.source import (
    ROOT,
    calls_of,
    file_of,
    imports_of,
    kernels,
    name_of,
    python_files,
    rooms,
    where,
)

PURE_LIBRARIES = {
    *("numpy", "scipy", "sklearn", "matplotlib"),
    *("pydicom", "imagecodecs", "PIL", "zstandard", "ijson", "msgspec", "pyarrow"),
}
MODELS_HERE = {"rapidocr", "onnxruntime", "cv2", "tokenizers"}  # text in pixels, in a child process; vectors of texts
TRAVELS_ALONE = {  # scripts in every report, see docs/decisions
    ROOT / "annotation/exports/kernels/recompute.py",
    ROOT / "readerstudy/exports/kernels/mixed_model.py",
}
FORBIDDEN_NAMES = {"utils", "helpers", "common", "services", "manager", "misc"}


EVERYTHING = python_files("annotation", "readerstudy", "rexvqa_site")


def first(module: str) -> str:
    return module.partition(".")[0]


def imported_from(path: Path, *places: str) -> list[str]:
    """The modules that a file imports from these places."""
    return [module for module in imports_of(path) if module.startswith(places)]


def test_annotation_never_knows_the_reader_studies() -> None:
    assert where(python_files("annotation"), lambda path: imported_from(path, "readerstudy")) == {}


def test_no_app_knows_the_site_that_runs_it() -> None:
    assert where(python_files("annotation", "readerstudy"), lambda path: imported_from(path, "rexvqa_site")) == {}


def test_kernels_are_pure() -> None:
    """No Django, no settings, no row: the standard library, the numeric and imaging libraries, and other kernels."""
    allowed = PURE_LIBRARIES | MODELS_HERE | sys.stdlib_module_names | {"annotation", "readerstudy"}
    program = [path for path in kernels() if path not in TRAVELS_ALONE]
    assert where(program, lambda path: {first(module) for module in imports_of(path)} - allowed) == {}


def test_kernels_know_only_kernels() -> None:
    """What is pure says so by its path: it stands in the folder ``kernels/`` of a room."""

    def others(path: Path) -> list[str]:
        files = (file for module in imports_of(path) if (file := file_of(module)) is not None)
        return [name_of(file) for file in files if file not in kernels()]

    assert len(kernels()) > 100
    assert where(kernels(), others) == {}


def test_pages_neither_compute_nor_write() -> None:
    """One act writes, not the page."""
    edges = ("acts", "views", "forms", "api")
    pages = python_files(*(f"{app}/{edge}" for app in ("annotation", "readerstudy") for edge in edges))
    assert where(pages, lambda path: imported_from(path, "numpy", "pydicom", "imagecodecs", "scipy")) == {}
    writes = (".save", ".create", ".bulk_create", ".get_or_create", ".update_or_create", ".delete")
    assert where(pages, lambda path: [(line, call) for line, call in calls_of(path) if call.endswith(writes)]) == {}


def test_rooms_know_no_request_and_no_page() -> None:
    pages = ("django.http", "django.shortcuts", "annotation.views", "readerstudy.views")
    assert where(rooms(), lambda path: imported_from(path, *pages)) == {}


def test_models_know_no_room() -> None:
    ground = ("models", "enums", "call_enums", "hashes")
    own = tuple(f"{app}.{one}" for app in ("annotation", "readerstudy") for one in ground)

    def rooms_of(path: Path) -> list[str]:
        return [m for m in imported_from(path, "annotation.", "readerstudy.") if not m.startswith(own)]

    assert where(python_files("annotation/models", "readerstudy/models"), rooms_of) == {}


def test_no_signals() -> None:
    signals = ("django.dispatch", "django.db.models.signals")
    assert where(EVERYTHING, lambda path: imported_from(path, *signals)) == {}


def test_no_drawers() -> None:
    assert where(EVERYTHING, lambda path: FORBIDDEN_NAMES & {path.stem, path.parent.name}) == {}


def test_no_rules_in_save() -> None:
    models = python_files("annotation/models", "readerstudy/models")
    assert where(models, lambda path: "def save(" in path.read_text(encoding="utf-8")) == {}


def test_a_file_has_one_subject() -> None:
    """150 to 400 lines beside what it says of itself; beyond that it surely holds two, or it has to travel alone."""

    def lines_too_many(path: Path) -> int:
        code = path.read_text(encoding="utf-8").split('"""', 2)[-1]
        return max(0, len(code.splitlines()) - 420)

    counted = (path for path in EVERYTHING if "migrations" not in path.parts and path not in TRAVELS_ALONE)
    assert where(counted, lines_too_many) == {}, "lines over 420: a subject of its own goes to a module of its own"
