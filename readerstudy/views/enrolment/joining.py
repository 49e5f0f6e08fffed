"""The page behind a link into a study."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login as log_in
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import User
from annotation.people.accepting import InvitationClosed, OtherPersonInvited
from annotation.people.inviting import LinkState
from annotation.people.joining import AddressTaken
from annotation.people.rosters import has_account
from annotation.views.people.invitations import BACKEND, why_closed
from annotation.views.site.decorators import anyone
from readerstudy.enrolment import joining
from readerstudy.enrolment.inviting import check_takes_readers, find_invitation, standing
from readerstudy.forms.enrolment import NewReaderForm
from readerstudy.models import Enrolment, StudyInvitation
from readerstudy.study.deadlines import study_deadline_text
from readerstudy.study.locking import StudyRefused


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Become a reader: with a new account, or with the one that is logged in."""
    invited = find_invitation(token)
    if invited is None:
        return _closed(request, _("This link was never given out. Check that it was copied as a whole."), 404)
    now = standing(invited, timezone.now())
    if now is not LinkState.OPEN:
        return _closed(request, why_closed(now), 410)
    try:
        check_takes_readers(invited.study)
    except StudyRefused as refusal:
        return _closed(request, str(refusal), 410)
    if request.user.is_authenticated:
        return _join_logged_in(request, invited, request.user)
    return _join_new(request, invited)


def _join_logged_in(request: HttpRequest, invited: StudyInvitation, person: User) -> HttpResponse:
    refusal = joining.refusal_for(person, invited)
    if request.method == "POST" and not refusal:
        try:
            enrolment = joining.join_as(person, invited, at=timezone.now())
        except InvitationClosed as closed:
            return _closed(request, why_closed(closed.why), 410)
        except StudyRefused as late:
            refusal = str(late)
        else:
            return redirect("reading", enrolment.study.slug)
    context = {"invitation": invited, "study": invited.study, "refusal": refusal, **_deadline(invited)}
    return render(request, "readerstudy/enrolment/join.html", context, status=409 if refusal else 200)


def _join_new(request: HttpRequest, invited: StudyInvitation) -> HttpResponse:
    form = NewReaderForm(invited, request.POST or None)
    knows_account = bool(invited.email) and has_account(invited.email)
    if request.method == "POST" and not knows_account and form.is_valid():
        enrolment = _enrol_new(invited, form)
        if enrolment is not None and enrolment.reader is not None:
            log_in(request, enrolment.reader, backend=BACKEND)
            messages.success(request, _("Welcome. Your account is ready."))
            return redirect("reading", enrolment.study.slug)
    context = {
        "form": form,
        "invitation": invited,
        "study": invited.study,
        "knows_account": knows_account,
        "here": request.path,
        **_deadline(invited),
    }
    return render(request, "readerstudy/enrolment/join_new.html", context, status=422 if form.errors else 200)


def _enrol_new(invited: StudyInvitation, form: NewReaderForm) -> Enrolment | None:
    """The enrolment of somebody new; None with the reason at the field that it is about."""
    said = form.cleaned_data
    try:
        return joining.join_as_new_person(
            invited,
            email=said["email"],
            name=said["name"],
            password=said["password"],
            time_zone=said["time_zone"],
            at=timezone.now(),
        )
    except AddressTaken:
        form.add_error("email", _("There is an account with this address. Log in with it, then open the link again."))
    except OtherPersonInvited:
        form.add_error("email", _("The invitation is for another address."))
    except InvitationClosed as closed:
        form.add_error(None, why_closed(closed.why))
    except StudyRefused as refusal:
        form.add_error(None, str(refusal))
    return None


def _deadline(invited: StudyInvitation) -> dict[str, str]:
    return {"deadline": study_deadline_text(invited.study)}


def _closed(request: HttpRequest, message: str, status: int) -> HttpResponse:
    context = {"title": _("This invitation does not work"), "message": message}
    return render(request, "annotation/error.html", context, status=status)
