"""What the OpenAPI document says beyond single operations: links between them, examples, each refusal once.

Hooks of drf-spectacular, named in the settings. Loaded only where the document is made, see docs/decisions/0019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from annotation.views.site.problem_documents import CONTENT_TYPE, problem_document

Json = dict[str, Any]
JSON = "application/json"
GOOD = {"200", "201", "202"}
FIELDS = {"number": "number", "revision": "number"}  # that are in an address; things are found by their id otherwise
REFUSED: Mapping[str, tuple[str, str]] = {
    "400": ("unknown_parameter", "The address of this resource takes no colour."),
    "401": ("token_expired", "This token has expired. Make a new one."),
    "403": ("forbidden", "This token is for reading only."),
    "404": ("not_found", "There is nothing here."),
    "409": ("wrong_state", "The state of this does not allow it now."),
    "412": ("changed_since", "This was changed since you read it. Read it again, and decide again."),
    "413": ("too_large", "A body of JSON holds at most 5 MB. Send a file instead."),
    "415": ("unsupported_media_type", "This type of content is not taken here."),
    "422": ("invalid", "What was sent cannot be taken: see the errors."),
    "429": ("too_many_requests", "Too many requests. Send it again later."),
}
WORDS: Mapping[str, Any] = {  # of fields, where the type alone makes a poor example
    "id": "spring",
    "slug": "spring",
    "name": "Spring",
    "bank": "my-bank",
    "other_bank": "my-bank",
    "sample": "first-sample",
    "study": "trial",
    "currency": "EUR",
    "email": "rita@example.org",
    "reviewers": ["rita@example.org"],
    "shared_answers": "pilot",
    "filters": {"task": "presence"},
    "mentions": ["rita@example.org"],
    "anchors": [{"field": "clinical_quality", "value": "5", "text": "exam standard"}],
    "reason": "Two options are right.",
    "stem": "Which finding is present?",
    "link": "https://reading.example.org/i/...",
    "due_at": "2099-12-31T12:00:00Z",
    "deadline_at": "2099-12-31T12:00:00Z",
    "cap": "12.50",
    "confirmed_open": 0,
}
BY_FORMAT = {
    "date-time": "2026-11-26T12:00:00Z",
    "date": "2026-11-26",
    "decimal": "2.5",
    "email": "rita@example.org",
    "uri": "https://reading.example.org/api/v1/banks/?cursor=...",
}


def with_links(result: Json, **_more: Any) -> Json:
    """From an answer to what can be asked next: a list leads to its things, what was made to itself, and a thing to
    everything below its address.
    """
    paths: Json = result["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            for status, answer in operation["responses"].items():
                if status in GOOD and JSON in answer.get("content", {}):
                    links = dict(_links_from(path, method, status, paths))
                    answer.update({"links": links} if links else {})
    return result


def _links_from(path: str, method: str, status: str, paths: Json) -> Iterator[tuple[str, Json]]:
    is_thing = path.endswith("}/")
    if not is_thing and method != "get" and status == "200":
        return  # an act
    known = {name: f"$request.path.{name}" for name in re.findall(r"{(\w+)}", path)}
    between = "" if is_thing else r"{(?P<new>\w+)}/"
    below = re.compile(re.escape(path) + between + r"(?:[\w-]+/)?")
    for other, operations in paths.items():
        found = below.fullmatch(other)
        if found is None or other == path:
            continue
        parameters = dict(known)
        if new := found.groupdict().get("new"):
            place = "results/0/" if method == "get" else ""
            parameters[new] = f"$response.body#/{place}{FIELDS.get(new, 'id')}"
        for operation in operations.values():
            name = operation["operationId"]
            yield name, {"operationId": name, "parameters": parameters}


def with_refusals_once(result: Json, **_more: Any) -> Json:
    """Each refusal is in the document once, with an example; operations name those that they know."""
    shared: Json = result["components"].setdefault("responses", {})
    for operations in result["paths"].values():
        for operation in operations.values():
            for status, answer in operation["responses"].items():
                if CONTENT_TYPE in answer.get("content", {}):
                    shared.setdefault(f"Refused{status}", _with_problem(status, answer))
                    operation["responses"][status] = {"$ref": f"#/components/responses/Refused{status}"}
    return result


def _with_problem(status: str, answer: Json) -> Json:
    code, detail = REFUSED[status]
    errors = [{"field": "colour", "message": "There is no such field."}] if code == "invalid" else []
    answer["content"][CONTENT_TYPE]["example"] = problem_document(int(status), code, detail, errors=errors)
    return answer


def with_examples(result: Json, **_more: Any) -> Json:
    """Of every body that is sent or answered as JSON or as a form."""
    schemas: Json = result["components"]["schemas"]
    for operations in result["paths"].values():
        for operation in operations.values():
            answers = [answer for status, answer in operation["responses"].items() if status in GOOD]
            for body in (operation.get("requestBody", {}), *answers):
                for kind, media in body.get("content", {}).items():
                    if kind in {JSON, "multipart/form-data"} and media["schema"].get("format") != "binary":
                        media["example"] = _example_of(media["schema"], schemas)
    return result


def _example_of(schema: Json, schemas: Json, name: str = "") -> Any:
    """A value that the schema takes."""
    if "$ref" in schema:
        return _example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, name)
    for word in ("oneOf", "anyOf", "allOf"):
        if word in schema:
            return _example_of(schema[word][0], schemas, name)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {part: _example_of(one, schemas, part) for part, one in schema.get("properties", {}).items()}
    if name in WORDS and isinstance(WORDS[name], list if kind == "array" else str if kind == "string" else int):
        return WORDS[name]
    if kind == "array":
        return [_example_of(schema.get("items", {}), schemas, name)] * schema.get("minItems", 1)
    if kind in {"integer", "number"}:
        return schema.get("default", max(1, schema.get("minimum", 1)))
    if kind == "boolean":
        return schema.get("default", False)
    return schema.get("default") or BY_FORMAT.get(schema.get("format", ""), name.replace("_", " "))
