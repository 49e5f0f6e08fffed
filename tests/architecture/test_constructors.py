"""A row that pages, programs and files all make has one constructor, so that none of them makes it otherwise."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.source import name_of, python_files, tree_of

MADE_IN = {  # model -> the module, and the function in it, that makes its rows
    "annotation.models.Invitation": ("annotation/people/invitations.py", "store_link"),
    "annotation.models.Review": ("annotation/review/submitting.py", "make_review"),
    "annotation.models.BlindAnswer": ("annotation/review/answering.py", "make_answer"),
    "readerstudy.models.Reading": ("readerstudy/reading/case_opening.py", "make_reading"),
    "readerstudy.models.Response": ("readerstudy/reading/case_opening.py", "make_response"),
    "readerstudy.models.Prediction": ("readerstudy/predictions/importing.py", "_store"),
}
RELATED = {
    "invitations",
    "reviews",
    "blind_answer",
    "readings",
    "responses",
    "predictions",
}  # managers that could make them, too
MAKING = {"create", "get_or_create", "update_or_create", "acreate"}
BLANK = {("readerstudy/exports/responses.py", "_response_cells")}  # of a case without a response: never stored


def names_of(tree: ast.Module, model: str) -> set[str]:
    """What the module calls the model: a class of that name that comes from elsewhere is another one."""
    package, _dot, name = model.rpartition(".")
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(package)
        for alias in node.names
        if alias.name == name
    }


def makes(call: ast.Call, names: set[str]) -> bool:
    called = call.func
    if isinstance(called, ast.Name):
        is_bulk = called.id == "insert_rows" and bool(call.args) and ast.unparse(call.args[0]) in names
        return called.id in names or is_bulk
    if not isinstance(called, ast.Attribute):
        return False
    of, _dot, _manager = ast.unparse(called.value).partition(".")
    return called.attr in MAKING and of in names


def makers(path: Path, model: str) -> set[tuple[str, str]]:
    """File and function of every call that makes such a row."""
    tree = tree_of(path)
    names = names_of(tree, model)
    if not names:
        return set()
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    within = {node: function.name for function in functions for node in ast.walk(function)}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {(name_of(path), within.get(call, "")) for call in calls if makes(call, names)}


def product() -> list[Path]:
    roots = python_files("annotation", "readerstudy", "rexvqa_site")
    return [path for path in roots if "migrations" not in path.parts]


@pytest.mark.parametrize("model", MADE_IN)
def test_a_row_has_one_constructor(model: str) -> None:
    found = set().union(*(makers(path, model) for path in product())) - BLANK
    assert found == {MADE_IN[model]}, f"make it by {MADE_IN[model][1]}() alone: a second constructor drifts from it"


def test_no_row_is_made_through_what_it_belongs_to() -> None:
    found = [
        f"{name_of(path)}:{node.lineno}"
        for path in product()
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MAKING
        if isinstance(node.func.value, ast.Attribute) and node.func.value.attr in RELATED
    ]
    assert not found, "make the row by its constructor: see MADE_IN"


@pytest.mark.parametrize(
    "line",
    [
        "Review(version=2)",
        "Review.objects.create()",
        "Review.objects.bulk_create([Review() for _ in rows])",
        "Review.everywhere.get_or_create()",
        "insert_rows(Review, columns, rows)",
    ],
)
def test_a_second_one_is_found(line: str) -> None:
    tree = ast.parse(f"from annotation.models import Assignment, Review\ndef other():\n    {line}\n")
    names = names_of(tree, "annotation.models.Review")
    assert any(makes(node, names) for node in ast.walk(tree) if isinstance(node, ast.Call)), line


def test_another_class_of_the_same_name_is_none() -> None:
    tree = ast.parse("from readerstudy.design.kernels.components import Reading\nfrom rest_framework import Response\n")
    assert not names_of(tree, "readerstudy.models.Reading") | names_of(tree, "readerstudy.models.Response")
