"""One-time links: giving them out, the page behind one, taking them back.

Many invitations from one file: send it, look at what each row will do, confirm; the links are shown once.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import date
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from msgspec import Struct

from annotation.acts.rounds import round_to_invite_to
from annotation.enums import Role
from annotation.forms.people import AcceptForm, InvitationFileForm, InvitationForm, round_invitation_form
from annotation.models import Invitation, ReviewRound, User
from annotation.people import invitations
from annotation.people.accounts import has_account
from annotation.people.invitation_file import (
    COLUMNS,
    Check,
    InvitedLink,
    check_all,
    check_for,
    issue_all,
    offered_in_round,
    offered_on_site,
    read_invited,
)
from annotation.people.invitations import (
    Grant,
    IssuedInvitation,
    accept_as,
    accept_as_new_person,
    find_invitation,
    kind_of,
    people_of,
)
from annotation.people.mailing import ask_for_confirmation, send_invitation, try_to_send
from annotation.people.tokens import PeopleRefused, check_open
from annotation.refusals import Refused
from annotation.site.permissions import may_invite_to_round, may_manage_people, roles_given_in
from annotation.tables.writing import neutralised
from annotation.views.people.signing_in import sign_in
from annotation.views.site.confirming import (
    Confirmation,
    confirm,
    flashed,
    is_confirmed,
    refusals_on,
    said,
)
from annotation.views.site.decorators import AuthenticatedRequest, anyone, by, person_required, role_required


class LinkPage(Struct, frozen=True):
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
        with refusals_on(form):
            person = accept_as_new_person(invited, **form.account(), at=now)
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


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def person_invite(request: AuthenticatedRequest) -> HttpResponse:
    """Ask somebody to the site."""
    return _invitation_page(request, InvitationForm(request.POST or None), None)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_invite(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask somebody into one round."""
    review_round = round_to_invite_to(request.user, slug)
    form = round_invitation_form(request.user, review_round, request.POST or None)
    return _invitation_page(request, form, review_round)


@person_required
@require_POST
def invitation_revoke(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Make a link useless: administrators any, coordinators those of their round."""
    invitation = _managed_invitation(request.user, pk)
    back = _list_of(invitation)
    if not is_confirmed(request):
        return confirm(request, revoking(_what_revoking_does(request.user, invitation), back))
    invitations.revoke(invitation, **by(request))
    return said(request, _("Revoked. It can be restored below."), back)


@person_required
@never_cache
@require_POST
def invitation_resend(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """A new link in place of one that is open, with the roles of it that this person gives; shown once, and mailed."""
    invitation, who = _managed_invitation(request.user, pk), by(request)
    with flashed(request) as say:
        check_open(invitation, who["at"])
        grants = [Grant.of(one) for one in invitations.roles_of_link(invitation) if _may_manage(request.user, one)]
        if not invitation.email:  # which replaces no other link by itself
            invitations.revoke(invitation, **who)
        issued = invitations.invite(*grants, email=invitation.email, name=invitation.name, **who)
        say(_("This link takes the place of the one before, which works no longer."))
        return show_once(request, issued)
    return redirect(_list_of(invitation))


@person_required
@require_POST
def invitation_restore(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Let a link that was revoked work again."""
    invitation = _managed_invitation(request.user, pk)
    flash_restored(request, invitations.restore(invitation, **by(request)))
    return redirect(_list_of(invitation))


def _managed_invitation(person: User, pk: int) -> Invitation:
    invitation = get_object_or_404(invitations.role_invitations(), pk=pk)
    if not may_manage_people(person):
        if invitation.round is None:
            raise Http404
        round_to_invite_to(person, invitation.round.slug)
        if not _may_manage(person, invitation):
            raise Http404
    return invitation


def _may_manage(person: User, invitation: Invitation) -> bool:
    if invitation.round is None:
        return may_manage_people(person)
    return may_invite_to_round(person, invitation.round, Role(invitation.role))


def _list_of(invitation: Invitation) -> str:
    return reverse("round-invite", args=[invitation.round.slug]) if invitation.round else reverse("people")


def _what_revoking_does(person: User, invitation: Invitation) -> str:
    """Roles that the person does not give are not named, nor the rounds of them, which they may not know."""
    others = [one for one in invitations.roles_of_link(invitation) if one.pk != invitation.pk]
    if not others:
        return stops_at_once(invitation)
    manageable = [one for one in others if _may_manage(person, one)]
    labels = [Grant.of(one).label for one in manageable]
    if len(manageable) < len(others):
        labels.append(_("and other roles") if labels else _("other roles"))
    facts = {"whom": whom(invitation), "role": Grant.of(invitation).label, "others": ", ".join(labels)}
    return _("The link for %(whom)s no longer gives the role %(role)s; it still gives: %(others)s.") % facts


@anyone
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """The page behind a one-time link to roles."""
    return page_behind_link(request, token, Invitation.ROLE, lambda invited: _page_of(invited, token))


def _page_of(invited: Invitation, token: str) -> LinkPage:
    roles = invitations.roles_of_link(invited)
    sentence = ngettext(
        "Your account has the role now: %(roles)s.", "Your account has these roles now: %(roles)s.", len(roles)
    )
    return LinkPage(
        "annotation/people/invitation.html",
        "annotation/people/invitation_join.html",
        next_page=reverse("home"),
        context={"roles": roles, "provider": settings.OIDC_PROVIDER, "token": token},
        done=sentence % {"roles": ", ".join(Grant.of(one).label for one in roles)},
    )


def _invitation_page(
    request: AuthenticatedRequest, form: InvitationForm, review_round: ReviewRound | None
) -> HttpResponse:
    now = timezone.now()
    if request.method == "POST" and form.is_valid():
        data = form.cleaned_data
        grants = [Grant(role, review_round) for role in data["roles"]]
        with refusals_on(form):
            issued = invitations.invite(*grants, email=data["email"], name=data["name"], **by(request))
            return show_once(request, issued)
    context: dict[str, Any] = {"form": form, "round": review_round, "n_days": settings.INVITATION_DAYS}
    if review_round is not None:
        context["round_people"] = people_of(review_round, now)
        context["manageable"] = manageable = roles_given_in(request.user, review_round)
        context["revoked"] = invitations.revoked_invitations(now).filter(round=review_round, role__in=manageable)
    return render(request, "annotation/people/invite.html", context, status=422 if form.errors else 200)


class FilePage(Struct, frozen=True, kw_only=True):
    """Where a file invites to: words of the page, an example to fill in, and how a row becomes a link."""

    title: str
    back: str
    back_label: str
    invitations: str  # address of the open invitations, where the links can be revoked
    invitations_on: str  # what that page is called
    meaning: str  # of the column of roles
    examples: Sequence[Sequence[str]]
    check: Check
    note: str = ""  # beside the link back


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def person_invite_file(request: AuthenticatedRequest) -> HttpResponse:
    """Ask several people to the site and its rounds."""
    offered = offered_on_site()
    examples = [("Nina Weber", "nina@example.org", "coordinator; de-identification"), ("Remo Sand", "", "reviewer")]
    page = FilePage(
        title=_("Invite people from a file"),
        back=reverse("person-invite"),
        back_label=_("Invite somebody"),
        invitations=f"{reverse('people')}#invitations",
        invitations_on=_("People"),
        meaning=_("One or several, with semicolons between them: %(names)s.") % {"names": ", ".join(offered.names)},
        examples=examples,
        check=check_for(offered, **by(request)),
    )
    return file_page(request, page)


@person_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def round_invite_file(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask several people into one round."""
    review_round = round_to_invite_to(request.user, slug)
    offered = offered_in_round(request.user, review_round)
    page = FilePage(
        title=_("Invite people to this round from a file"),
        back=reverse("round-invite", args=[slug]),
        back_label=review_round.name,
        invitations=f"{reverse('round-invite', args=[slug])}#invitations",
        invitations_on=_("Invite to this round"),
        meaning=_("In this round: %(names)s. Empty: reviewer.") % {"names": ", ".join(offered.names)},
        examples=[("Nina Weber", "nina@example.org", "reviewer"), ("Remo Sand", "", "reviewer")],
        check=check_for(offered, **by(request)),
    )
    return file_page(request, page)


def file_page(request: AuthenticatedRequest, page: FilePage) -> HttpResponse:
    """The form; with a file what each row will do; with the confirmation the links, which nothing shows again."""
    sent = request.method == "POST"
    form = InvitationFileForm(request.POST if sent else None, request.FILES if sent else None)
    context: dict[str, Any] = {"page": page, "form": form, "n_days": settings.INVITATION_DAYS}
    if sent and form.is_valid():
        data = form.data_of_file()
        with refusals_on(form):
            rows, faults = read_invited(data)
            checked, refused = check_all(rows, page.check)
            faults = sorted([*faults, *refused])
            if is_confirmed(request) and not faults:
                links, faults = issue_all(checked)
                if not faults:
                    return _show_all_once(request, page, links)
            bad = {fault.number for fault in faults}
            good = [one for one in checked if one.row.number not in bad]
            context |= {"faults": faults, "links": good, "text": data.decode("utf-8-sig")}
    template = download_address(written([COLUMNS, *page.examples]))
    context |= {"template": template, "example": [COLUMNS, *page.examples]}
    status = 422 if sent and (form.errors or context.get("faults")) else 200
    return render(request, "annotation/people/invite_file.html", context, status=status)


def _show_all_once(request: AuthenticatedRequest, page: FilePage, links: Sequence[InvitedLink]) -> HttpResponse:
    shown = [{"link": one, "is_sent": try_to_send(one.send)} for one in links]
    head = [*COLUMNS, "link", "works_until"]
    rows = [
        [one.row.name, one.row.email, "; ".join(one.gives), one.link, date(timezone.localtime(one.until), "c")]
        for one in links
    ]
    context = {"page": page, "shown": shown, "file": download_address(written([head, *rows]))}
    return render(request, "annotation/people/invited_many.html", context)


def written(rows: Iterable[Sequence[str]]) -> str:
    """A table as CSV in which no cell is taken for a formula, with the byte order mark that spreadsheets look for.

    Every cell is in quotation marks: a spreadsheet that splits at semicolons splits none of them.
    """
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([neutralised(cell) for cell in row] for row in rows)
    return f"\ufeff{text.getvalue()}"


def download_address(text: str) -> str:
    """An address that holds the file itself: nothing is kept on the server for it."""
    return f"data:text/csv;charset=utf-8,{quote(text)}"
