"""Error pages: what happened, and what to do now."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from annotation.decorators import anyone

TEMPLATE = "annotation/error.html"


def _page(request: HttpRequest, status: int, title: str, message: str) -> HttpResponse:
    return render(request, TEMPLATE, {"title": title, "message": message}, status=status)


def _page_without_person(status: int, title: str, message: str) -> HttpResponse:
    """A page that asks nobody who is logged in: the session, the database or the style sheets may be what failed."""
    context = {"title": title, "message": message, "is_demonstration": settings.DEMO}
    try:
        return HttpResponse(render_to_string(TEMPLATE, context), status=status)
    except Exception:  # whatever is broken, the reader still gets the two sentences
        return HttpResponse(f"{title}\n\n{message}\n", status=status, content_type="text/plain; charset=utf-8")


@anyone
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page_without_person(
        400,
        _("This request could not be read"),
        _(
            "Go back, load the page again and repeat what you did. If you typed the address of this site, compare it "
            "with the one that you were given."
        ),
    )


@anyone
def too_large(request: HttpRequest) -> HttpResponse:
    return _page_without_person(
        413,
        _("This is more than this site takes at once"),
        _("One upload may hold %(most)d MB. Go back and send the files in parts.")
        % {"most": settings.UPLOAD_MAX_BYTES // 1024**2},
    )


@anyone
def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    reason = str(exception or "") or _("Your account does not have the role that this page needs.")
    return _page(
        request,
        403,
        _("Not allowed"),
        reason + " " + _("Ask a coordinator or an administrator if you should have it."),
    )


@anyone
def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _page(
        request,
        404,
        _("Nothing here"),
        _("The address is wrong, the thing is gone, or it is not yours to see. Start again from your home page."),
    )


@anyone
def server_error(request: HttpRequest) -> HttpResponse:
    return _page_without_person(
        500,
        _("Something went wrong on our side"),
        _(
            "Nothing that was shown as saved is lost. Load the page again; if it happens again, "
            "tell the person who runs this site what you did and when."
        ),
    )


@anyone
def storage_full(request: HttpRequest) -> HttpResponse:
    """507, as JSON for a script: it keeps what it has and sends it again."""
    title = _("The disk of this site is full")
    message = _(
        "Nothing of this was stored. What a page still holds is sent again by itself; tell the person who runs this "
        "site that the disk is full."
    )
    if request.headers.get("HX-Request") == "true":
        return JsonResponse({"reason": "storage_full", "message": message}, status=507)
    return _page_without_person(507, title, message)


@anyone
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _page(
        request,
        403,
        _("This form was not accepted"),
        _(
            "You logged in or out elsewhere since the page was loaded, or your browser refuses cookies. "
            "Nothing was stored. Go back, load the page again and send it once more."
        ),
    )
