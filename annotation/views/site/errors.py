"""Error pages: what happened, and what to do now; and the same to a program that asks before a view is found."""

from __future__ import annotations

import sys
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _

from annotation.refusals import CONTENT_TYPE, NOTHING_HERE, SECONDS_UNTIL_BACK, Refused, problem_document
from annotation.site.health import Outage, outage_of
from annotation.site.logs import request_id
from annotation.views.site.decorators import anyone, is_from_script

ADDRESS = "/api/"


def is_for_api(request: HttpRequest) -> bool:
    """Whether a program asks, also where no view has been found yet."""
    return request.path_info.startswith(ADDRESS)


def problem_answer(status: int, code: str, detail: str) -> JsonResponse:
    return JsonResponse(problem_document(status, code, detail), status=status, content_type=CONTENT_TYPE)


# --- Error pages: what happened, and what to do now -----------------------------------------------
TEMPLATE = "annotation/error.html"
_WORDS = {400: "bad_request", 403: "forbidden", 404: "not_found", 413: "too_large"}  # for programs


def _page(request: HttpRequest, status: int, title: str, message: str, *, back: str = "") -> HttpResponse:
    if is_for_api(request):
        return problem_answer(status, _WORDS[status], message)
    return render(request, TEMPLATE, {"title": title, "message": message, "back": back}, status=status)


def _page_without_person(status: int, title: str, message: str) -> HttpResponse:
    """A page that asks nobody who is logged in: the session, the database or the style sheets may be what failed."""
    context = {"title": title, "message": message, "is_demonstration": settings.DEMO}
    try:
        return HttpResponse(render_to_string(TEMPLATE, context), status=status)
    except Exception:  # whatever is broken, the reader still gets the two sentences
        return HttpResponse(f"{title}\n\n{message}\n", status=status, content_type="text/plain; charset=utf-8")


@anyone
def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    for handler in request.upload_handlers:
        handler.upload_interrupted()  # of a file that came in part
    if is_for_api(request):
        return problem_answer(400, _WORDS[400], _("This request could not be read."))
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
    if is_for_api(request):
        return problem_answer(413, _WORDS[413], _("This is more than this site takes at once."))
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
    if is_for_api(request):
        return problem_answer(404, _WORDS[404], NOTHING_HERE)
    return _page(
        request,
        404,
        _("Nothing here"),
        _(
            "The address is wrong, the page no longer exists, or you do not have access. "
            "Start again from your home page."
        ),
    )


@anyone
def wrong_method(request: HttpRequest, refused: HttpResponse) -> HttpResponse:
    """The address of a button, typed or opened again: back to the page above it, where the button is."""
    sentence = _("This address takes only what a button or a form sends. Go back to the page that has it.")
    facts = {"title": _("Nothing to show here"), "message": sentence, "back": f"{request.path.rsplit('/', 2)[0]}/"}
    answer = render(request, TEMPLATE, facts, status=refused.status_code)
    answer["Allow"] = refused["Allow"]
    return answer


@anyone
def server_error(request: HttpRequest) -> HttpResponse:
    """Called while the exception is being handled, which may be one that a site gets over by itself."""
    answer = answer_to(request, sys.exception())
    if answer is not None:
        return answer
    return _problem(
        request,
        500,
        "server_error",
        _("Something went wrong on our side"),
        _(
            "Nothing that was shown as saved is lost. Load the page again; if it happens again, "
            "tell the person who runs this site what you did, and this number: %(number)s"
        )
        % {"number": request_id()},
    )


@anyone
def outage_answer(request: HttpRequest, outage: Outage) -> HttpResponse:
    """507 for a full disk, 503 with Retry-After for a database that is away."""
    if outage is Outage.STORAGE_FULL:
        return _problem(
            request,
            507,
            outage.value,
            _("The disk of this site is full"),
            _(
                "Nothing of this was stored. What a page still holds is sent again by itself; tell the person who "
                "runs this site that the disk is full."
            ),
        )
    response = _problem(
        request,
        503,
        outage.value,
        _("The database does not answer right now"),
        _(
            "Your answers are kept: those shown as saved are in the database, and the others wait on your page, which "
            "sends them again by itself. Load this page again in a minute."
        ),
    )
    response["Retry-After"] = str(SECONDS_UNTIL_BACK)
    return response


@anyone
def refusal_answer(request: HttpRequest, refused: Refused) -> HttpResponse:
    """The sentence of a refusal that no view has shown in a place of its own."""
    if refused.status == 404:
        return not_found(request)
    if is_from_script(request):
        return JsonResponse(problem(refused), status=refused.status)
    if refused.status == 403:
        return forbidden(request, refused)
    before = request.headers.get("Referer", "")  # the page with the button
    back = before if url_has_allowed_host_and_scheme(before, {request.get_host()}) else ""
    return _page(request, refused.status, _("This was not done"), refused.sentence, back=back)


def problem(refused: Refused) -> dict[str, Any]:
    """The one shape in which a script gets a refusal: its code, its sentence, and what else it needs."""
    return {"reason": refused.code, "message": refused.sentence, **refused.facts}


def answer_to(request: HttpRequest, error: BaseException | None) -> HttpResponse | None:
    """What to say of an error that is no fault of the program; None for one that is."""
    if isinstance(error, Refused):
        return refusal_answer(request, error)
    if isinstance(error, ValueError) and "NUL (0x00)" in str(error):  # of a form; PostgreSQL takes none
        return bad_request(request)
    outage = outage_of(error)
    return outage_answer(request, outage) if outage else None


def _problem(request: HttpRequest, status: int, reason: str, title: str, message: str) -> HttpResponse:
    """One shape for whatever went wrong: JSON with the reason for a script, a page for people."""
    if is_for_api(request):
        return problem_answer(status, reason, message)
    if is_from_script(request):
        return JsonResponse({"reason": reason, "message": message}, status=status)
    return _page_without_person(status, title, message)


@anyone
def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    usual = _(
        "You logged in or out elsewhere since the page was loaded, or your browser refuses cookies. "
        "Nothing was stored. Go back, load the page again and send it once more."
    )
    hidden = _(
        "Your browser did not say from which site the form comes: something in front of this site, such as a proxy, "
        "sets “Referrer-Policy: no-referrer”. Whoever keeps it sets “same-origin” in its place. Nothing was stored."
    )
    sentence = hidden if request.headers.get("Origin") == "null" else usual
    return _page(request, 403, _("This form was not accepted"), sentence)
