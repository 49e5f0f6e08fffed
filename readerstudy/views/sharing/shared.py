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

from annotation.views.site.decorators import anyone
from readerstudy.results.looking import Seen, by_link, stored_result
from readerstudy.sharing.linking import find_link, is_good, note_use
from readerstudy.views.results.items import categories_page, times_page
from readerstudy.views.results.overview import analysed_page, figure_response
from readerstudy.views.results.pairs import agreement_page

CLOSED = "readerstudy/sharing/closed.html"


def _by_link(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Give the view what the link shows, in place of its token. No search engine keeps it, no other site is told of it.

    Wrong, expired and revoked links look the same: nobody is told which. A token is too long to be guessed.
    """

    @wraps(view)
    def shown(request: HttpRequest, token: str, **kwargs: str) -> HttpResponse:
        seen = _seen(token)
        response = view(request, seen, **kwargs) if seen else render(request, CLOSED, status=404)
        response["X-Robots-Tag"] = "noindex, nofollow, noarchive"
        response["Referrer-Policy"] = "no-referrer"
        return response

    return shown


def _seen(token: str) -> Seen | None:
    link, now = find_link(token), timezone.now()
    if link is None or not is_good(link, now):
        return None
    note_use(link, at=now)
    return Seen(by_link(token, link.expires_at), link.analysis, stored_result(link.analysis))


@anyone
@never_cache
@require_safe
@_by_link
def shared_analysed(request: HttpRequest, seen: Seen) -> HttpResponse:
    return analysed_page(request, seen)


@anyone
@never_cache
@require_safe
@_by_link
def shared_agreement(request: HttpRequest, seen: Seen) -> HttpResponse:
    return agreement_page(request, seen)


@anyone
@never_cache
@require_safe
@_by_link
def shared_categories(request: HttpRequest, seen: Seen) -> HttpResponse:
    return categories_page(request, seen)


@anyone
@never_cache
@require_safe
@_by_link
def shared_times(request: HttpRequest, seen: Seen) -> HttpResponse:
    return times_page(request, seen)


@anyone
@never_cache
@require_safe
@_by_link
def shared_figure(request: HttpRequest, seen: Seen, name: str, width: str, form: str) -> HttpResponse:
    return figure_response(request, seen.analysis, name, width, form)
