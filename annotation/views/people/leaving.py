"""Somebody leaves: the ZIP of what is stored about a person, and removing an account."""

from __future__ import annotations

from django.http import FileResponse, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotation.enums import Role
from annotation.exports.tables import scratch_file
from annotation.models import User
from annotation.people.person_data import export_person
from annotation.people.removing import check_can_go, pseudonym_of, remove_person
from annotation.views.site.confirming import Confirmation, confirm, is_confirmed, is_possible_or_flash, run_and_flash
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required, role_required


@person_required
@never_cache
@require_POST
def own_data(request: AuthenticatedRequest) -> FileResponse:
    """What the site holds about whoever asks."""
    return _zip_of(request, request.user)


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_POST
def person_data(request: AuthenticatedRequest, pk: int) -> FileResponse:
    """The same of somebody else, to be handed over to them."""
    return _zip_of(request, get_object_or_404(User, pk=pk))


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_remove(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Remove an account, after saying what goes and what stays."""
    somebody = get_object_or_404(User, pk=pk, removed_at=None)
    if not is_possible_or_flash(request, lambda: check_can_go(somebody, actor=request.user)):
        return redirect("person", pk)
    if not is_confirmed(request):
        return confirm(request, _removal_of(somebody))

    def remove() -> str:
        remove_person(somebody, **by(request))
        return _("The account is removed. Its work is listed under “%(name)s”.") % {"name": pseudonym_of(somebody)}

    run_and_flash(request, remove)
    return redirect("person", pk)


def _removal_of(person: User) -> Confirmation:
    sentences = [
        _("Name, e-mail, password, roles, competences, log-ins and sessions go. This cannot be undone."),
        _("Reviews, readings, decisions and the audit log stay, under “%(name)s”.") % {"name": pseudonym_of(person)},
        _("What people wrote in comments and reasons stays as they wrote it; so do backups taken before."),
        _("Hand over what the site holds about the person first, if they ask for it."),
    ]
    title, back = _("Remove the account"), reverse("person", args=[person.pk])
    return Confirmation(title=title, sentences=sentences, label=title, back=back, about=str(person))


def _zip_of(request: AuthenticatedRequest, person: User) -> FileResponse:
    file = scratch_file()
    export_person(person, file, **by(request))
    name = f"person-{person.pk}.zip"
    return FileResponse(file, as_attachment=True, filename=name, content_type="application/zip")
