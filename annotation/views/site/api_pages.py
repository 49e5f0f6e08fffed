"""The OpenAPI document of the API, and the page that shows it without a script."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import FileResponse, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from msgspec import Struct

from annotation.views.site.decorators import AuthenticatedRequest, person_required

Json = Mapping[str, Any]


class NamedValue(Struct, frozen=True):
    """A parameter or a field, as the page lists it."""

    name: str
    kind: str
    words: str


class Operation(Struct, frozen=True):
    """One method of one address."""

    name: str
    method: str
    path: str
    summary: str
    words: str
    parameters: list[NamedValue]
    sent: list[NamedValue]
    shown: list[NamedValue]
    statuses: list[tuple[str, str]]


@person_required
@require_safe
def api_docs(request: AuthenticatedRequest) -> HttpResponse:
    """What can be asked for, thing by thing."""
    return render(request, "annotation/api_docs.html", {"groups": operations(_file())})


@person_required
@require_safe
def api_document(request: AuthenticatedRequest) -> FileResponse:
    """The document as it lies in the repository; a test holds it against the program."""
    return FileResponse(_file().open("rb"), content_type="application/vnd.oai.openapi+json")


def _file() -> Path:
    found: Path = settings.BASE_DIR / "docs" / "openapi.json"
    return found


@cache
def operations(file: Path) -> dict[str, list[Operation]]:
    """Everything in the document, by the thing that it is about."""
    document = json.loads(file.read_text(encoding="utf-8"))
    groups: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            groups.setdefault(one["tags"][0], []).append(_operation(document, path, method, one))
    return groups


def _operation(document: Json, path: str, method: str, one: Json) -> Operation:
    good = next(code for code in one["responses"] if code.startswith("2"))
    return Operation(
        name=one["operationId"],
        method=method.upper(),
        path=path,
        summary=one["summary"],
        words=one["description"],
        parameters=[
            NamedValue(each["name"], _kind(each["schema"]), each.get("description", ""))
            for each in one.get("parameters", ())
        ],
        sent=list(_fields(document, one.get("requestBody", {}))),
        shown=list(_fields(document, one["responses"][good])),
        statuses=[(code, _resolved(document, each)["description"]) for code, each in one["responses"].items()],
    )


def _fields(document: Json, body: Json) -> Iterator[NamedValue]:
    """Of the first content that a body has; of a list those of its rows."""
    for content in list(body.get("content", {}).values())[:1]:
        schema = _resolved(document, content["schema"])
        rows = schema.get("properties", {}).get("results", {}).get("items")
        schema = _resolved(document, rows) if rows else schema
        for name, field in schema.get("properties", {}).items():
            yield NamedValue(name, _kind(field), "" if "enum" in field else field.get("description", ""))


def _resolved(document: Json, part: Json) -> Json:
    """A schema or an answer, wherever it is."""
    if "$ref" not in part:
        return part
    _document, _components, group, name = part["$ref"].split("/")
    found: Json = document["components"][group][name]
    return found


def _kind(schema: Json) -> str:
    """Its type in a word or two; of a closed vocabulary the values."""
    if "enum" in schema:
        return ", ".join(str(value) or "(empty)" for value in schema["enum"])
    if "items" in schema:
        return f"list of {_kind(schema['items'])}"
    kind = schema.get("type", "object")
    return schema.get("format") or (" or ".join(kind) if isinstance(kind, list) else str(kind))
