"""What programs send: JSON, read strictly, with every unknown field refused by its name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from annotation.questionbank.kernels.strictjson import value_faults
from annotation.refusals import Refused

MOST_BYTES = 5 * 1024 * 1024
MOST_DEPTH = 20
MOST_FAULTS = 200  # that a refusal lists, of a file


class BodyRefused(Refused):
    """What a program sent cannot be read or taken; nothing was stored."""


class StrictJSONParser(BaseParser):
    """One JSON value in UTF-8. Refused: more than 5 MB, nesting beyond 20, a name twice, NaN, text with NUL."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            sentence = _("A body of JSON holds at most %(most)s MB. Send a file instead.")
            raise BodyRefused("too_large", sentence % {"most": MOST_BYTES // 1024**2}, status=413)
        try:
            value = json.loads(content.decode(), object_pairs_hook=_members, parse_constant=_refuse_constant)
        except (UnicodeDecodeError, ValueError) as error:
            raise BodyRefused("not_json", _("The body is no JSON: %(why)s.") % {"why": error}, status=400) from None
        except RecursionError:
            raise _too_deep() from None
        _check_depth(value)
        if faults := value_faults("", value):
            raise BodyRefused(faults[0].code, faults[0].message, status=422)
        return value


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name is given twice in one object")
    return members


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_depth(value: Any) -> None:
    level = [value]
    for _depth in range(MOST_DEPTH):
        inside = [list(one.values()) if isinstance(one, dict) else one for one in level]
        level = [part for one in inside if isinstance(one, list) for part in one]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> BodyRefused:
    return BodyRefused("too_deep", _("The body is nested deeper than %(n)s levels.") % {"n": MOST_DEPTH}, status=422)


class SentBody(serializers.Serializer[Any]):
    """What a program may send. It checks types and names; every rule is with the act that gets it."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        if not isinstance(data, Mapping):
            raise BodyRefused("invalid", _("The body must be a JSON object."), status=422)
        if unknown := [str(name) for name in data if name not in self.fields]:
            raise serializers.ValidationError({name: [_("There is no such field.")] for name in unknown})
        found: dict[str, Any] = super().to_internal_value(data)
        return found


def cleaned(form: forms.Form) -> dict[str, Any]:
    """What the form of the page makes of what was sent. Raises ValidationError with what it says."""
    if not form.is_valid():
        raise serializers.ValidationError({name: [str(one) for one in errors] for name, errors in form.errors.items()})
    return form.cleaned_data


class FaultInFile(Protocol):
    """What is wrong in a row of a file; row 0: in the whole file."""

    @property
    def row(self) -> int: ...
    @property
    def column(self) -> str: ...
    @property
    def message(self) -> str: ...


class _FaultOfRow(NamedTuple):
    field: str
    message: str


def rows_refused(faults: Sequence[FaultInFile]) -> BodyRefused:
    """Of a file that was read and is not taken: ``errors`` name row and column, such as ``4.verdict``."""
    listed = [_FaultOfRow(f"{one.row or ''}.{one.column}".strip("."), one.message) for one in faults[:MOST_FAULTS]]
    sentence = _("Nothing of the file was stored: %(n)s places in it cannot be taken.") % {"n": len(faults)}
    return BodyRefused("rows_refused", sentence, status=422, faults=listed, n=len(faults))


def digest_of(request: Request) -> str:
    """SHA-256 over method, address and body: what makes two requests the same. Reads a body of JSON, not a form."""
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    data: Any = request.data
    if request.content_type.startswith("multipart/"):
        for name, value in ((field, one) for field in sorted(data) for one in data.getlist(field)):
            digest.update(f"{name}=".encode())
            digest.update(_file_sha256(value) if isinstance(value, UploadedFile) else str(value).encode())
    else:
        digest.update(json.dumps(data, sort_keys=True).encode())
    return digest.hexdigest()


def _file_sha256(file: Any) -> bytes:
    digest = hashlib.sha256(str(file.name).encode())
    for chunk in file.chunks():
        digest.update(chunk)
    file.seek(0)
    return digest.digest()
