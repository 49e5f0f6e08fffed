"""Every refusal of the API as one problem document, whichever room, serializer or part of the framework raised it."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, TooManyFilesSent
from django.http import Http404
from django.utils.translation import gettext as _
from rest_framework import exceptions
from rest_framework.response import Response

from annotation.refusals import Refused
from annotation.site.health import outage_of
from annotation.views.site.errors import CONTENT_TYPE, NOTHING_HERE, SECONDS_UNTIL_BACK, problem_document

log = logging.getLogger(__name__)

_WORDS = {
    400: "bad_request",
    401: "not_authenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "unsupported_media_type",
    429: "too_many_requests",
}


def handle(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """The answer to a refusal or an outage; None for a fault of the program, which then is error 500."""
    if isinstance(error, Refused):
        return _of_refusal(error)
    if isinstance(error, exceptions.ValidationError):
        errors = list(_errors_of(error.detail))
        return _answer(422, "invalid", _("What was sent cannot be taken: see the errors."), errors=errors)
    if isinstance(error, Http404):
        return _answer(404, "not_found", NOTHING_HERE)
    if isinstance(error, PermissionDenied):
        return _answer(403, "forbidden", str(error) or _("Your role does not allow this."))
    if isinstance(error, RequestDataTooBig | TooManyFilesSent):
        return _answer(413, "too_large", _("This is more than this site takes at once."))
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    outage = outage_of(error)
    if outage is None:
        return None
    log.error("%s: %s", outage.value, type(error).__name__)
    is_full = outage.value == "storage_full"
    answer = _answer(507 if is_full else 503, outage.value, _("Nothing was stored. Send it again later."))
    if not is_full:
        answer["Retry-After"] = str(SECONDS_UNTIL_BACK)
    return answer


def _of_refusal(refused: Refused) -> Response:
    if refused.status == 404:
        return _answer(404, "not_found", NOTHING_HERE)
    faults = refused.facts.get("faults") or ()  # of several fields at once
    errors = [{"field": one.field, "message": one.message} for one in faults]
    if refused.field and not errors:
        errors = [{"field": refused.field, "message": refused.sentence}]
    answer = _answer(refused.status, refused.code, refused.sentence or refused.code, errors=errors, facts=refused.facts)
    if refused.status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _of_framework(error: exceptions.APIException) -> Response:
    answer = _answer(error.status_code, _WORDS.get(error.status_code, "refused"), str(error.detail))
    if header := getattr(error, "auth_header", None):
        answer["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        answer["Retry-After"] = str(int(wait))
    return answer


def _answer(status: int, code: str, detail: str, **more: Any) -> Response:
    return Response(problem_document(status, code, str(detail), **more), status=status, content_type=CONTENT_TYPE)


def _errors_of(detail: Any, field: str = "") -> Iterator[dict[str, str]]:
    """One entry for each sentence of the framework, with the path of its field: ``cases.3.number``."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            path = "" if name == "non_field_errors" else str(name)
            yield from _errors_of(inner, ".".join(filter(None, (field, path))))
    elif isinstance(detail, list | tuple):
        for place, inner in enumerate(detail):
            nested = isinstance(inner, Mapping | list)
            yield from _errors_of(inner, f"{field}.{place}" if nested else field)
    else:
        yield {"field": field, "message": str(detail)}
