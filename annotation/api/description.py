"""How the OpenAPI document describes a resource: from what the resource says of itself.

Loaded only where the document is made, see docs/decisions/0020.
"""

from __future__ import annotations

import inspect
import re
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
from annotation.views.site.problem_documents import CONTENT_TYPE

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
            if getattr(self.view, "makes", False) and self.method == "POST":
                about = "your own; sent twice within a day, nothing is made again"
                found.append(_header("Idempotency-Key", about, minLength=1, maxLength=LONGEST_KEY, pattern="^[!-~]+$"))
            return found
        if not hasattr(self.view, "content_types"):
            names = list(self.view.shape().fields)
            about = "only these, with commas between them"
            found.append(OpenApiParameter("fields", many=True, explode=False, enum=names, description=about))
        if not isinstance(self.view, ListOf):
            found += [OpenApiParameter(name, description=_ASKED.get(name, "")) for name in self.view.asked]
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
        status = getattr(self.view, "status", 200) if self.method == "POST" else 200
        if hasattr(self.view, "content_types"):
            good |= {(status, kind): _FILES.get(kind, OpenApiTypes.BINARY) for kind in self.view.content_types}
        else:
            good[status, "application/json"] = self._page() if self._is_list() else self._shape()
        if self.method == "GET" and isinstance(self.view, OneOf):
            good[304] = OpenApiResponse(description="As you have it.")
        of_get = (409, 422) if self.view.may_conflict else (422,)
        further = REFUSALS_OF_ACTS if self.method != "GET" else {status: REFUSALS_OF_ACTS[status] for status in of_get}
        refusals = REFUSALS | further
        for number, words in refusals.items():
            good[number, CONTENT_TYPE] = OpenApiResponse(Problem, description=words)
        return good

    def _is_list(self) -> bool:
        return self.method == "GET" and isinstance(self.view, ListOf)

    def _is_list_view(self, serializer: Any = None) -> bool:
        return False  # a page is an object

    def _shape(self) -> Any:
        return self.view.shape

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
