"""One-time links: giving them out, opening them, taking them back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login as log_in
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotation.enums import Role
from annotation.forms.people import AcceptForm, InvitationForm, round_invitation_form
from annotation.models import Invitation, ReviewRound, User
from annotation.people import accepting, inviting, mailing
from annotation.people.inviting import Grant
from annotation.people.joining import AddressTaken
from annotation.people.links import invitation_link
from annotation.people.role_conflicts import RoleConflict
from annotation.people.rosters import has_account, people_of
from annotation.site.permissions import knows_round, may_invite_to_round, may_manage_people, roles_given_in
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed
from annotation.views.site.decorators import AuthenticatedRequest, anyone, person_required, role_required

BACKEND = "annotation.people.backend.PersonBackend"


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def person_invite(request: AuthenticatedRequest) -> HttpResponse:
    """Ask somebody to the site."""
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        issued = _issue(form, None, request.user, timezone.now())
        if issued is not None:
            return _show_once(request, issued)
    return _invitation_page(request, form, None)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask somebody into one round."""
    review_round = round_to_invite_to(request.user, slug)
    form = round_invitation_form(request.user, review_round, request.POST or None)
    if request.method == "POST" and form.is_valid():
        issued = _issue(form, review_round, request.user, timezone.now())
        if issued is not None:
            return _show_once(request, issued)
    return _invitation_page(request, form, review_round)


@person_required
@require_POST
def invitation_revoke(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Make a link useless: administrators any, coordinators those of their round."""
    invitation = _steered(request.user, pk)
    back = _list_of(invitation)
    if not is_confirmed(request):
        label = _("Revoke the link")
        sentences = [
            _what_revoking_does(request.user, invitation),
            _("Until the day on which it ends it can be restored from the list of revoked links."),
        ]
        return confirm(request, Confirmation(title=label, sentences=sentences, label=label, back=back))
    inviting.revoke(invitation, actor=request.user, at=timezone.now())
    messages.success(request, _("Revoked. It can be restored below."))
    return redirect(back)


@person_required
@require_POST
def invitation_restore(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Let a link that was revoked work again."""
    invitation = _steered(request.user, pk)
    if inviting.restore(invitation, actor=request.user, at=timezone.now()):
        messages.success(request, _("The link works again."))
    else:
        messages.warning(request, _("This link is used or has ended: it cannot be restored."))
    return redirect(_list_of(invitation))


def _steered(person: User, pk: int) -> Invitation:
    invitation = get_object_or_404(Invitation.objects.select_related("round"), pk=pk)
    if not may_manage_people(person):
        if invitation.round is None:
            raise Http404
        round_to_invite_to(person, invitation.round.slug)
        if not _may_steer(person, invitation):
            raise Http404
    return invitation


def _may_steer(person: User, invitation: Invitation) -> bool:
    if invitation.round is None:
        return may_manage_people(person)
    return may_invite_to_round(person, invitation.round, Role(invitation.role))


def _list_of(invitation: Invitation) -> str:
    return reverse("round-invite", args=[invitation.round.slug]) if invitation.round else reverse("people")


def _what_revoking_does(person: User, invitation: Invitation) -> str:
    """Roles that the person does not give are not told, nor the rounds of them, which they may not know."""
    others = [one for one in inviting.roles_of_link(invitation) if one.pk != invitation.pk]
    if not others:
        return _("The link for %(whom)s stops working at once.") % {"whom": _whom(invitation)}
    steered = [one for one in others if _may_steer(person, one)]
    told = [Grant(Role(one.role), one.round).label for one in steered]
    if len(steered) < len(others):
        told.append(_("and other roles") if told else _("other roles"))
    facts = {
        "whom": _whom(invitation),
        "role": Grant(Role(invitation.role), invitation.round).label,
        "others": ", ".join(told),
    }
    return _("The link for %(whom)s no longer gives the role %(role)s; it still gives: %(others)s.") % facts


def _whom(invitation: Invitation) -> str:
    return invitation.name or invitation.email or _("whoever has it")


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """The page behind a one-time link: make an account, or add the role to the one that is logged in."""
    invited = inviting.find_invitation(token)
    if invited is None:
        return _closed_page(request, _("This link was never given out. Check that it was copied as a whole."), 404)
    standing = inviting.standing(invited, timezone.now())
    if standing is not inviting.LinkState.OPEN:
        return _closed_page(request, why_closed(standing), 410)
    if request.user.is_authenticated:
        return _accept_as_logged_in(request, invited, request.user)
    return _accept_as_new(request, invited, token)


def why_closed(standing: inviting.LinkState) -> str:
    """What happened to a link, and what to do."""
    again = _("Ask the person who sent it for a new one.")
    return {
        inviting.LinkState.USED: _(
            "This link was used already: it works once. If it was you, log in; if not, tell the person who sent it."
        ),
        inviting.LinkState.REVOKED: _("This link was taken back, or a newer one took its place.") + " " + again,
        inviting.LinkState.EXPIRED: _("This link is too old.") + " " + again,
    }[standing]


def _accept_as_new(request: HttpRequest, invited: Invitation, token: str) -> HttpResponse:
    roles = inviting.roles_of_link(invited)
    form = AcceptForm(invited, request.POST or None)
    knows_account = bool(invited.email) and has_account(invited.email)
    if request.method == "POST" and not knows_account and form.is_valid():
        person = _new_person(invited, form)
        if person is not None:
            log_in(request, person, backend=BACKEND)
            messages.success(request, _("Welcome. Your account is ready."))
            return redirect("home")
    context: dict[str, Any] = {"form": form, "invitation": invited, "roles": roles, "here": request.path}
    context["knows_account"] = knows_account
    return render(request, "annotation/people/invitation.html", context, status=422 if form.errors else 200)


def _new_person(invited: Invitation, form: AcceptForm) -> User | None:
    data = form.cleaned_data
    try:
        return accepting.accept_as_new_person(
            invited,
            email=data["email"],
            name=data["name"],
            password=data["password"],
            time_zone=data["time_zone"],
            at=timezone.now(),
        )
    except AddressTaken:
        form.add_error("email", _("There is an account with this address. Log in with it, then open the link again."))
    except accepting.InvitationClosed as closed:
        form.add_error(None, why_closed(closed.why))
    except RoleConflict as barred:
        form.add_error(None, str(barred))
    return None


def _accept_as_logged_in(request: HttpRequest, invited: Invitation, person: User) -> HttpResponse:
    refusal = accepting.refusal_for(person, invited)
    roles = inviting.roles_of_link(invited)
    if request.method == "POST" and refusal is None:
        try:
            accepting.accept_as(person, invited, at=timezone.now())
        except accepting.InvitationClosed as closed:
            return _closed_page(request, why_closed(closed.why), 410)
        except RoleConflict as barred:
            return _closed_page(request, str(barred), 409)
        given = ", ".join(Grant(Role(one.role), one.round).label for one in roles)
        sentence = ngettext(
            "Your account has the role now: %(roles)s.", "Your account has these roles now: %(roles)s.", len(roles)
        )
        messages.success(request, sentence % {"roles": given})
        return redirect("home")
    context = {"invitation": invited, "roles": roles, "refusal": refusal.__name__ if refusal else ""}
    return render(request, "annotation/people/invitation_join.html", context, status=409 if refusal else 200)


def _closed_page(request: HttpRequest, message: str, status: int) -> HttpResponse:
    context = {"title": _("This invitation does not work"), "message": message}
    return render(request, "annotation/error.html", context, status=status)


def _issue(
    form: InvitationForm, review_round: ReviewRound | None, actor: User, at: datetime
) -> inviting.IssuedInvitation | None:
    """The invitation that the form asks for; None with the reason at the field that it is about."""
    data = form.cleaned_data
    try:
        grants = [Grant(role, review_round) for role in data["roles"]]
        return inviting.invite(*grants, email=data["email"], name=data["name"], actor=actor, at=at)
    except inviting.HasRoleAlready as has:
        form.add_error("email", _("The person with this address has already: %(roles)s.") % {"roles": has})
    except inviting.PersonIsDeactivated:
        form.add_error("email", _("This address belongs to a deactivated account. An administrator can reactivate it."))
    except RoleConflict as barred:
        form.add_error("roles", str(barred))
    except inviting.RoundIsOver:
        form.add_error(None, _("This round is closed: nobody joins it any more. Open a new round for more reviews."))
    return None


def _show_once(request: AuthenticatedRequest, issued: inviting.IssuedInvitation) -> HttpResponse:
    context = {
        "invitation": issued.invitation,
        "roles": issued.invitations,
        "link": invitation_link(issued.token),
        "was_sent": mailing.try_to_send(lambda: mailing.send_invitation(issued)),
        "knows_account": has_account(issued.invitation.email),
    }
    return render(request, "annotation/people/invited.html", context)


def _invitation_page(
    request: AuthenticatedRequest, form: InvitationForm, review_round: ReviewRound | None
) -> HttpResponse:
    context: dict[str, Any] = {"form": form, "round": review_round, "n_days": settings.INVITATION_DAYS}
    if review_round is not None:
        context["round_people"] = people_of(review_round, timezone.now())
        context["steered"] = steered = roles_given_in(request.user, review_round)
        revoked = inviting.revoked_invitations(timezone.now()).filter(round=review_round, role__in=steered)
        context["revoked"] = revoked
    return render(request, "annotation/people/invite.html", context, status=422 if form.errors else 200)


def round_to_invite_to(person: User, slug: str) -> ReviewRound:
    """The round, for people who may invite to it: 404 for strangers to it, 403 for those who only work in it."""
    review_round = get_object_or_404(ReviewRound, slug=slug)
    if may_invite_to_round(person, review_round):
        return review_round
    if knows_round(person, review_round):
        raise PermissionDenied(_("Only the coordinators of this round invite people to it."))
    raise Http404
