"""The page behind a one-time link, whatever it invites to; a new link, shown once; and asking before one is revoked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.forms.people import AcceptForm
from annotation.models import Invitation, User
from annotation.people.accounts import has_account
from annotation.people.confirmations import ask_for_confirmation
from annotation.people.invitations import (
    IssuedInvitation,
    accept_as,
    accept_as_new_person,
    find_invitation,
    kind_of,
)
from annotation.people.links import PeopleRefused, check_open
from annotation.people.mailing import send_invitation, try_to_send
from annotation.refusals import Refused
from annotation.views.people.signing_in import sign_in
from annotation.views.site.confirming import Confirmation, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest


@dataclass(frozen=True)
class LinkPage:
    """What the page behind a link says, and where somebody goes on who used it."""

    new_template: str  # for who is not logged in
    own_template: str
    next_page: str
    context: dict[str, Any]
    done: str = ""  # said to who used it with an account that was there


def page_behind_link(
    request: HttpRequest, token: str, kind: str, page_of: Callable[[Invitation], LinkPage]
) -> HttpResponse:
    """Make an account, or use the one that is logged in. ``page_of`` raises Refused where nobody can come in."""
    invited = find_invitation(token, kind)
    try:
        check_open(invited, timezone.now())
        assert invited is not None
        page = page_of(invited)
    except PeopleRefused as refusal:
        return _closed_page(request, refusal, refusal.status)
    except Refused as refusal:
        return _closed_page(request, refusal, 410)
    person = request.user
    if person.is_authenticated:
        return _own_account_page(request, person, invited, page)
    return _new_account_page(request, invited, page)


def _closed_page(request: HttpRequest, refusal: Refused, status: int) -> HttpResponse:
    """The link does not work, and why."""
    context = {"title": _("This invitation does not work"), "message": str(refusal)}
    return render(request, "annotation/error.html", context, status=status)


def _new_account_page(request: HttpRequest, invited: Invitation, page: LinkPage) -> HttpResponse:
    """Somebody who is not logged in makes an account, unless there is one with the address of the link."""
    form = AcceptForm(invited, request.POST or None)
    knows_account = has_account(invited.email)
    if request.method == "POST" and not knows_account and form.is_valid():
        now = timezone.now()
        person = run_on_form(form, lambda: accept_as_new_person(invited, **form.account(), at=now))
        if person is not None:
            messages.success(request, _("Welcome. Your account is ready."))
            source = request.META.get("REMOTE_ADDR", "")
            try_to_send(lambda: ask_for_confirmation(person, source=source, at=now))
            return sign_in(request, person, "password", page.next_page)
    context = {**page.context, "form": form, "invitation": invited, "here": request.path}
    context["knows_account"] = knows_account
    return render(request, page.new_template, context, status=422 if form.errors else 200)


def _own_account_page(request: HttpRequest, person: User, invited: Invitation, page: LinkPage) -> HttpResponse:
    """Somebody who is logged in uses the link with their account, or reads why they cannot."""
    refusal = None
    try:
        kind_of(invited).check_may_accept(person, invited)
        if request.method == "POST":
            accept_as(person, invited, at=timezone.now())
            if page.done:
                messages.success(request, page.done)
            return redirect(page.next_page)
    except Refused as refused:
        if refused.code == "link_closed":
            return _closed_page(request, refused, refused.status)
        refusal = refused
    context = {**page.context, "invitation": invited, "refusal": refusal}
    return render(request, page.own_template, context, status=409 if refusal else 200)


def show_once(
    request: HttpRequest, issued: IssuedInvitation, template: str = "annotation/people/invited.html", **context: Any
) -> HttpResponse:
    """The page with a new link, which is nowhere else, and whether it was mailed."""
    context |= {
        "invitation": issued.invitation,
        "roles": issued.invitations,
        "link": issued.link,
        "was_sent": try_to_send(lambda: send_invitation(issued)),
        "knows_account": has_account(issued.invitation.email),
    }
    return render(request, template, context)


def revoking(sentence: str, back: str) -> Confirmation:
    """What is asked before a link is revoked."""
    label = _("Revoke the link")
    until = _("Until the day on which it ends it can be restored from the list of revoked links.")
    return Confirmation(title=label, sentences=[sentence, until], label=label, back=back)


def stops_at_once(link: Invitation) -> str:
    return _("The link for %(whom)s stops working at once.") % {"whom": whom(link)}


def whom(link: Invitation) -> str:
    return link.name or link.email or _("whoever has it")


def flash_restored(request: AuthenticatedRequest, is_restored: bool) -> None:
    if is_restored:
        messages.success(request, _("The link works again."))
    else:
        messages.warning(request, _("This link is used or has ended: it cannot be restored."))
