"""The results of one analysis for whoever has the link: the pages of the coordinators, without what is not to leave.

No case, image, key or explanation, no name of a person and no way to anything else.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.decorators import anyone
from readerstudy.results.looking import stored_result
from readerstudy.results.way import Seen, by_link
from readerstudy.sharing.linking import find_link, is_good, note_use
from readerstudy.views.results import analysed_page, figure_response
from readerstudy.views.results_items import categories_page, times_page
from readerstudy.views.results_pairs import agreement_page


def _kept_apart(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """No search engine keeps a page, and no other site is told its address."""

    @wraps(view)
    def guarded(request: HttpRequest, *args: str, **kwargs: str) -> HttpResponse:
        response = view(request, *args, **kwargs)
        response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
        response["Referrer-Policy"] = "no-referrer"
        return response

    return guarded


def _seen(token: str) -> Seen | None:
    """None where the link is wrong, expired or revoked: nobody is told which. A token is too long to be guessed."""
    link, now = find_link(token), timezone.now()
    if link is None or not is_good(link, now):
        return None
    note_use(link, at=now)
    return Seen(by_link(token, link.expires_at), link.analysis, stored_result(link.analysis))


def _closed(request: HttpRequest) -> HttpResponse:
    return render(request, "readerstudy/sharing/closed.html", status=404)


@anyone
@never_cache
@require_safe
@_kept_apart
def shared_analysed(request: HttpRequest, token: str) -> HttpResponse:
    seen = _seen(token)
    return analysed_page(request, seen) if seen else _closed(request)


@anyone
@never_cache
@require_safe
@_kept_apart
def shared_agreement(request: HttpRequest, token: str) -> HttpResponse:
    seen = _seen(token)
    return agreement_page(request, seen) if seen else _closed(request)


@anyone
@never_cache
@require_safe
@_kept_apart
def shared_categories(request: HttpRequest, token: str) -> HttpResponse:
    seen = _seen(token)
    return categories_page(request, seen) if seen else _closed(request)


@anyone
@never_cache
@require_safe
@_kept_apart
def shared_times(request: HttpRequest, token: str) -> HttpResponse:
    seen = _seen(token)
    return times_page(request, seen) if seen else _closed(request)


@anyone
@never_cache
@require_safe
@_kept_apart
def shared_figure(request: HttpRequest, token: str, name: str, width: str, form: str) -> HttpResponse:
    seen = _seen(token)
    return figure_response(request, seen.analysis, name, width, form) if seen else _closed(request)
