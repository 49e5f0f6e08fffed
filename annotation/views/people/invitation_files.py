"""Many invitations from one file: send it, look at what each row will do, confirm; the links are shown once."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.template.defaultfilters import date
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.enums import Role
from annotation.exports.tables import neutralised
from annotation.forms.people import InvitationFileForm
from annotation.people.invitation_file import COLUMNS, Check, InvitedLink, check_all, issue_all, read_invited
from annotation.people.invited_roles import check_for, offered_in_round, offered_on_site
from annotation.people.mailing import try_to_send
from annotation.views.people.invitations import round_to_invite_to
from annotation.views.site.confirming import is_confirmed, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, person_required, role_required


@dataclass(frozen=True, kw_only=True)
class FilePage:
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
        check=check_for(offered, actor=request.user, at=timezone.now()),
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
        check=check_for(offered, actor=request.user, at=timezone.now()),
    )
    return file_page(request, page)


def file_page(request: AuthenticatedRequest, page: FilePage) -> HttpResponse:
    """The form; with a file what each row will do; with the confirmation the links, which nothing shows again."""
    sent = request.method == "POST"
    form = InvitationFileForm(request.POST if sent else None, request.FILES if sent else None)
    context: dict[str, Any] = {"page": page, "form": form, "n_days": settings.INVITATION_DAYS}
    if sent and form.is_valid():
        data = form.data_of_file()
        found = run_on_form(form, lambda: read_invited(data))
        if found is not None:
            rows, faults = found
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
