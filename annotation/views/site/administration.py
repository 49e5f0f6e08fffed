"""The pages of whoever keeps the site running: health, backups, settings, and who may open what."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.backup.kept import JOB_KIND, ask_for_backup, is_backup_due, kept_backups
from annotation.enums import Role
from annotation.jobs.queueing import job_under_way
from annotation.models import User
from annotation.people.revived import end_revived, revived
from annotation.people.roles import held_roles
from annotation.site.permissions import site_roles
from annotation.site.site_overview import parts_of_site, versions
from annotation.views.site.confirming import run_and_flash
from annotation.views.site.decorators import (
    ROLES,
    AuthenticatedRequest,
    asks_for_part,
    by,
    policies_by_room,
    role_required,
)

SHOWN_BACKUPS = 10


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_safe
@vary_on_headers("HX-Request")
def site(request: AuthenticatedRequest) -> HttpResponse:
    at, backups = timezone.now(), kept_backups()
    context = {
        "backups": backups[:SHOWN_BACKUPS],
        "n_backups": len(backups),
        "is_due": is_backup_due(backups, at=at),
        "days": settings.BACKUP_DAYS,
        "folder": settings.BACKUP_ROOT,
        "under_way": job_under_way(JOB_KIND),
        "revived": revived(at),
    }
    if asks_for_part(request):
        return render(request, "annotation/site/_backups.html", context)
    context |= {"parts": parts_of_site(at=at), "versions": versions()}
    return render(request, "annotation/site/site.html", context)


@role_required(Role.ADMINISTRATOR)
@require_POST
def site_backup(request: AuthenticatedRequest) -> HttpResponse:
    """Begin a backup, unless one is being taken."""
    ask_for_backup(**by(request))
    messages.info(request, _("The backup is being taken. People can go on working meanwhile."))
    return redirect("site")


@role_required(Role.ADMINISTRATOR)
@require_POST
def site_restored(request: AuthenticatedRequest) -> HttpResponse:
    """End what the last restore brought back, or keep it."""
    keeps = request.POST.get("act") == "keep"
    run_and_flash(request, lambda: end_revived(keeps=keeps, **by(request)))
    return redirect("site")


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_safe
def site_settings(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "annotation/site/settings.html", {"settings_read": settings.SETTINGS_READ})


@role_required(Role.ADMINISTRATOR)
@require_safe
def site_policies(request: AuthenticatedRequest) -> HttpResponse:
    return render(request, "annotation/site/policies.html", {"rooms": policies_by_room(), "roles": ROLES})


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_safe
def person_policies(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """What one person is, where, and which addresses that opens."""
    person = get_object_or_404(User, pk=pk)
    roles = site_roles(person)
    rooms = {
        room: [(policy, policy.opens_to(roles)) for policy in policies] for room, policies in policies_by_room().items()
    }
    context = {"person": person, "places": held_roles(person), "rooms": rooms}
    return render(request, "annotation/site/person_policies.html", context)
