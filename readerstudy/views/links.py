"""Links to the results of a study: made, listed, revoked by its coordinators; and the pages for whoever has one.

These are the pages of the coordinators without what is not to leave: no case, image, key or explanation, no name of a
person and no link to anything else.
"""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from annotation.views.site.decorators import AuthenticatedRequest, anyone
from readerstudy.acts.files import figure_response
from readerstudy.forms.studies import ShareForm
from readerstudy.results.looking import (
    Seen,
    by_link,
    find_link,
    is_good,
    links_of,
    note_use,
    share_results,
    stored_result,
)
from readerstudy.views.access import person_page, seen_result
from readerstudy.views.results.overview import analysed_page
from readerstudy.views.results.pairs import agreement_page, categories_page, times_page


@person_page("GET", "HEAD", "POST", fresh=True)
def study_share(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """All links to results of the study, and a new one to this analysis, which is shown once."""
    seen = seen_result(request.user, slug, public_id)
    now = timezone.now()
    form = ShareForm(request.POST or None)
    context = seen.context()
    if request.method == "POST" and form.is_valid():
        asked = form.cleaned_data
        issued = share_results(seen.analysis, days=asked["days"], note=asked["note"], actor=request.user, at=now)
        address = f"{settings.PUBLIC_URL}{reverse('shared-analysed', args=[issued.token])}"
        return render(request, "readerstudy/sharing/made.html", {**context, "issued": issued.link, "link": address})
    context |= {
        "form": form,
        "links": [
            (one, one.is_open(now), one.revoked_at is not None and one.expires_at > now)
            for one in links_of(seen.analysis.study)
        ],
    }
    return render(request, "readerstudy/sharing/share.html", context, status=422 if form.errors else 200)


# --- for whoever has the link ---------------------------------------------------------------------
CLOSED = "readerstudy/sharing/closed.html"


def _by_link(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The page with what the link shows, in place of its token. No search engine keeps it, no other site learns of it.

    Wrong, expired and revoked links look the same: the page does not say which. A token is too long to be guessed.
    """

    @anyone
    @never_cache
    @require_safe
    def shown(request: HttpRequest, token: str, **kwargs: str) -> HttpResponse:
        seen = _seen(token)
        response = page(request, seen, **kwargs) if seen else render(request, CLOSED, status=404)
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


shared_analysed, shared_agreement = _by_link(analysed_page), _by_link(agreement_page)
shared_categories, shared_times = _by_link(categories_page), _by_link(times_page)


@_by_link
def shared_figure(request: HttpRequest, seen: Seen, name: str, width: str, form: str) -> HttpResponse:
    return figure_response(request, seen.analysis, name, width, form)
