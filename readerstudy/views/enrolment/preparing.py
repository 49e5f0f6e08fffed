"""What a reader does before the first case and after the last: facts, instructions, display, declaration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.enrolment import preparing
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.preparing import may_see_results, see_own_results
from readerstudy.enrolment.reader_status import ReaderStatus
from readerstudy.enrolment.rules_in_words import keys_of, rules_in_words
from readerstudy.forms.enrolment import DisplayForm, FactsForm
from readerstudy.study.locking import HAS_LEFT, StudyRefused
from readerstudy.views.reading.access import own_standing, reader_page


@contextmanager
def unless_left() -> Iterator[None]:
    """Who has left the study meanwhile is shown so by the page that comes next."""
    try:
        yield
    except StudyRefused as refusal:
        if refusal.code != HAS_LEFT:
            raise


def _is_before(standing: ReaderStatus, step: Step) -> bool:
    """Whether the reader has not come to a step yet, or is out: then the entry page says what to do."""
    if standing.step is Step.LEFT or not standing.facts.consented:
        return True
    return step is Step.DISPLAY and not standing.facts.instructed


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_facts(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """What a paper must report of the reader; it can be corrected until the last case."""
    standing = own_standing(request.user, slug)
    if _is_before(standing, Step.FACTS) or standing.facts.finished:
        return redirect("reading", slug)
    form = FactsForm(request.POST) if request.method == "POST" else FactsForm.of(standing.enrolment.facts)
    if request.method == "POST" and form.is_valid():
        with unless_left():
            preparing.store_facts(standing.enrolment, form.facts(), at=timezone.now())
        return redirect("reading", slug)
    status = 422 if form.errors else 200
    return reader_page(request, "readerstudy/enrolment/facts.html", standing, here=Step.FACTS, status=status, form=form)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_instructions(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The instructions, the rules of this study in words, and the keys. They can be read again at any time."""
    standing = own_standing(request.user, slug)
    if _is_before(standing, Step.INSTRUCTIONS):
        return redirect("reading", slug)
    if request.method == "POST":
        with unless_left():
            preparing.instruct(standing.enrolment, at=timezone.now())
        return redirect("reading", slug)
    study = standing.enrolment.study
    rules, shown = preparing.rules_of(study), study.arms.get(number=1).information
    return reader_page(
        request,
        "readerstudy/enrolment/instructions.html",
        standing,
        here=Step.INSTRUCTIONS,
        rules=rules_in_words(rules, n_practice=standing.n_practice, n=standing.n, information=shown),
        keys=keys_of(rules),
    )


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_display(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Two grey steps to be found, and the size of the window. It may be done anew on another screen."""
    standing = own_standing(request.user, slug)
    if _is_before(standing, Step.DISPLAY) or standing.facts.finished:
        return redirect("reading", slug)
    form, problem = DisplayForm(request.POST if request.method == "POST" else None), ""
    if request.method == "POST":
        problem = _checked(standing, form, goes_on=request.POST.get("goes_on") == "yes")
        if not problem:
            return redirect("reading", slug)
    dark, light = preparing.corners_now(standing.enrolment)
    return reader_page(
        request,
        "readerstudy/enrolment/display.html",
        standing,
        here=Step.DISPLAY,
        status=422 if problem else 200,
        form=DisplayForm(),
        problem=problem,
        may_go_on=preparing.may_go_on_unseen(standing.enrolment),
        dark=dark.value,
        light=light.value,
    )


def _checked(standing: ReaderStatus, form: DisplayForm, *, goes_on: bool) -> str:
    """Store the check; what is wrong with it as a sentence, empty when it is passed."""
    if not form.is_valid():
        if form.is_measured():
            return _("Choose the position of both patches.")
        return _("The size of the window could not be measured. Allow JavaScript on this page and reload it.")
    try:
        with unless_left():
            preparing.check_display(standing.enrolment, form.screen(), form.said(), at=timezone.now(), goes_on=goes_on)
    except StudyRefused as refusal:
        return refusal.sentence
    return ""


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_done(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The declaration, then thanks, and own results where the study shows them."""
    standing = own_standing(request.user, slug)
    if standing.step not in {Step.DECLARATION, Step.DONE}:
        return redirect("reading", slug)
    problem = ""
    if request.method == "POST":
        if request.POST.get("declared") == "yes":
            with unless_left():
                preparing.declare(standing.enrolment, at=timezone.now())
            return redirect("reading-done", slug)
        problem = _("Tick the box to declare this. If you used another source, write to the contact below instead.")
    results = None
    if standing.step is Step.DONE and may_see_results(standing.enrolment):
        results = see_own_results(standing.enrolment, at=timezone.now())
    return reader_page(
        request,
        "readerstudy/enrolment/done.html",
        standing,
        here=standing.step,
        status=422 if problem else 200,
        problem=problem,
        results=results,
        rules=preparing.rules_of(standing.enrolment.study),
    )
