"""``ETag`` and ``If-Match``: an act is done to the state that its program has read, or not at all."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import Model
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

from annotation.api.bodies import BodyRefused
from annotation.people.kept_answers import Caller, is_kept

_MARK = re.compile(r'[-;](?:gzip|br|deflate|zstd)"$')


def etag_of(body: Any) -> str:
    """Made of what is shown and of nothing else, so that it tells nothing else."""
    text = json.dumps(body, sort_keys=True, cls=JSONEncoder, ensure_ascii=True)
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def etags_in(header: str) -> set[str]:
    """Also as a proxy hands them on that compresses answers: weakened, or marked with how it did."""
    return {_MARK.sub('"', one.strip().removeprefix("W/")) for one in header.split(",")}


def act_if_unchanged(
    resource: Any, caller: Caller, act: Callable[..., Response], request: Request, /, **named: Any
) -> Response:
    """The act, in the transaction in which the thing is locked and then compared with If-Match.

    Raises BodyRefused where the thing is in another state. A repeated Idempotency-Key gets its answer all the same.
    """
    with transaction.atomic():
        found = thing_of(resource, request.path_info)
        if found is not None:
            _thing(found, request).lock()
        key = request.headers.get("Idempotency-Key")
        if key is None or not is_kept(caller, key, at=timezone.now()):
            _check_unchanged(found, request)
        return act(request, **named)


def thing_of(resource: Any, address: str) -> ResolverMatch | None:
    """Whose ETag an act compares: the thing that this address reads, or that the one above it does, as ``jobs/1/`` of
    ``jobs/1/cancel/``. None for lists and files.
    """
    if not (hasattr(resource, "get") and "get" in resource.http_method_names):
        address = f"{address.rstrip('/').rpartition('/')[0]}/"
    try:
        found = resolve(address)
    except Resolver404:
        return None
    kind = getattr(found.func, "cls", None)
    return found if getattr(kind, "has_etag", False) and not hasattr(kind, "content_types") else None


def lock_rows(*rows: Model) -> None:
    """In this order, until the transaction ends."""
    for row in rows:  # not their keys: who adds a row that refers to them waits for its log at the end, and we for it
        type(row)._base_manager.select_for_update(no_key=True).filter(pk=row.pk).first()


def _thing(found: ResolverMatch, request: Request) -> Any:
    """The resource of this address, which has read nothing yet."""
    thing = found.func.cls()  # type: ignore[attr-defined]
    thing.setup(request._request, **found.kwargs)
    thing.request = request
    return thing


def _check_unchanged(found: ResolverMatch | None, request: Request) -> None:
    if found is None:
        sentence = _("This address has no ETag. Send the request without If-Match.")
        raise BodyRefused("no_etag", sentence, status=412)
    if _thing(found, request).get(request, **found.kwargs)["ETag"] not in etags_in(request.headers["If-Match"]):
        sentence = _("This was changed since you read it. Read it again, and decide again.")
        raise BodyRefused("changed_since", sentence, status=412)
