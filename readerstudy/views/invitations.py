"""The readers of a study, for its coordinators: who is in, which links are open; and the page behind a link."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import Invitation
from annotation.people.invitations import IssuedInvitation, restorable, restore, revoke
from annotation.views.people.invitations import (
    FilePage,
    LinkPage,
    file_page,
    flash_restored,
    page_behind_link,
    revoking,
    show_once,
    stops_at_once,
)
from annotation.views.site.confirming import is_confirmed
from annotation.views.site.decorators import AuthenticatedRequest, anyone, by
from readerstudy.acts.studies import coordinated_study
from readerstudy.enrolment import inviting
from readerstudy.enrolment.inviting import check_for_readers, check_takes_readers, roles_meaning
from readerstudy.enrolment.participation import (
    asks_consent,
)
from readerstudy.forms.studies import ReaderInvitationForm
from readerstudy.models import ReaderStudy
from readerstudy.study.overview import study_deadline_text
from readerstudy.study.permissions import StudyRefused
from readerstudy.views.access import confirm_in_study, person_page, stored


@person_page("GET", "HEAD", "POST", fresh=True)
def study_invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask somebody to read."""
    study = coordinated_study(request.user, slug)
    form = ReaderInvitationForm(study, request.POST or None)
    if issued := stored(form, lambda: inviting.invite_reader(study, **form.cleaned_data, **by(request))):
        return show_reader_link(request, issued)
    return _page(request, study, form)


@person_page("GET", "HEAD", "POST", fresh=True)
def study_invite_file(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask several people to read."""
    study = coordinated_study(request.user, slug)
    try:
        check = check_for_readers(study, actor=request.user, at=timezone.now())
    except StudyRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-invite", slug)
    sets = inviting.orders_of(study)
    role = "reader" if len(sets) == 1 else f"reader of {sets[0].case_set.name}"
    page = FilePage(
        title=_("Invite readers from a file"),
        back=reverse("study-invite", args=[slug]),
        back_label=_("Readers of “%(study)s”") % {"study": study.name},
        invitations=f"{reverse('study-invite', args=[slug])}#invitations",
        invitations_on=_("Readers"),
        meaning=roles_meaning(study),
        examples=[("Nina Weber", "nina@example.org", role), ("Remo Sand", "", role)],
        check=check,
        note=_("Protocol %(sha256)s") % {"sha256": study.protocol_sha256[:12]},
    )
    return file_page(request, page)


@person_page("POST")
def study_invitation_revoke(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    study = coordinated_study(request.user, slug)
    invitation = _invitation_of(study, pk)
    if not is_confirmed(request):
        asked = revoking(stops_at_once(invitation), back=reverse("study-invite", args=[slug]))
        return confirm_in_study(request, study, asked)
    revoke(invitation, actor=request.user, at=timezone.now())
    messages.success(request, _("The link does not work any more. It can be restored below."))
    return redirect("study-invite", slug)


@person_page("POST")
def study_invitation_restore(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """Let a link that was revoked work again."""
    invitation = _invitation_of(coordinated_study(request.user, slug), pk)
    flash_restored(request, restore(invitation, actor=request.user, at=timezone.now()))
    return redirect("study-invite", slug)


@person_page("POST", fresh=True)
def study_invitation_remind(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """A new link for somebody who has not come yet."""
    invitation = _invitation_of(coordinated_study(request.user, slug), pk)
    try:
        issued = inviting.remind_invited(invitation, actor=request.user, at=timezone.now())
    except StudyRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-invite", slug)
    return show_reader_link(request, issued)


def _invitation_of(study: ReaderStudy, pk: int) -> Invitation:
    return get_object_or_404(inviting.invitations_of(study), to_study__pk=pk)


def show_reader_link(request: AuthenticatedRequest, issued: IssuedInvitation) -> HttpResponse:
    study = issued.invitation.to_study.study
    several = study.sets.count() > 1
    return show_once(request, issued, "readerstudy/enrolment/invited.html", study=study, several_sets=several)


def _page(request: AuthenticatedRequest, study: ReaderStudy, form: ReaderInvitationForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "n_days": settings.INVITATION_DAYS,
        "takes_readers": inviting.takes_readers(study),
        "sets": inviting.orders_of(study),
        "invitations": list(inviting.open_invitations(study, timezone.now())),
        "revoked": list(restorable(inviting.invitations_of(study), timezone.now())),
        "enrolments": list(study.enrolments.select_related("reader", "case_set")),
    }
    return render(request, "readerstudy/enrolment/invite.html", context, status=422 if form.errors else 200)


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Become a reader: with a new account, or with the one that is logged in."""
    return page_behind_link(request, token, inviting.KIND, _page_of)


def _page_of(invited: Invitation) -> LinkPage:
    """Raises StudyRefused for a study that takes nobody any more."""
    study = invited.to_study.study
    check_takes_readers(study)
    return LinkPage(
        "readerstudy/enrolment/join_new.html",
        "readerstudy/enrolment/join.html",
        next_page=reverse("reading", args=[study.slug]),
        context={"study": study, "deadline": study_deadline_text(study), "asks_consent": asks_consent(study)},
    )
