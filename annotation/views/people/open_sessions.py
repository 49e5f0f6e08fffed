"""Where somebody is logged in."""

from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.people.open_sessions import end_others, end_session, sessions_of
from annotation.views.site.decorators import AuthenticatedRequest, person_required


@person_required
@never_cache
@require_safe
def open_sessions(request: AuthenticatedRequest) -> HttpResponse:
    note_session(request)
    sessions = sessions_of(request.user, request.session.session_key or "")
    return render(request, "annotation/people/sessions.html", {"sessions": sessions})


@person_required
@require_POST
def session_end(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    if not end_session(request.user, pk, at=timezone.now()):
        raise Http404
    messages.success(request, _("You are logged out there."))
    return redirect("open-sessions")


@person_required
@require_POST
def sessions_end_others(request: AuthenticatedRequest) -> HttpResponse:
    n = end_others(request.user, request.session.session_key or "", at=timezone.now())
    sentence = ngettext("You are logged out at %(n)s other place.", "You are logged out at %(n)s other places.", n)
    messages.success(request, sentence % {"n": n} if n else _("You were logged in nowhere else."))
    return redirect("open-sessions")


def note_session(request: HttpRequest) -> None:
    """The session of this request is in the list, also where it has a new key."""
    UserSession.objects.create_from_request(request)
