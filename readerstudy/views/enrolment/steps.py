"""A reader's own pages: their studies, the entry of one, and the steps before the first case and after the last."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.models import User
from annotation.people.mailing import can_send
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.enrolment import participation
from readerstudy.enrolment.kernels.steps import SHOWN, Step, done_steps
from readerstudy.enrolment.mailing import send_consent_copy
from readerstudy.enrolment.participation import (
    agree,
    consent_copy,
    consent_sha256,
    consent_text,
    decline,
    may_see_results,
    rules_of,
    see_own_results,
    withdraw,
)
from readerstudy.enrolment.reader_status import ReaderStatus, own_enrolment, status_of, studies_of
from readerstudy.enrolment.rules_in_words import keys_of, rules_in_words
from readerstudy.forms.enrolment import DisplayForm, FactsForm
from readerstudy.study.locking import HAS_LEFT, StudyRefused

# Where each step is done; the others have no page of their own.
PAGES = {
    Step.CONSENT: "reading-consent",
    Step.FACTS: "reading-facts",
    Step.INSTRUCTIONS: "reading-instructions",
    Step.DISPLAY: "reading-display",
    Step.DECLARATION: "reading-done",
    Step.DONE: "reading-done",
}


def own_status(person: User, slug: str) -> ReaderStatus:
    """Raises Http404 for whoever does not read in this study."""
    enrolment = own_enrolment(person, slug)
    if enrolment is None:
        raise Http404
    return status_of(enrolment, timezone.now())


def reader_page(
    request: HttpRequest, template: str, reader_status: ReaderStatus, *, here: Step, status: int = 200, **more: Any
) -> HttpResponse:
    """A page of a reader, with what every one of them shows: the way, the contact, the deadline, the protocol."""
    done = done_steps(reader_status.facts)
    shown = [one for one in SHOWN if one is not Step.PRACTICE or reader_status.facts.has_practice]
    context = {
        "reader_status": reader_status,
        "enrolment": reader_status.enrolment,
        "study": reader_status.enrolment.study,
        "least_window": rules_of(reader_status.enrolment.study).least_window,
        "way": [{"label": one.label, "is_done": one in done, "is_here": one is here} for one in shown],
        **more,
    }
    return render(request, template, context, status=status)


# --- the studies of a reader, consent, leaving ----------------------------------------------------
@person_required
@require_safe
def readings(request: AuthenticatedRequest) -> HttpResponse:
    """The studies of a reader."""
    found = studies_of(request.user, timezone.now())
    return render(request, "readerstudy/enrolment/readings.html", {"studies": found})


@person_required
@never_cache
@require_safe
def reading(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Where a reader comes in: a step with a page of its own is gone to, the others show here."""
    reader_status = own_status(request.user, slug)
    if reader_status.step in PAGES:
        return redirect(PAGES[reader_status.step], slug)
    return reader_page(request, "readerstudy/enrolment/entry.html", reader_status, here=reader_status.step)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_consent(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Read the text, then agree or decline. What was agreed to can be read here again."""
    reader_status = own_status(request.user, slug)
    enrolment, problem = reader_status.enrolment, ""
    if reader_status.step is Step.LEFT:
        return redirect("reading", slug)
    if request.method == "POST":
        try:
            if request.POST.get("answer") == "decline":
                decline(enrolment, at=timezone.now())
                return redirect("reading", slug)
            if request.POST.get("agreed") == "yes":
                agree(enrolment, request.POST.get("sha256", ""), at=timezone.now())
                send_consent_copy(enrolment)
                return redirect("reading", slug)
            problem = _("Tick the box to agree, or decline.")
        except StudyRefused as refusal:
            if refusal.code == HAS_LEFT:
                return redirect("reading", slug)
            problem = refusal.sentence
    return reader_page(
        request,
        "readerstudy/enrolment/consent.html",
        reader_status,
        here=Step.CONSENT,
        status=422 if problem else 200,
        problem=problem,
        text=consent_text(enrolment.study),
        sha256=consent_sha256(enrolment.study),
        can_send=can_send(),
    )


@person_required
@require_safe
def reading_consent_copy(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The copy that a reader keeps."""
    enrolment = own_status(request.user, slug).enrolment
    response = HttpResponse(consent_copy(enrolment), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{enrolment.study.slug}-consent.txt"'
    return response


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_withdraw(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Leave the study, after a page that says what that means."""
    reader_status = own_status(request.user, slug)
    if reader_status.step is Step.LEFT or reader_status.facts.finished:
        return redirect("reading", slug)
    if request.method == "POST":
        withdraw(reader_status.enrolment, **by(request))
        return redirect("reading", slug)
    return reader_page(request, "readerstudy/enrolment/withdraw.html", reader_status, here=reader_status.step)


# --- facts, instructions, display, declaration ----------------------------------------------------
@contextmanager
def unless_left() -> Iterator[None]:
    """Who has left the study meanwhile is shown so by the page that comes next."""
    try:
        yield
    except StudyRefused as refusal:
        if refusal.code != HAS_LEFT:
            raise


def _is_before(reader_status: ReaderStatus, step: Step) -> bool:
    """Whether the reader has not come to a step yet, or is out: then the entry page says what to do."""
    if reader_status.step is Step.LEFT or not reader_status.facts.consented:
        return True
    return step is Step.DISPLAY and not reader_status.facts.instructed


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_facts(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What a paper must report of the reader; it can be corrected until the last case."""
    reader_status = own_status(request.user, slug)
    if _is_before(reader_status, Step.FACTS) or reader_status.facts.finished:
        return redirect("reading", slug)
    form = FactsForm(request.POST) if request.method == "POST" else FactsForm.of(reader_status.enrolment.facts)
    if request.method == "POST" and form.is_valid():
        with unless_left():
            participation.store_facts(reader_status.enrolment, form.facts(), at=timezone.now())
        return redirect("reading", slug)
    status = 422 if form.errors else 200
    return reader_page(
        request, "readerstudy/enrolment/facts.html", reader_status, here=Step.FACTS, status=status, form=form
    )


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_instructions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The instructions, the rules of this study in words, and the keys. They can be read again at any time."""
    reader_status = own_status(request.user, slug)
    if _is_before(reader_status, Step.INSTRUCTIONS):
        return redirect("reading", slug)
    if request.method == "POST":
        with unless_left():
            participation.instruct(reader_status.enrolment, at=timezone.now())
        return redirect("reading", slug)
    study = reader_status.enrolment.study
    rules, shown = participation.rules_of(study), study.arms.get(number=1).information
    return reader_page(
        request,
        "readerstudy/enrolment/instructions.html",
        reader_status,
        here=Step.INSTRUCTIONS,
        rules=rules_in_words(rules, n_practice=reader_status.n_practice, n=reader_status.n, information=shown),
        keys=keys_of(rules),
    )


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_display(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Two grey steps to be found, and the size of the window. It may be done anew on another screen."""
    reader_status = own_status(request.user, slug)
    if _is_before(reader_status, Step.DISPLAY) or reader_status.facts.finished:
        return redirect("reading", slug)
    form, problem = DisplayForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST":
        problem = _checked(reader_status, form, goes_on=request.POST.get("goes_on") == "yes")
        if not problem:
            return redirect("reading", slug)
    dark, light = participation.corners_now(reader_status.enrolment)
    return reader_page(
        request,
        "readerstudy/enrolment/display.html",
        reader_status,
        here=Step.DISPLAY,
        status=422 if problem else 200,
        form=DisplayForm(),
        problem=problem,
        may_go_on=participation.may_go_on_unseen(reader_status.enrolment),
        dark=dark.value,
        light=light.value,
    )


def _checked(reader_status: ReaderStatus, form: DisplayForm, *, goes_on: bool) -> str:
    """Store the check; what is wrong with it as a sentence, empty when it is passed."""
    if not form.is_valid():
        if form.is_measured():
            return _("Choose the position of both patches.")
        return _("The size of the window could not be measured. Allow JavaScript on this page and reload it.")
    try:
        with unless_left():
            participation.check_display(
                reader_status.enrolment, form.screen(), form.corners(), at=timezone.now(), goes_on=goes_on
            )
    except StudyRefused as refusal:
        return refusal.sentence
    return ""


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_done(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The declaration, then thanks, and own results where the study shows them."""
    reader_status = own_status(request.user, slug)
    if reader_status.step not in {Step.DECLARATION, Step.DONE}:
        return redirect("reading", slug)
    problem = ""
    if request.method == "POST":
        if request.POST.get("declared") == "yes":
            with unless_left():
                participation.declare(reader_status.enrolment, at=timezone.now())
            return redirect("reading-done", slug)
        problem = _("Tick the box to declare this. If you used another source, write to the contact below instead.")
    results = None
    if reader_status.step is Step.DONE and may_see_results(reader_status.enrolment):
        results = see_own_results(reader_status.enrolment, at=timezone.now())
    return reader_page(
        request,
        "readerstudy/enrolment/done.html",
        reader_status,
        here=reader_status.step,
        status=422 if problem else 200,
        problem=problem,
        results=results,
        rules=participation.rules_of(reader_status.enrolment.study),
    )
