"""The reading page: a shell without any text or image of a case, and the JSON in which its script asks for these."""

from __future__ import annotations

from typing import Any

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
from readerstudy.enums import RemarkKind
from readerstudy.models import Enrolment, Reading, Remark, Response
from readerstudy.reading.case_opening import still_asked
from readerstudy.reading.practice import Feedback
from readerstudy.reading.prefetched import last_presented, position_of, reading_of
from readerstudy.reading.sessions import Lease
from readerstudy.reading.showing import ShownCase, ShownState
from readerstudy.reading.write_checks import may_read, own_enrolment, rules_of

ACTS = ("open", "choice", "events", "commit", "remark")
RULES = (
    "time_limit_s",
    "confidence",
    "slips",
    "cannot_tell",
    "may_pause",
    "n_ready",
)  # that the page of a reader knows
PAGES = ("room", "session", "state", "pause", "resume")
Json = dict[str, Any]


def state_json(shown: ShownState) -> Json:
    study, rules, position = shown.enrolment.study, shown.rules, shown.position
    return {
        "study": {
            "name": study.name,
            "slug": study.slug,
            "protocol": study.protocol_sha256,
            "simulated": study.simulated,
        },
        "block": str(position.block),
        "n": position.n,
        "done": position.done,
        "session": shown.session,
        "writer": shown.writer,
        "paused": shown.paused,
        "finished": shown.finished,
        "next": reverse("reading-room" if position.is_undecided else "reading", args=[study.slug]),
        "rules": {
            **{name: getattr(rules, name) for name in RULES},
            "hidden_tools": list(rules.hidden_tools),
            "least_window": [rules.least_width, rules.least_height] if rules.least_width is not None else None,
        },
        "cases": [_case(study.slug, case) for case in shown.cases],
        "last": _last(study.slug, shown),
    }


def lease_json(lease: Lease, state: Json) -> Json:
    if lease.session is None:
        return {"writer": False, "since": lease.since.isoformat() if lease.since else None, "state": state}
    return {"writer": True, "session": lease.session, "state": state}


def opened_json(reading: Reading, left: float | None) -> Json:
    return {
        "opened": True,
        "closed": reading.closed_at is not None,
        "seconds_left": left,
        "choice": reading.choice if reading.closed_at is None else "",
        "choice_sequence": reading.choice_sequence,
    }


def stored_json(place: str, response: Response) -> Json:
    return {
        "place": place,
        "option": response.option,
        "state": response.state,
        "key": response.key,
        "delivered_late": response.delivered_late,
    }


def feedback_json(feedback: Feedback | None) -> Json | None:
    return None if feedback is None else {**vars(feedback)}


def remark_json(remark: Remark) -> Json:
    return {"stored": {"key": remark.key, "kind": remark.kind, "value": remark.value}}


def _case(slug: str, case: ShownCase) -> Json:
    urls = {act: reverse(f"reading-{act}", args=[slug, case.id]) for act in ACTS}
    return {**vars(case), "options": _options(case.options), "urls": urls}


def _options(options: list[tuple[str, str]]) -> list[Json]:
    return [{"id": letter, "text": text} for letter, text in options]


def _last(slug: str, shown: ShownState) -> Json | None:
    if shown.last is None:
        return None
    return {
        "id": shown.last.id,
        "needs_guess": shown.last.asked == RemarkKind.GUESS,
        "needs_confidence": shown.last.asked == RemarkKind.CONFIDENCE,
        "may_slip": shown.last.may_slip,
        "option": shown.last.option,
        "stem": shown.last.stem,
        "options": _options(shown.last.options),
        "urls": {"remark": reverse("reading-remark", args=[slug, shown.last.id])},
    }


# --- the page -------------------------------------------------------------------------------------
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
            **{name: reverse(f"reading-{name}", args=[slug]) for name in PAGES},
        },
    }
    if has_keys_at_hand(request.user, enrolment.study):
        return render(request, "readerstudy/reading/keys_at_hand.html", context, status=403)
    if position.is_undecided:
        return render(request, "readerstudy/reading/practice_not_passed.html", context)
    return render(request, "readerstudy/reading/room.html", context)


def _is_asked(enrolment: Enrolment, rules: Rules) -> bool:
    """Whether a remark on the last answer of all is still asked for."""
    last = last_presented(enrolment)
    return last is not None and still_asked(reading_of(last), rules) is not None
