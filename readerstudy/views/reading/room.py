"""The reading page: a shell without any text or image of a case; its script asks for these."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.design.kernels.rules import CHANCES, Rules
from readerstudy.enrolment.reader_eligibility import has_keys_at_hand
from readerstudy.models import Enrolment
from readerstudy.reading.case_opening import still_asked
from readerstudy.reading.prefetched import last_presented, position_of, reading_of
from readerstudy.reading.write_checks import may_read, own_enrolment, rules_of


@person_required
@require_GET
@never_cache
@ensure_csrf_cookie
def reading_room(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Practice and main block on one page; elsewhere when a step before is missing or nothing is left to do."""
    enrolment = own_enrolment(request.user, slug)
    at = timezone.now()
    rules = rules_of(enrolment)
    position = position_of(enrolment, rules, at=at)
    if not may_read(enrolment, at) or (position.is_finished and not _is_asked(enrolment, rules)):
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
    if has_keys_at_hand(request.user, enrolment.study):
        return render(request, "readerstudy/reading/keys_at_hand.html", context, status=403)
    if position.is_undecided:
        return render(request, "readerstudy/reading/practice_not_passed.html", context)
    return render(request, "readerstudy/reading/room.html", context)


def _is_asked(enrolment: Enrolment, rules: Rules) -> bool:
    """Whether something is still to be said about the last answer of all."""
    last = last_presented(enrolment)
    return last is not None and still_asked(reading_of(last), rules) is not None
