from __future__ import annotations

import logging
import os
import re
import time
import zlib
from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import RawPostDataException
from django.shortcuts import redirect, resolve_url
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.people.second_factors import is_due
from annotation.refusals import Refused
from annotation.site.logs import about
from annotation.site.sentences import zone_of
from annotation.views.site.decorators import is_from_script
from annotation.views.site.errors import answer_to, bad_request, is_for_api, too_large, wrong_method

log = logging.getLogger(__name__)

NUMBER = re.compile(r"[0-9A-Za-z-]{8,64}")  # of a request
ROOM_FOR_FIELDS = 5 * 1024 * 1024  # what a form carries beside its files


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class ReceiptMiddleware(Middleware):
    """Scripts believe an answer only with this receipt: the number that they sent, and a checksum of what came.

    A captive portal, a sign-on gateway or a firewall answers 200 as well, and what is on the device would be given up.
    Whoever means harm could forge it: against them is TLS.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        number = request.headers.get("X-Sent", "")
        if number.isascii() and number.isdecimal() and (came := received_by(request)) is not None:
            response["X-Received"] = f"{number} {zlib.crc32(came)}"
        sent_as = vars(request).get("_post", {}).get("sent_as", "")  # by a form that the browser itself sends: forms.js
        is_login = response.headers.get("Location", "").startswith(f"{resolve_url(settings.LOGIN_URL)}?")
        if sent_as.isascii() and sent_as.isdecimal() and response.status_code < 400 and not is_login:
            response.set_cookie("received", sent_as, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE)
        return response


def received_by(request: HttpRequest) -> bytes | None:
    """The body, of a form with files their sizes in order; None where the request was answered without reading it."""
    if request.content_type == "multipart/form-data":
        files = vars(request).get("_files")
        sizes = sorted(file.size for _name, sent in files.lists() for file in sent) if files is not None else None
        return None if sizes is None else ",".join(map(str, sizes)).encode()
    try:
        return request.body
    except (RawPostDataException, SuspiciousOperation, OSError):
        return None


class ProxyMiddleware(Middleware):
    """What trusted proxies tell: the address of whoever sent a request to the first of them, and its number.

    A request without a number gets one. It stands in every line of the log, with the name of the page.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began, meta = time.time_ns(), request.META
        peer, told = meta.get("REMOTE_ADDR", ""), meta.get("HTTP_X_REQUEST_ID", "")
        is_told = _is_trusted(peer) and NUMBER.fullmatch(told)
        about.set({"request": told if is_told else os.urandom(16).hex()})
        meta["REMOTE_ADDR"] = client_address(peer, meta.get("HTTP_X_FORWARDED_FOR", ""))
        response = self.get_response(request)
        if settings.OTEL_ENDPOINT:
            from annotation.site.telemetry import tell_request

            tell_request(began, method=request.method or "", status=response.status_code)
        return response

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> None:
        about.set({**(about.get() or {}), "route": getattr(request.resolver_match, "view_name", "")})


def client_address(peer: str, forwarded: str) -> str:
    """The last of the forwarded addresses that is no trusted proxy; the peer, unless it is one itself.

    ``forwarded``: X-Forwarded-For, to which each proxy appends whom it heard. What is in front of that is what a
    client claims, and is never believed.
    """
    found = peer
    for claimed in reversed(forwarded.split(",") if forwarded else ()):
        if not _is_trusted(found) or _address(claimed) is None:
            break
        found = claimed.strip()
    return found


def _is_trusted(address: str) -> bool:
    known = _address(address)
    return known is not None and any(known in network for network in settings.TRUSTED_PROXIES)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text.strip())
    except ValueError:
        return None


class NoStoreMiddleware(Middleware):
    """No browser keeps an answer whose view does not say otherwise: keys, links and names of people are on pages."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-store")
        return response


class NulMiddleware(Middleware):
    """No address of ours holds a NUL, and PostgreSQL takes none."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "\0" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return bad_request(request)
        return self.get_response(request)


class PersonalTimeZoneMiddleware(Middleware):
    """Times on a page are in the time zone of the person who looks at it."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.user.is_authenticated:
            with timezone.override(zone_of(request.user.time_zone)):
                return self.get_response(request)
        return self.get_response(request)


class BodyLimitMiddleware(Middleware):
    """A body that is too large is refused by its announced length, before a byte of it is read.

    Only a person who is logged in may send more than a form holds; of a program with a token the API asks that itself,
    before it reads. Comes after the session and before whatever reads
    the body first, which is the check of the CSRF token.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        try:
            announced = int(request.META.get("CONTENT_LENGTH") or 0)
        except ValueError:
            announced = 0
        if announced <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return self.get_response(request)
        may_send = request.user.is_authenticated or (is_for_api(request) and "Authorization" in request.headers)
        if announced > settings.UPLOAD_MAX_BYTES + ROOM_FOR_FIELDS or not may_send:
            return too_large(request)
        return self.get_response(request)


class SecondFactorMiddleware(Middleware):
    """Who has to set up a second factor comes to nothing else before: neither to a page nor to an interface."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, view: Any, args: Any, kwargs: Any) -> HttpResponse | None:
        if not settings.SECOND_FACTOR_REQUIRED or not request.user.is_authenticated:
            return None
        if getattr(view, "policy", "") == "anyone" or getattr(view, "sets_up_factor", False):
            return None
        if not is_due(request.user):
            return None
        if is_from_script(request):
            return JsonResponse(
                {"reason": "second_factor_due", "message": _("Set up a second factor first, on your profile.")},
                status=403,
            )
        return redirect("mfa_index")


class ProblemMiddleware(Middleware):
    """What a view could not do, and why: an act that was refused, a full disk, a database that is away.

    The page that sent the request keeps what it has. An outage is one line of the log. What other middleware meets
    comes to the page of error 500, which says the same.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        is_empty_page = response.status_code == 405 and request.method == "GET" and not is_from_script(request)
        return wrong_method(request, response) if is_empty_page and not is_for_api(request) else response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        answer = answer_to(request, exception)
        if answer is not None and not isinstance(exception, Refused):
            log.error("%s %s: %s for %s", request.method, request.path, answer.status_code, type(exception).__name__)
        return answer
