"""How the OpenAPI document describes a resource: from what the resource says of itself.

Loaded only where the document is made, see docs/decisions/0020.

What the OpenAPI document says beyond single operations: links between them, examples, each refusal once. Hooks of drf-
spectacular, named in the settings. Loaded only where the document is made, see docs/decisions/0019.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django import forms
from django.views import View
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from annotation.api.bodies import SentBody
from annotation.api.compared_etags import thing_of
from annotation.api.cursors import MOST, USUAL
from annotation.api.resources import ListOf, OneOf, Resource, Shown
from annotation.people.kept_answers import LONGEST_KEY
from annotation.refusals import CONTENT_TYPE, problem_document

REFUSALS = {
    400: "The request cannot be read.",
    401: "No token, or one that is not taken.",
    403: "Role or token do not allow it.",
    404: "Not there, or not for you.",
    429: "Too often in this minute.",
}
REFUSALS_OF_ACTS = {
    409: "The state of things does not allow it.",
    412: "Changed since it was read.",
    413: "Too large.",
    415: "Another type of content.",
    422: "What was sent is wrong.",
}


class ProblemError(serializers.Serializer[Any]):
    field = serializers.CharField(allow_blank=True)
    message = serializers.CharField()


class Problem(serializers.Serializer[Any]):
    """The one shape of every refusal (RFC 9457)."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    detail = serializers.CharField()
    code = serializers.CharField()
    errors = serializers.ListField(child=ProblemError(), required=False)  # type: ignore[assignment]
    facts = serializers.DictField(required=False)


class Description(AutoSchema):
    """Of one method of one address. ``view`` is a resource; a list says which filters and orders it takes."""

    view: Any
    method: str

    def get_operation_id(self) -> str:
        return self.method.lower() + type(self.view).__name__

    def get_summary(self) -> str:
        return str(getattr(self.view, f"{self.method.lower()}_summary", "") or self.view.summary)

    def get_description(self) -> str:  # type: ignore[override]  # the stubs know that of the framework alone
        return " ".join(inspect.cleandoc(type(self.view).__doc__ or "").split())

    def get_tags(self) -> list[str]:
        parts = [part for part in self.path.removeprefix("/api/v1/").split("/") if part and "{" not in part]
        return parts[:1]

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"token": []}, {"session": []}]

    def get_override_parameters(self) -> list[Any]:
        found: list[Any] = []
        if self.method != "GET":
            if isinstance(self.view, OneOf) or thing_of(self.view, _NAMED.sub("1", self.path)) is not None:
                found.append(_header("If-Match", "the ETag that was read"))
            if self.view.makes and self.method == "POST":
                about = "your own; sent twice within a day, nothing is made again"
                found.append(_header("Idempotency-Key", about, minLength=1, maxLength=LONGEST_KEY, pattern="^[!-~]+$"))
            return found
        if not hasattr(self.view, "content_types"):
            names = list(self.view.shape().fields)
            about = "only these, with commas between them"
            found.append(OpenApiParameter("fields", many=True, explode=False, enum=names, description=about))
        if not isinstance(self.view, ListOf):
            found += [OpenApiParameter(name, description=_ASKED.get(name, "")) for name in self.view.asked]
        if self.view.is_resumable:
            found.append(_header("Range", "of bytes, where a download goes on"))
            found.append(_header("If-Range", "the ETag of what you have a part of"))
        if isinstance(self.view, OneOf):
            found.append(_header("If-None-Match", "the ETag of what you have"))
        if isinstance(self.view, ListOf):
            found += [
                OpenApiParameter("cursor", description="as given in “next”"),
                OpenApiParameter(
                    "limit", {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL}, description="rows"
                ),
                *self._orders(),
                *self._filters(),
            ]
        return found

    def _orders(self) -> list[OpenApiParameter]:
        names = [sign + name for name in self.view.sorted_by for sign in ("", "-")]
        about = "with - before it from the other end"
        return [OpenApiParameter("sort", enum=names, description=about)] if names else []

    def _filters(self) -> list[OpenApiParameter]:
        if self.view.filters is None:
            return [OpenApiParameter(name, description="a filter of the page") for name in self.view.free_filters()]
        return [_filter(name, one.field) for name, one in self.view.filters.get_filters().items()]

    def get_request_serializer(self) -> Any:
        body: type[SentBody] | None = getattr(self.view, "body", None)
        return body if self.method in {"POST", "PUT", "PATCH"} else None

    def get_response_serializers(self) -> Any:
        good: dict[Any, Any] = {}
        status = self.view.status if self.method == "POST" else 200
        if hasattr(self.view, "content_types"):
            good |= {(status, kind): _FILES.get(kind, OpenApiTypes.BINARY) for kind in self.view.content_types}
        else:
            is_list = self.method == "GET" and isinstance(self.view, ListOf)
            good[status, "application/json"] = self._page() if is_list else self.view.shape
        if self.view.is_resumable:
            good |= {(206, kind): OpenApiTypes.BINARY for kind in self.view.content_types}
            good[416] = OpenApiResponse(description="The range is outside of the file.")
        if self.method == "GET" and isinstance(self.view, OneOf):
            good[304] = OpenApiResponse(description="As you have it.")
        of_get = (409, 422) if self.view.may_conflict else (422,)
        further = REFUSALS_OF_ACTS if self.method != "GET" else {status: REFUSALS_OF_ACTS[status] for status in of_get}
        refusals = REFUSALS | further
        for number, words in refusals.items():
            good[number, CONTENT_TYPE] = OpenApiResponse(Problem, description=words)
        return good

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # a page is an object

    def _page(self) -> dict[str, Any]:
        row = self.resolve_serializer(self.view.shape, "response").ref
        properties: dict[str, Any] = {
            "next": {"type": ["string", "null"], "format": "uri", "description": "the whole address of the next page"},
            "results": {"type": "array", "items": row},
            **self.view.beside_results,
        }
        return {"type": "object", "required": ["next", "results"], "properties": properties}

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Any:
        """With ``fields`` every field can be missing."""
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if isinstance(serializer, Shown) or (inspect.isclass(serializer) and issubclass(serializer, Shown)):
            schema.pop("required", None)
        return schema


def only_resources(endpoints: list[tuple[str, str, str, Any]]) -> list[tuple[str, str, str, Any]]:
    """A hook of drf-spectacular: the addresses that belong into the document."""
    return [one for one in endpoints if issubclass(getattr(one[3], "cls", View), Resource)]


_ASKED = {
    "after": "the number of the last event that you have",
    "source_ids": "any value: with the ids of the imported file",
}
_NAMED = re.compile(r"{\w+}")
_FILES = {"application/json": OpenApiTypes.OBJECT}


def _header(name: str, description: str, **more: Any) -> OpenApiParameter:
    schema = {"type": "string", **more}
    return OpenApiParameter(name, schema, location=OpenApiParameter.HEADER, description=description)


def _filter(name: str, field: forms.Field) -> OpenApiParameter:
    if isinstance(field, forms.ChoiceField) and not isinstance(field, forms.NullBooleanField):
        offered: Any = field.choices
        choices = [str(value) for value, _words in offered if value]
        return OpenApiParameter(name, enum=choices)
    kinds = (
        (forms.NullBooleanField, OpenApiTypes.BOOL),
        (forms.DateTimeField, OpenApiTypes.DATETIME),
        (forms.DecimalField, OpenApiTypes.NUMBER),
        (forms.IntegerField, OpenApiTypes.INT),
    )
    kind = next((kind for one, kind in kinds if isinstance(field, one)), OpenApiTypes.STR)
    return OpenApiParameter(name, kind)


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
