"""The pages of whoever keeps the site running: health, backups, settings, jobs, and the bin."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST, require_safe
from django.views.decorators.vary import vary_on_headers

from annotation.audit import deleting as acts
from annotation.backup import figures
from annotation.backup.taking import JOB_KIND, ask_for_backup, is_backup_due, kept_backups
from annotation.enums import Role
from annotation.jobs.queueing import JOBS_SORTED_BY, facts_of_result, job_under_way, jobs_of, may_manage, refusals_of
from annotation.models import Assignment, Job, QuestionBank, ReviewRound, SamplingPlan, Upload, User
from annotation.people.revived import end_revived, revived
from annotation.people.roles import held_roles
from annotation.refusals import Refused
from annotation.review.selected_questions import outcome_of_job
from annotation.site.health import Health, health_of_site, parts_of_site, seen_workers, state_of_workers, versions
from annotation.site.permissions import is_administrator, site_roles
from annotation.site.sorted_tables import BoundedPaginator, sorted_page
from annotation.views.site.confirming import Confirmation, confirm, flashed, is_confirmed, said
from annotation.views.site.decorators import (
    ROLES,
    AuthenticatedRequest,
    anyone,
    asks_for_part,
    by,
    person_required,
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
    with flashed(request) as say:
        say(end_revived(keeps=keeps, **by(request)))
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


JOBS_PER_PAGE = 50


@person_required
@require_GET
def job_list(request: AuthenticatedRequest) -> HttpResponse:
    jobs = jobs_of(request.user).defer("params", "result")  # of an act on a whole bank they are long
    context = sorted_page(request.GET, jobs, JOBS_SORTED_BY, JOBS_PER_PAGE, BoundedPaginator)
    if is_administrator(request.user):
        at = timezone.now()
        workers = seen_workers(at)
        context |= {"workers": workers, "state_of_workers": state_of_workers(at)}
        context["n_silent"] = sum(is_silent for _worker, is_silent, _is_followed in workers)
    return render(request, "annotation/jobs/list.html", context)


@person_required
@require_GET
@vary_on_headers("HX-Request")
def job_detail(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    job = get_object_or_404(jobs_of(request.user), public_id=public_id)
    template = "annotation/jobs/_job.html" if asks_for_part(request) else "annotation/jobs/detail.html"
    outcome = outcome_of_job(job) if job.created_by_id == request.user.pk else None
    context = {
        "job": job,
        "outcome": outcome,
        "facts": _facts_in_words(job),
        "refusals": refusals_of(job),
        "may_manage": may_manage(request.user, job),
    }
    return render(request, template, context)


WORDS_OF_RESULTS = {
    "created": gettext_lazy("Created"),
    "rejected": gettext_lazy("Refused"),
    "images_refused": gettext_lazy("Images"),
    "made": gettext_lazy("Questions written"),
    "finished": gettext_lazy("Finished"),
    "unread": gettext_lazy("Answers that could not be read"),
    "different": gettext_lazy("Numbers that differ"),
}
IDS_OF_RESULTS = ("analysis", "report", "comparison", "run", "upload", "images_upload")  # for programs


def _facts_in_words(job: Job) -> dict[str, Any]:
    """For people: no names of fields, no ids, no hashes."""
    answers = {True: _("yes"), False: _("no")}
    return {
        str(WORDS_OF_RESULTS.get(name) or name.removeprefix("n_").replace("_", " ").capitalize()): answers[value]
        if isinstance(value, bool)
        else value
        for name, value in facts_of_result(job).items()
        if name not in IDS_OF_RESULTS and not name.endswith("sha256")
    }


@anyone
@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """Whether the site serves, as JSON: 503 when it cannot store an answer or no worker takes jobs.

    Why: to administrators and by the token, and to Prometheus by the token as figures.
    """
    at = timezone.now()
    health = health_of_site(at=at)
    told = health.as_json()
    may_read = _may_read(request, health)
    response: HttpResponse
    if may_read and request.get_preferred_type(["application/json", figures.TYPE]) == figures.TYPE:
        response = HttpResponse(figures.figures(health, at=at), content_type=f"{figures.TYPE}; charset=utf-8")
    else:
        told = told if may_read else {"status": told["status"]}
        response = JsonResponse(told, status=200 if health.is_served else 503)
    response["Cache-Control"] = "no-store"
    setattr(response, "_has_been_logged", True)  # noqa: B010 - who asks every few seconds needs no line for each
    return response


def _may_read(request: HttpRequest, health: Health) -> bool:
    """The token is asked for first: without a database nobody is known."""
    sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    has_token = bool(settings.HEALTH_TOKEN) and constant_time_compare(sent, settings.HEALTH_TOKEN)
    return has_token or (health.database == "ok" and is_administrator(request.user))


@person_required
@require_safe
def bin_page(request: AuthenticatedRequest) -> HttpResponse:
    """What was deleted in the last 30 days, as far as this person may restore it."""
    if not acts.opens(request.user):
        raise PermissionDenied(_("The bin holds nothing that you may restore. Ask a coordinator of the site."))
    rows = [(acts.bin_kinds()[one.kind].label, one) for one in acts.contents(request.user)]
    return render(request, "annotation/bin.html", {"rows": rows, "n_days": acts.KEPT_FOR.days})


@person_required
@require_POST
def bin_restore(request: AuthenticatedRequest, kind: str, pk: int) -> HttpResponse:
    row = acts.find_deleted(kind, pk)
    if row is None or not acts.may_restore(request.user, row):
        raise Http404
    with flashed(request):
        acts.restore(row, **by(request))
        return said(request, _("“%(name)s” is restored.") % {"name": row}, *address_of(row))
    return redirect("bin")


def address_of(row: acts.Row) -> tuple[str, str]:
    """The page of a row: the name of its route, and its parameters."""
    named: Any = row
    return acts.kind_of(row), named.public_id if isinstance(row, Upload) else named.slug


def delete_or_ask(request: AuthenticatedRequest, row: acts.Row, to: str) -> HttpResponse:
    """Ask first, with what follows; then move the row into the bin. ``to``: the page that is shown then."""
    page = address_of(row)
    try:
        if not is_confirmed(request):
            acts.check_deletable(row)
            return confirm(request, _confirmation(row, reverse(page[0], args=[page[1]])))
        acts.move_to_bin(row, **by(request))
    except Refused as refusal:
        messages.error(request, str(refusal))
        return redirect(*page)
    sentence = _("“%(name)s” is in the bin; it can be restored there for %(n)s days.")
    return said(request, sentence % {"name": row, "n": acts.KEPT_FOR.days}, to)


def _confirmation(row: acts.Row, back: str) -> Confirmation:
    label = {
        "bank": _("Delete the bank"),
        "sample": _("Delete the sample"),
        "round": _("Delete the round"),
        "upload": _("Delete the upload"),
    }.get(acts.kind_of(row)) or _("Delete: %(kind)s") % {"kind": acts.bin_kinds()[acts.kind_of(row)].label}
    last = _(
        "It goes into the bin, where you and coordinators of the site can restore it for %(n)s days. Then it is "
        "deleted for good."
    )
    sentences = [*_consequences(row), last % {"n": acts.KEPT_FOR.days}]
    return Confirmation(title=label, sentences=sentences, label=label, back=back, about=str(row))


def _consequences(row: acts.Row) -> list[str]:
    """What nobody sees any more, in numbers."""
    if consequences := acts.bin_kinds()[acts.kind_of(row)].consequences:
        return consequences(row)
    if isinstance(row, QuestionBank):
        n = row.questions.count()
        hidden = ngettext("%(n)s question is hidden everywhere", "%(n)s questions are hidden everywhere", n)
        return [_("%(hidden)s, with keys, explanations and reports.") % {"hidden": hidden % {"n": f"{n:,}"}}]
    if isinstance(row, SamplingPlan):
        n = row.questions.count()
        return [
            ngettext(
                "The list of %(n)s drawn question is hidden; the question stays.",
                "The list of %(n)s drawn questions is hidden; the questions stay.",
                n,
            )
            % {"n": f"{n:,}"}
        ]
    if isinstance(row, ReviewRound):
        n = Assignment.objects.filter(round=row).values("reviewer").distinct().count()
        lost = ngettext("%(n)s reviewer loses the questions of this round", "%(n)s reviewers lose its questions", n)
        return [lost % {"n": n} + ".", _("Its invitation links stop working. Restored, it is a draft again.")]
    return [_("Its report is hidden. Images that came in stay.")]
