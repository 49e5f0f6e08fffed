"""The audit log: a page to look things up in, checking it, and taking it."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotation.audit.verifying import AuditRefused
from annotation.enums import Role
from annotation.forms.people import AuditLogForm
from annotation.people import event_log
from annotation.people.event_things import address_of
from annotation.site.permissions import is_administrator
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required, role_required


@person_required
@never_cache
@require_safe
def audit_log(request: AuthenticatedRequest) -> HttpResponse:
    """The newest events first. Administrators see all, others their own and those of what they coordinate."""
    sees_all = event_log.sees_all(request.user)
    form = AuditLogForm(request.GET or None, with_people=sees_all)
    wanted = form.wanted() if form.is_valid() else event_log.Wanted()
    rows = event_log.visible_events(request.user, all_of_them=sees_all)
    oldest_first = request.GET.get("sort") == "when"
    found = event_log.lines(
        event_log.matching(rows, wanted) if not form.errors else rows.none(),
        after=_number(request.GET.get("after", "")),
        oldest_first=oldest_first,
        with_facts=sees_all,
    )
    context = {
        "form": form,
        "found": found,
        "oldest_first": oldest_first,
        "is_later_page": "after" in request.GET,
        "is_narrowed": wanted != event_log.Wanted(),
        "sees_all": sees_all,
        "is_blinded_administrator": is_administrator(request.user) and not sees_all,
    }
    if sees_all:
        context |= {"head": event_log.head(), "checked": event_log.last_check()}
    return render(request, "annotation/people/audit_log.html", context, status=422 if form.errors else 200)


@role_required(Role.ADMINISTRATOR)
@require_POST
def audit_check(request: AuthenticatedRequest) -> HttpResponse:
    """Check the whole log in the background; the page of the job shows how far it is."""
    return redirect("job", event_log.begin_check(**by(request)).public_id)


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_POST
def audit_export(request: AuthenticatedRequest) -> HttpResponseBase:
    """The whole log as JSON Lines, sent while it is read. A POST, since taking it is noted."""
    try:
        rows = event_log.export_log(after=0, **by(request))
    except AuditRefused as refusal:
        messages.error(request, str(refusal))
        return redirect("audit-log")
    response = StreamingHttpResponse(rows, content_type="application/jsonl; charset=utf-8")
    name = f"audit-log-{timezone.now():%Y%m%d-%H%M%S}.jsonl"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@role_required(Role.ADMINISTRATOR)
@require_safe
def audit_thing(request: AuthenticatedRequest, kind: str, name: str) -> HttpResponse:
    """Leads to the page of what an event is about."""
    address = address_of(kind, name)
    if address is None:
        raise Http404(_("This is not there any more, or has no page."))
    return redirect(address)


def _number(written: str) -> int:
    return int(written) if written.isascii() and written.isdigit() and len(written) < 19 else 0
