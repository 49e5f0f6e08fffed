"""The People page, for administrators; and the audit log: looked up, checked, taken."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.enums import Role
from annotation.forms.people import AuditLogForm, PeopleSearchForm, PersonForm, RoleForm
from annotation.models import Membership, User
from annotation.models.fields import AsRead
from annotation.people import accounts, event_log, mailing, roles, second_factors
from annotation.people.accounts import parts_of, people_matching
from annotation.people.event_log import address_of
from annotation.people.invitations import open_invitations, revoked_invitations
from annotation.people.open_work import n_open_assignments
from annotation.site.permissions import is_administrator
from annotation.site.sentences import number_written
from annotation.site.sorted_tables import Columns, sorted_page
from annotation.views.site.confirming import Confirmation, confirm, flashed, is_confirmed, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, person_required, role_required

PEOPLE_PER_PAGE = 50
SORTED_BY: Columns = {"name": AsRead("name"), "email": "email", "log-in": "last_login"}


WHO_INVITES = _(
    "Administrators manage people and invite to the site. Coordinators invite reviewers on the page of a round, and "
    "readers on the page of a study."
)


@role_required(Role.ADMINISTRATOR, refusal=WHO_INVITES)
@require_safe
@vary_on_headers("HX-Request")
def people(request: AuthenticatedRequest) -> HttpResponse:
    """Everybody, searchable by name and address, and the invitations that are open."""
    form = PeopleSearchForm(request.GET)
    search = form.cleaned_data["q"] if form.is_valid() else ""
    context: dict[str, Any] = {"form": form, "search": search}
    context |= sorted_page(request.GET, people_matching(search), SORTED_BY, PEOPLE_PER_PAGE)
    parts = parts_of([one.pk for one in context["page"]])
    context["rows"] = [(one, parts.get(one.pk, [])) for one in context["page"]]
    if asks_for_part(request):
        return render(request, "annotation/people/_people_list.html", context)
    context |= {"invitations": open_invitations(timezone.now()), "revoked": revoked_invitations(timezone.now())}
    return render(request, "annotation/people/people.html", context)


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def person_add(request: AuthenticatedRequest) -> HttpResponse:
    """Make an account and show the one-time link with which its owner sets a password."""
    form = PersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            person = accounts.add_person(**form.cleaned_data, **by(request))
            return _show_password_link(request, person)
    return render(request, "annotation/people/person_add.html", {"form": form}, status=422 if form.errors else 200)


@role_required(Role.ADMINISTRATOR)
@require_safe
def person(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    return _person_page(request, get_object_or_404(User, pk=pk), RoleForm())


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_grant(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Give a role on the site or in a round."""
    somebody = get_object_or_404(User, pk=pk)
    form = RoleForm(request.POST)
    if form.is_valid():
        role, review_round = form.cleaned_data["role"], form.cleaned_data["round"]
        with refusals_on(form):
            roles.grant(somebody, role, review_round=review_round, **by(request))
            return said(request, _("The role is given."), "person", pk)
    return _person_page(request, somebody, form)


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_withdraw(request: AuthenticatedRequest, pk: int, membership: int) -> HttpResponse:
    """Take a role away, after saying what follows."""
    somebody = get_object_or_404(User, pk=pk)
    removed = get_object_or_404(somebody.memberships.select_related("round"), pk=membership)
    if not is_confirmed(request):
        return confirm(request, _removal_of(removed))
    with flashed(request) as say:
        roles.withdraw(somebody, Role(removed.role), review_round=removed.round, **by(request))
        say(_("The role is removed. It can be given back below for %(n)s days.") % {"n": roles.UNDO_FOR.days})
    return redirect("person", pk)


def _removal_of(membership: Membership) -> Confirmation:
    label = _("Remove the role")
    about = {
        "name": membership.user,
        "role": membership.get_role_display(),
        "where": membership.round or _("whole site"),
    }
    sentences = [_("%(name)s will no longer be %(role)s (%(where)s). Work that is done stays.") % about]
    if membership.role in (Role.ADMINISTRATOR, Role.COORDINATOR):
        sentences.append(_("Invitation links that this person gave out stop working."))
    sentences.append(_("The role can be given back from the page of the person."))
    back = reverse("person", args=[membership.user_id])
    return Confirmation(title=label, sentences=sentences, label=label, back=back, about=str(membership.user))


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_competences(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """Which categories and tasks a reviewer is for, one in a line."""
    somebody = get_object_or_404(User, pk=pk)
    with flashed(request) as say:
        words = request.POST.get("competences", "").splitlines()
        stored = accounts.set_competences(somebody, words, **by(request))
        these = _("%(name)s is given questions of these only: %(words)s.")
        sentence = these if stored else _("%(name)s may be given every question.")
        say(sentence % {"name": somebody, "words": ", ".join(stored)})
    return redirect("person", pk)


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_deactivate(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    somebody = get_object_or_404(User, pk=pk)
    with flashed(request) as say:
        accounts.deactivate(somebody, **by(request))
        say(_("This account may not log in any more. Roles and work are kept."))
    return redirect("person", pk)


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_reactivate(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    somebody = get_object_or_404(User, pk=pk)
    accounts.reactivate(somebody, **by(request))
    return said(request, _("This account may log in again."), "person", pk)


@role_required(Role.ADMINISTRATOR)
@require_POST
def person_factors_reset(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """For somebody who has lost phone, key and recovery codes; confirmed first, since it opens the account a little."""
    somebody = get_object_or_404(User, pk=pk)
    if somebody.pk == request.user.pk:
        messages.error(request, _("Your own second factor is changed on your profile."))
        return redirect("person", pk)
    if not is_confirmed(request):
        return confirm(request, _factors_reset(somebody))
    with flashed(request) as say:
        sentence = _("There was no second factor.")
        if second_factors.reset(somebody, **by(request)):
            sentence = _("The second factor is taken away. Tell %(name)s to set up a new one.") % {"name": somebody}
        say(sentence)
    return redirect("person", pk)


def _factors_reset(somebody: User) -> Confirmation:
    label = _("Take the second factor away")
    sentences = [
        _("The password alone lets %(name)s in then: be sure that it is %(name)s who asks.") % {"name": somebody},
        _("Passkeys, app and recovery codes stop working. An e-mail tells the person, where a mail server is set up."),
        _("Their access tokens stop working, and they are logged out everywhere."),
    ]
    back = reverse("person", args=[somebody.pk])
    return Confirmation(title=label, sentences=sentences, label=label, back=back, about=str(somebody))


@role_required(Role.ADMINISTRATOR)
@never_cache
@require_POST
def person_password_link(request: AuthenticatedRequest, pk: int) -> HttpResponse:
    """A new one-time link for somebody who cannot log in."""
    return _show_password_link(request, get_object_or_404(User, pk=pk, is_active=True))


def _person_page(request: HttpRequest, somebody: User, form: RoleForm) -> HttpResponse:
    context = {
        "person": somebody,
        "is_self": somebody.pk == request.user.pk,
        "memberships": somebody.memberships.select_related("round", "granted_by").order_by("round_id", "role"),
        "parts": parts_of([somebody.pk]).get(somebody.pk, []),
        "removed": roles.removed_roles(somebody, timezone.now()),
        "competences": "\n".join(somebody.competences.values_list("word", flat=True)),
        "n_waiting": n_open_assignments(somebody),
        "has_factor": second_factors.has_factor(somebody),
        "form": form,
    }
    return render(request, "annotation/people/person.html", context, status=422 if form.errors else 200)


def _show_password_link(request: AuthenticatedRequest, somebody: User) -> HttpResponse:
    link = accounts.issue_password_link(somebody, **by(request))
    context = {"person": somebody, "link": link, "was_sent": mailing.send_password_link(somebody, link)}
    return render(request, "annotation/people/password_link.html", context)


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
        after=number_written(request.GET.get("after", ""), digits=18) or 0,
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
    with flashed(request):
        rows = event_log.export_log(after=0, **by(request))
        response = StreamingHttpResponse(rows, content_type="application/jsonl; charset=utf-8")
        name = f"audit-log-{timezone.now():%Y%m%d-%H%M%S}.jsonl"
        response["Content-Disposition"] = f'attachment; filename="{name}"'
        return response
    return redirect("audit-log")


@role_required(Role.ADMINISTRATOR)
@require_safe
def audit_thing(request: AuthenticatedRequest, kind: str, name: str) -> HttpResponse:
    """Leads to the page of what an event is about."""
    address = address_of(kind, name)
    if address is None:
        raise Http404(_("This is not there any more, or has no page."))
    return redirect(address)
