"""What programs send, read strictly, with every unknown field refused by its name; and fields that resources share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import MAXYEAR, MINYEAR, UTC, date, datetime
from typing import Any, NamedTuple, Protocol

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from annotation.enums import Word
from annotation.files.kernels.strictjson import MOST_VALUES, NO_CHARACTERS, FileRefused, read_value
from annotation.refusals import Refused

MOST_BYTES = 5 * 1024 * 1024
MOST_DEPTH = 20
MOST_FAULTS = 200  # that a refusal lists, of a file


class BodyRefused(Refused):
    """What a program sent cannot be read or taken; nothing was stored."""


class StrictJSONParser(BaseParser):
    """One JSON value in UTF-8. Refused: over 5 MB or 200,000 values, nested beyond 20, a name twice, NaN, a NUL."""

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        content = stream.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise _too_large(_("%(most)s MB") % {"most": MOST_BYTES // 1024**2})
        try:
            _name, value, faults = read_value(content)
        except FileRefused as refusal:
            if refusal.code == "too_large":
                raise _too_large(_("%(most)s values") % {"most": f"{MOST_VALUES:,}"}) from None
            raise (_too_deep() if refusal.code == "too_deep" else _not_json(str(refusal).rstrip("."))) from None
        _check_depth(value)
        for fault in faults:
            if fault.code in NO_CHARACTERS:
                raise BodyRefused(fault.code, fault.message, status=422)
            raise _not_json(fault.message.rstrip("."))
        return value


def _too_large(most: str) -> BodyRefused:
    sentence = _("A body of JSON holds at most %(most)s. Send a file instead.")
    return BodyRefused("too_large", sentence % {"most": most}, status=413)


def _not_json(why: str) -> BodyRefused:
    return BodyRefused("not_json", _("The body is no JSON: %(why)s.") % {"why": why}, status=400)


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


class Day(serializers.DateField):
    """Of a moment, in UTC."""

    def to_representation(self, value: date) -> str:
        return (value.astimezone(UTC).date() if isinstance(value, datetime) else value).isoformat()


class Moment(serializers.DateTimeField):
    """In UTC, whatever the time zone of the person. Refused: the first and the last year, of which some zones have no
    date.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(default_timezone=UTC, **options)

    def to_internal_value(self, value: Any) -> datetime:
        found: datetime = super().to_internal_value(value)
        if not MINYEAR < found.year < MAXYEAR:
            self.fail("overflow")
        return found


class WordChoice(serializers.ChoiceField):
    """One of a closed vocabulary: the stored value."""

    def __init__(self, words: type[Word], **options: Any) -> None:
        super().__init__(choices=[(word.value, word.label) for word in words], **options)

    def to_representation(self, value: Any) -> Any:
        return value


class PersonName(serializers.CharField):
    """Of whom: the name alone; null for the program itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_null=True, **options)

    def to_representation(self, value: Any) -> str:
        return str(value)
