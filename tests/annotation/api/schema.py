"""The OpenAPI document in the repository: what an answer is held against, and what a change of it breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.urls import Resolver404, resolve
from jsonschema import Draft202012Validator

from tests.architecture.source import ROOT

FILE = ROOT / "docs" / "openapi.json"
Json = Mapping[str, Any]


@cache
def document() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return stored


def faults_of(method: str, address: str, answer: Any) -> list[str]:
    """What stands against an answer: a status or a body that the document does not describe."""
    try:
        path = "/" + resolve(address.partition("?")[0]).route
    except Resolver404:
        return []
    for kind in ("slug", "int", "str"):
        path = path.replace(f"<{kind}:", "{")
    described = document()["paths"].get(path.replace(">", "}").replace("{pk}", "{id}"), {}).get(method.lower())
    if described is None or answer.status_code in (404, 405):
        return []
    known = described["responses"].get(str(answer.status_code))
    if known is None:
        return [f"{method} {address}: status {answer.status_code} is not described"]
    if "$ref" in known:
        known = document()["components"]["responses"][known["$ref"].rpartition("/")[2]]
    content = known.get("content", {}).get(answer["Content-Type"].partition(";")[0]) if known.get("content") else None
    if content is None:
        return [f"{method} {address}: {answer['Content-Type']} is not described"] if answer.content else []
    if content["schema"].get("format") == "binary" or "json" not in answer["Content-Type"]:
        return []
    schema = {**content["schema"], "components": document()["components"]}
    validator = Draft202012Validator(schema)
    return [f"{method} {address}: {error.json_path}: {error.message}" for error in validator.iter_errors(answer.json())]


def breaking_changes(old: Json, new: Json) -> list[str]:
    """What a program that was written for the old document could stumble over in the new one."""
    return sorted({*_of_paths(old["paths"], new["paths"]), *_of_schemas(old, new)})


def _of_paths(old: Json, new: Json) -> Iterator[str]:
    for path, methods in old.items():
        for method, before in methods.items():
            after = new.get(path, {}).get(method)
            if after is None:
                yield f"{method.upper()} {path} is gone"
                continue
            yield from (f"{method.upper()} {path}: {words}" for words in _of_operation(before, after))


def _of_operation(before: Json, after: Json) -> Iterator[str]:
    names = [{(one["name"], one["in"]): one for one in each.get("parameters", ())} for each in (before, after)]
    yield from (f"the parameter {name} is gone" for name, _where in names[0].keys() - names[1].keys())
    added = (one for key, one in names[1].items() if key not in names[0])
    yield from (f"the parameter {one['name']} is asked for" for one in added if one.get("required"))
    for key in names[0].keys() & names[1].keys():
        gone = set(names[0][key]["schema"].get("enum", ())) - set(names[1][key]["schema"].get("enum", ()))
        if gone and "enum" in names[1][key]["schema"]:
            yield f"the parameter {key[0]} takes no {', '.join(sorted(gone))}"
    good = [{code for code in each["responses"] if code.startswith("2")} for each in (before, after)]
    yield from (f"the status {code} is gone" for code in good[0] - good[1])


def _of_schemas(old: Json, new: Json) -> Iterator[str]:
    sent = json.dumps([method.get("requestBody", {}) for one in new["paths"].values() for method in one.values()])
    schemas = new["components"]["schemas"]
    for name, before in old["components"]["schemas"].items():
        after = schemas.get(name)
        if after is None:
            yield f"{name} is gone"
            continue
        gone = before.get("properties", {}).keys() - after.get("properties", {}).keys()
        yield from (f"{name}.{field} is gone" for field in gone)
        for field in before.get("properties", {}).keys() & after.get("properties", {}).keys():
            if before["properties"][field].get("type") != after["properties"][field].get("type"):
                yield f"{name}.{field} has another type"
        if f"/{name}" in sent:
            asked = set(after.get("required", ())) - set(before.get("required", ()))
            yield from (f"{name}.{field} is asked for" for field in asked)
