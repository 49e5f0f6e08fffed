"""A reader's own pages: their studies, the entry of one, and the steps before the first case and after the last."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Protocol

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.case.kernels.keys import Part, listed
from annotation.forms.images import DisplayForm, shown_check
from annotation.models import User
from annotation.people.mailing import can_send
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.enrolment import participation
from readerstudy.enrolment.kernels.steps import Step, asked_steps, done_steps
from readerstudy.enrolment.participation import (
    agree,
    asks_consent,
    consent_copy,
    consent_sha256,
    consent_text,
    decline,
    may_see_results,
    rules_of,
    see_own_results,
    send_consent_copy,
    withdraw,
)
from readerstudy.enrolment.reader_status import ReaderStatus, own_enrolment, status_of, studies_of
from readerstudy.enrolment.rules_in_words import rules_in_words
from readerstudy.forms.studies import ClosingForm, FactsForm
from readerstudy.predictions.looks import own_cases
from readerstudy.study.permissions import HAS_LEFT, StudyRefused
from readerstudy.views.access import as_file, person_page

# Where each step is done; the others have no page of their own.
PAGES = {
    Step.CONSENT: "reading-consent",
    Step.FACTS: "reading-facts",
    Step.INSTRUCTIONS: "reading-instructions",
    Step.DISPLAY: "reading-display",
    Step.DECLARATION: "reading-done",
    Step.DONE: "reading-done",
}


class StepView(Protocol):
    def __call__(self, request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse: ...


def of_reader(view: StepView) -> Callable[..., HttpResponse]:
    """For whoever reads in the study. Who has left it meanwhile is shown so by the entry page."""

    @person_page("GET", "HEAD", "POST", fresh=True)
    @wraps(view)
    def reading_step(request: AuthenticatedRequest, slug: str) -> HttpResponse:
        try:
            return view(request, own_status(request.user, slug))
        except StudyRefused as refusal:
            if refusal.code != HAS_LEFT:
                raise
            return redirect("reading", slug)

    return reading_step


def own_status(person: User, slug: str) -> ReaderStatus:
    """Raises Http404 for whoever does not read in this study."""
    enrolment = own_enrolment(person, slug)
    if enrolment is None:
        raise Http404
    return status_of(enrolment, timezone.now())


def reader_page(
    request: HttpRequest, name: str, reader_status: ReaderStatus, here: Step | None = None, **more: Any
) -> HttpResponse:
    """A page of a reader, with what every one of them shows: its steps, the contact, the deadline, the protocol."""
    here = here or reader_status.step
    done = done_steps(reader_status.facts)
    context = {
        "reader_status": reader_status,
        "enrolment": reader_status.enrolment,
        "study": reader_status.enrolment.study,
        "least_window": rules_of(reader_status.enrolment.study).least_window,
        "path": [
            {"label": one.label, "is_done": one in done, "is_here": one is here}
            for one in asked_steps(reader_status.facts)
        ],
        **more,
    }
    is_refused = more.get("problem") or ("form" in more and more["form"].errors)
    return render(request, f"readerstudy/enrolment/{name}.html", context, status=422 if is_refused else 200)


def _to_entry(reader_status: ReaderStatus) -> HttpResponse:
    return redirect("reading", reader_status.enrolment.study.slug)


def _unless_left(refusal: StudyRefused) -> str:
    """What the page says of a refusal; the entry page speaks to who has left the study."""
    if refusal.code == HAS_LEFT:
        raise refusal
    return refusal.sentence


# --- the studies of a reader, consent, leaving ----------------------------------------------------
@person_page("GET", "HEAD")
def readings(request: AuthenticatedRequest) -> HttpResponse:
    """The studies of a reader."""
    found = studies_of(request.user, timezone.now())
    return render(request, "readerstudy/enrolment/readings.html", {"studies": found})


@person_page("GET", "HEAD", fresh=True)
def reading(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Where a reader comes in: a step with a page of its own is gone to, the others show here."""
    reader_status = own_status(request.user, slug)
    if reader_status.step in PAGES:
        return redirect(PAGES[reader_status.step], slug)
    is_before = reader_status.step in {Step.PRACTICE, Step.MAIN, Step.NOT_YET}
    told = _how_it_is_read(reader_status) if is_before and not reader_status.facts.asks_instructions else {}
    return reader_page(request, "entry", reader_status, **told)


@of_reader
def reading_consent(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """Read the text, where there is one, then agree or decline. What was agreed to can be read here again."""
    enrolment, problem = reader_status.enrolment, ""
    if reader_status.step is Step.LEFT or not reader_status.facts.asks_consent:
        return _to_entry(reader_status)
    if request.method == "POST":
        try:
            if request.POST.get("answer") == "decline":
                decline(enrolment, at=timezone.now())
                return _to_entry(reader_status)
            if request.POST.get("agreed") == "yes":
                agree(enrolment, request.POST.get("sha256", ""), at=timezone.now())
                send_consent_copy(enrolment)
                return _to_entry(reader_status)
            problem = _("Tick the box to agree, or decline.")
        except StudyRefused as refusal:
            problem = _unless_left(refusal)
    return reader_page(
        request,
        "consent",
        reader_status,
        Step.CONSENT,
        problem=problem,
        text=consent_text(enrolment.study),
        sha256=consent_sha256(enrolment.study),
        can_send=can_send(),
    )


@person_page("GET", "HEAD")
def reading_consent_copy(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The copy that a reader keeps."""
    enrolment = own_status(request.user, slug).enrolment
    if enrolment.consented_at is None and not asks_consent(enrolment.study):
        raise Http404
    copy = HttpResponse(consent_copy(enrolment), content_type="text/plain; charset=utf-8")
    return as_file(copy, f"{enrolment.study.slug}-consent.txt")


@of_reader
def reading_withdraw(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """Leave the study, after a page that says what that means."""
    if reader_status.step is Step.LEFT or reader_status.facts.finished:
        return _to_entry(reader_status)
    if request.method == "POST":
        withdraw(reader_status.enrolment, **by(request))
        return _to_entry(reader_status)
    return reader_page(request, "withdraw", reader_status)


# --- facts, instructions, display, declaration ----------------------------------------------------
def _is_before(reader_status: ReaderStatus, step: Step) -> bool:
    """Whether the reader has not come to a step yet, or is out: then the entry page says what to do."""
    if reader_status.step is Step.LEFT or not reader_status.facts.has_agreed:
        return True
    return step is Step.DISPLAY and not reader_status.facts.has_read


def _how_it_is_read(reader_status: ReaderStatus) -> dict[str, Any]:
    """The rules of the study in words, and the keys."""
    study = reader_status.enrolment.study
    rules, shown = participation.rules_of(study), study.arms.get(number=1).information
    words = rules_in_words(rules, n_practice=reader_status.n_practice, n=reader_status.n, information=shown)
    return {"rules": words, "key_parts": listed((Part.STUDY, Part.EVERYWHERE), rules)}


@of_reader
def reading_facts(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """What a paper must report of the reader; it can be corrected until the last case."""
    if _is_before(reader_status, Step.FACTS) or reader_status.facts.finished:
        return _to_entry(reader_status)
    form = FactsForm(request.POST) if request.method == "POST" else FactsForm.of(reader_status.enrolment.facts)
    if request.method == "POST" and form.is_valid():
        participation.store_facts(reader_status.enrolment, form.facts(), at=timezone.now())
        return _to_entry(reader_status)
    return reader_page(request, "facts", reader_status, Step.FACTS, form=form)


@of_reader
def reading_instructions(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """The instructions, the rules of this study in words, and the keys. They can be read again at any time."""
    if _is_before(reader_status, Step.INSTRUCTIONS):
        return _to_entry(reader_status)
    if request.method == "POST":
        participation.instruct(reader_status.enrolment, at=timezone.now())
        return _to_entry(reader_status)
    return reader_page(request, "instructions", reader_status, Step.INSTRUCTIONS, **_how_it_is_read(reader_status))


@of_reader
def reading_display(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """Letters of low contrast to be read, and the size of the window. It is done anew on another screen, over a case
    too, whose page sends it and gets 204.
    """
    enrolment = reader_status.enrolment
    if _is_before(reader_status, Step.DISPLAY) or reader_status.facts.finished:
        return _to_entry(reader_status)
    told = {} if enrolment.display else {"display": enrolment.facts.get("display")}
    form, problem = DisplayForm(request.POST if request.method == "POST" else None, initial=told), ""
    if request.method == "POST":
        problem = form.check(partial(participation.check_display, enrolment, at=timezone.now()))
        if not problem:
            return HttpResponse(status=204) if asks_for_part(request) else _to_entry(reader_status)
    check = shown_check(form, enrolment.display, participation.pattern_now(enrolment), problem)
    return reader_page(request, "display", reader_status, Step.DISPLAY, **check)


@of_reader
def reading_done(request: AuthenticatedRequest, reader_status: ReaderStatus) -> HttpResponse:
    """The declaration, then thanks, and own results where the study shows them."""
    if reader_status.step not in {Step.DECLARATION, Step.DONE}:
        return _to_entry(reader_status)
    problem, rules = "", participation.rules_of(reader_status.enrolment.study)
    form = ClosingForm(rules.questionnaire, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if request.POST.get("declared") == "yes":
            participation.declare(reader_status.enrolment, form.closing(), at=timezone.now())
            return redirect("reading-done", reader_status.enrolment.study.slug)
        problem = _("Tick the box to declare this. If you used another source, write to the contact below instead.")
    results, cases = None, []
    if reader_status.step is Step.DONE and may_see_results(reader_status.enrolment):
        results = see_own_results(reader_status.enrolment, at=timezone.now())
        cases = own_cases(reader_status.enrolment, at=timezone.now())
    return reader_page(
        request, "done", reader_status, problem=problem, results=results, cases=cases, form=form, rules=rules
    )


# --- who is in a study, which links are open; the page behind a link -------------------------------
