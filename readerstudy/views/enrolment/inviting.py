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
from django.views.decorators.http import require_http_methods, require_POST

from annotation.people.accounts import has_account
from annotation.people.links import check_open
from annotation.people.mailing import try_to_send
from annotation.refusals import Refused
from annotation.views.people.invitation_files import FilePage, file_page
from annotation.views.people.links import (
    closed_page,
    flash_restored,
    new_account_page,
    own_account_page,
    revoking,
    stops_at_once,
)
from annotation.views.site.confirming import is_confirmed, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required
from readerstudy.enrolment import inviting, joining
from readerstudy.enrolment.inviting import check_takes_readers, find_invitation
from readerstudy.enrolment.inviting_many import check_for_readers, roles_meaning
from readerstudy.enrolment.mailing import send_study_invitation, study_link
from readerstudy.enrolment.participation import asks_consent
from readerstudy.forms.enrolment import ReaderInvitationForm
from readerstudy.models import ReaderStudy
from readerstudy.study.deadlines import study_deadline_text
from readerstudy.study.locking import StudyRefused
from readerstudy.views.study.access import confirm_in_study, coordinated_study


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask somebody to read."""
    study = coordinated_study(request.user, slug)
    form = ReaderInvitationForm(study, request.POST or None)
    if request.method == "POST" and form.is_valid():
        data, now = form.cleaned_data, timezone.now()
        issued = run_on_form(form, lambda: inviting.invite_reader(study, **data, actor=request.user, at=now))
        if issued is not None:
            return show_once(request, issued)
    return _page(request, study, form)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
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


@person_required
@require_POST
def study_invitation_revoke(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    study = coordinated_study(request.user, slug)
    invitation = get_object_or_404(study.invitations, pk=pk)
    if not is_confirmed(request):
        asked = revoking(stops_at_once(invitation), back=reverse("study-invite", args=[slug]))
        return confirm_in_study(request, study, asked)
    inviting.revoke_invitation(invitation, actor=request.user, at=timezone.now())
    messages.success(request, _("The link does not work any more. It can be restored below."))
    return redirect("study-invite", slug)


@person_required
@require_POST
def study_invitation_restore(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """Let a link that was revoked work again."""
    study = coordinated_study(request.user, slug)
    invitation = get_object_or_404(study.invitations, pk=pk)
    flash_restored(request, inviting.restore_invitation(invitation, actor=request.user, at=timezone.now()))
    return redirect("study-invite", slug)


@person_required
@never_cache
@require_POST
def study_invitation_remind(request: AuthenticatedRequest, slug: str, pk: int) -> HttpResponse:
    """A new link for somebody who has not come yet."""
    study = coordinated_study(request.user, slug)
    invitation = get_object_or_404(study.invitations.select_related("study", "case_set"), pk=pk)
    try:
        issued = inviting.remind_invited(invitation, actor=request.user, at=timezone.now())
    except StudyRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("study-invite", slug)
    return show_once(request, issued)


def show_once(request: AuthenticatedRequest, issued: inviting.IssuedInvitation) -> HttpResponse:
    """The page with the link, which is nowhere else, and whether it was mailed."""
    invitation = issued.invitation
    context = {
        "invitation": invitation,
        "study": invitation.study,
        "link": study_link(issued.token),
        "was_sent": try_to_send(lambda: send_study_invitation(issued)),
        "knows_account": has_account(invitation.email),
        "several_sets": invitation.study.sets.count() > 1,
    }
    return render(request, "readerstudy/enrolment/invited.html", context)


def _page(request: AuthenticatedRequest, study: ReaderStudy, form: ReaderInvitationForm) -> HttpResponse:
    context = {
        "study": study,
        "form": form,
        "n_days": settings.INVITATION_DAYS,
        "takes_readers": inviting.takes_readers(study),
        "sets": inviting.orders_of(study),
        "invitations": list(inviting.open_invitations(study, timezone.now())),
        "revoked": list(inviting.revoked_invitations(study, timezone.now())),
        "enrolments": list(study.enrolments.select_related("reader", "case_set")),
    }
    return render(request, "readerstudy/enrolment/invite.html", context, status=422 if form.errors else 200)


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def study_invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Become a reader: with a new account, or with the one that is logged in."""
    invited = find_invitation(token)
    try:
        check_open(invited, timezone.now())
        assert invited is not None
        check_takes_readers(invited.study)
    except Refused as refusal:
        return closed_page(request, refusal, 410 if isinstance(refusal, StudyRefused) else 0)
    study, person = invited.study, request.user
    context = {"study": study, "deadline": study_deadline_text(study), "asks_consent": asks_consent(study)}
    if not person.is_authenticated:
        return new_account_page(
            request,
            invited,
            "readerstudy/enrolment/join_new.html",
            lambda *args, **kwargs: joining.join_as_new_person(*args, **kwargs).reader,
            next_page=lambda _person: reverse("reading", args=[study.slug]),
            context=context,
        )

    def join() -> HttpResponse:
        joining.join_as(person, invited, at=timezone.now())
        return redirect("reading", study.slug)

    return own_account_page(
        request,
        invited,
        "readerstudy/enrolment/join.html",
        lambda: joining.check_may_use(person, invited),
        join,
        context=context,
    )
