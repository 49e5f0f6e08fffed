"""Who may import whom, and what a layer must not do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.architecture.source import (
    KERNEL_PATTERNS,
    calls_of,
    imports_of,
    kernels,
    name_of,
    python_files,
    rooms,
)

PURE_LIBRARIES = {"numpy", "scipy", "pydicom", "imagecodecs", "PIL", "zstandard", "ijson", "matplotlib", "msgspec"}
TEXT_SEARCH = {"rapidocr", "onnxruntime", "cv2"}  # reading text in pixels, in a child process
FORBIDDEN_NAMES = {"utils", "helpers", "common", "services", "manager", "misc"}


def first(module: str) -> str:
    return module.partition(".")[0]


@pytest.mark.parametrize("path", python_files("annotation"), ids=name_of)
def test_annotation_never_knows_the_reader_studies(path: Path) -> None:
    assert "readerstudy" not in {first(module) for module in imports_of(path)}


@pytest.mark.parametrize("path", kernels(), ids=name_of)
def test_kernels_are_pure(path: Path) -> None:
    """No Django, no settings, no row: the standard library, the numeric and imaging libraries, and other kernels."""
    allowed = PURE_LIBRARIES | TEXT_SEARCH | sys.stdlib_module_names | {"annotation", "readerstudy"}
    assert {first(module) for module in imports_of(path)} <= allowed


def test_the_list_of_kernels_finds_some() -> None:
    assert len(kernels()) > len(KERNEL_PATTERNS) // 2


@pytest.mark.parametrize(
    "path", python_files("annotation/views", "annotation/forms", "readerstudy/views", "readerstudy/forms"), ids=name_of
)
def test_pages_neither_compute_nor_write(path: Path) -> None:
    assert not {"numpy", "pydicom", "imagecodecs", "scipy"} & {first(module) for module in imports_of(path)}
    writes = (".save", ".create", ".bulk_create", ".get_or_create", ".update_or_create", ".delete")
    bad = [(line, call) for line, call in calls_of(path) if call.endswith(writes)]
    assert not bad, f"{name_of(path)}: one act writes, not the page: {bad}"


@pytest.mark.parametrize("path", rooms(), ids=name_of)
def test_rooms_know_no_request_and_no_page(path: Path) -> None:
    bad = [
        m
        for m in imports_of(path)
        if m.startswith(("django.http", "django.shortcuts", "annotation.views", "readerstudy.views"))
    ]
    assert not bad


@pytest.mark.parametrize("path", python_files("annotation/models", "readerstudy/models"), ids=name_of)
def test_models_know_no_room(path: Path) -> None:
    bad = [
        m
        for m in imports_of(path)
        if m.startswith(("annotation.", "readerstudy."))
        and not m.startswith(("annotation.models", "annotation.enums", "annotation.digests"))
        and not m.startswith(("readerstudy.models", "readerstudy.enums"))
    ]
    assert not bad


@pytest.mark.parametrize("path", python_files("annotation", "readerstudy", "rexvqa_site"), ids=name_of)
def test_no_signals(path: Path) -> None:
    assert not [m for m in imports_of(path) if m.startswith(("django.dispatch", "django.db.models.signals"))]


@pytest.mark.parametrize("path", python_files("annotation", "readerstudy", "rexvqa_site"), ids=name_of)
def test_no_drawers(path: Path) -> None:
    assert not FORBIDDEN_NAMES & {path.stem, path.parent.name}


@pytest.mark.parametrize("path", python_files("annotation/models", "readerstudy/models"), ids=name_of)
def test_no_rules_in_save(path: Path) -> None:
    assert "def save(" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", python_files("annotation", "readerstudy", "rexvqa_site"), ids=name_of)
def test_a_file_has_one_subject(path: Path) -> None:
    """About 150 lines, rarely over 300; beyond 400 it surely holds two subjects."""
    if "migrations" not in path.parts:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
