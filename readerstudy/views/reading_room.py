"""The reading page: a shell without any text or image of a case; its script asks for these."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from annotation.decorators import AuthenticatedRequest, person_required
from readerstudy.design.rules import CHANCES
from readerstudy.reading.armed import standing_of
from readerstudy.reading.holding import may_read, rules_of
from readerstudy.views.reading_api import own_enrolment_or_404


@person_required
@require_GET
@never_cache
@ensure_csrf_cookie
def reading_room(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Practice and main block on one page; elsewhere when a step before is missing or nothing is left to read."""
    enrolment = own_enrolment_or_404(request, slug)
    at = timezone.now()
    rules = rules_of(enrolment)
    standing = standing_of(enrolment, rules, at=at)
    if not may_read(enrolment, at) or standing.is_finished:
        return redirect("reading", slug=slug)
    context = {
        "enrolment": enrolment,
        "study": enrolment.study,
        "rules": rules,
        "chances": CHANCES,
        "urls": {
            "entry": reverse("reading", args=[slug]),
            **{
                name: reverse(f"reading-{name}", args=[slug])
                for name in ("room", "session", "state", "pause", "resume")
            },
        },
    }
    if standing.is_undecided:
        return render(request, "readerstudy/reading/practice_not_passed.html", context)
    return render(request, "readerstudy/reading/room.html", context)
