"""A reader's own study: to everybody else it does not exist."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from annotation.models import User
from readerstudy.enrolment.kernels.steps import SHOWN, Step, done_steps
from readerstudy.enrolment.preparing import rules_of
from readerstudy.enrolment.reader_status import ReaderStatus, own_enrolment, standing_of

# Where each step is done; the others have no page of their own.
PAGES = {
    Step.CONSENT: "reading-consent",
    Step.FACTS: "reading-facts",
    Step.INSTRUCTIONS: "reading-instructions",
    Step.DISPLAY: "reading-display",
    Step.DECLARATION: "reading-done",
    Step.DONE: "reading-done",
}


def own_standing(person: User, slug: str) -> ReaderStatus:
    """Raises Http404 for whoever does not read in this study."""
    enrolment = own_enrolment(person, slug)
    if enrolment is None:
        raise Http404
    return standing_of(enrolment, timezone.now())


def reader_page(
    request: HttpRequest, template: str, standing: ReaderStatus, *, here: Step, status: int = 200, **more: Any
) -> HttpResponse:
    """A page of a reader, with what every one of them shows: the way, the contact, the deadline, the protocol."""
    done = done_steps(standing.facts)
    shown = [one for one in SHOWN if one is not Step.PRACTICE or standing.facts.has_practice]
    context = {
        "standing": standing,
        "enrolment": standing.enrolment,
        "study": standing.enrolment.study,
        "least_window": rules_of(standing.enrolment.study).least_window,
        "way": [{"label": one.label, "is_done": one in done, "is_here": one is here} for one in shown],
        **more,
    }
    return render(request, template, context, status=status)
