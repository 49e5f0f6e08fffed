from __future__ import annotations

import logging
import zoneinfo
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from annotation.storage_full import is_storage_full
from annotation.views.errors import storage_full, too_large

log = logging.getLogger(__name__)

ROOM_FOR_FIELDS = 5 * 1024 * 1024  # what a form carries beside its files


class PersonalTimeZoneMiddleware:
    """Times on a page are in the time zone of the person who looks at it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            with timezone.override(zone_of(request.user.time_zone)):
                return self.get_response(request)
        return self.get_response(request)


class BodyLimitMiddleware:
    """A body that is too large is refused by its announced length, before a byte of it is read.

    Only a person who is logged in may send more than a form holds. Stands after the session and before whatever reads
    the body first, which is the check of the CSRF token.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            announced = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            announced = 0
        if announced <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return self.get_response(request)
        if announced > settings.UPLOAD_MAX_BYTES + ROOM_FOR_FIELDS or not request.user.is_authenticated:
            return too_large(request)
        return self.get_response(request)


class StorageFullMiddleware:
    """A full disk is said to be one: nothing of the request was stored, and the page that sent it keeps what it has."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if not is_storage_full(exception):
            return None
        log.error("the disk is full: %s %s was not stored", request.method, request.path)
        return storage_full(request)


def zone_of(name: str) -> zoneinfo.ZoneInfo:
    """The zone of that name; the one of the site when the name is unknown here (it was stored by another machine)."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return zoneinfo.ZoneInfo(settings.TIME_ZONE)
