"""A reader's studies, and the entry of one: it shows or goes to the next step."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.people.mailing import can_send
from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.enrolment.consenting import agree, consent_copy, consent_sha256, consent_text, decline
from readerstudy.enrolment.kernels.steps import Step
from readerstudy.enrolment.leaving import withdraw
from readerstudy.enrolment.mailing import send_consent_copy
from readerstudy.enrolment.reader_status import studies_of
from readerstudy.study.locking import HAS_LEFT, StudyRefused
from readerstudy.views.reading.access import PAGES, own_standing, reader_page


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
    standing = own_standing(request.user, slug)
    if standing.step in PAGES:
        return redirect(PAGES[standing.step], slug)
    return reader_page(request, "readerstudy/enrolment/entry.html", standing, here=standing.step)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_consent(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Read the text, then agree or decline. What was agreed to can be read here again."""
    standing = own_standing(request.user, slug)
    enrolment, problem = standing.enrolment, ""
    if standing.step is Step.LEFT:
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
        standing,
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
    enrolment = own_standing(request.user, slug).enrolment
    response = HttpResponse(consent_copy(enrolment), content_type="text/plain; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{enrolment.study.slug}-consent.txt"'
    return response


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def reading_withdraw(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Leave the study, after a page that says what that means."""
    standing = own_standing(request.user, slug)
    if standing.step is Step.LEFT or standing.facts.finished:
        return redirect("reading", slug)
    if request.method == "POST":
        withdraw(standing.enrolment, actor=request.user, at=timezone.now())
        return redirect("reading", slug)
    return reader_page(request, "readerstudy/enrolment/withdraw.html", standing, here=standing.step)
