from __future__ import annotations

from django.contrib import messages
from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from django.views.decorators.vary import vary_on_headers

from annotation.discussion.selected_questions import outcome_of_job
from annotation.jobs import queueing
from annotation.jobs.access import check_may_manage, facts_of_result, jobs_of, may_manage, refusals_of
from annotation.jobs.handlers import JobRefused
from annotation.models import Job
from annotation.site.health import health_of_site
from annotation.site.sorted_tables import Columns, sorted_page
from annotation.views.site.decorators import AuthenticatedRequest, anyone, asks_for_part, person_required

JOBS_PER_PAGE = 50
SORTED_BY: Columns = {"job": Lower("title"), "state": "state", "who": Lower("created_by__name"), "when": "created_at"}


@person_required
@require_GET
def job_list(request: AuthenticatedRequest) -> HttpResponse:
    jobs = jobs_of(request.user).defer("params", "result")  # of an act on a whole bank they are long
    context = sorted_page(request.GET, jobs, SORTED_BY, JOBS_PER_PAGE)
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
        "facts": facts_of_result(job),
        "refusals": refusals_of(job),
        "may_manage": may_manage(request.user, job),
    }
    return render(request, template, context)


@person_required
@require_POST
def job_cancel(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    job = _managed_job(request, public_id)
    try:
        queueing.cancel(job, actor=request.user, at=timezone.now())
        messages.info(request, _("The job ends at its next step; what it has stored so far stays."))
    except JobRefused as refusal:
        messages.warning(request, str(refusal))
    return redirect("job", public_id)


@person_required
@require_POST
def job_retry(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    job = _managed_job(request, public_id)
    try:
        queueing.retry(job, actor=request.user, at=timezone.now())
    except JobRefused as refusal:
        messages.warning(request, str(refusal))
    return redirect("job", public_id)


def _managed_job(request: AuthenticatedRequest, public_id: str) -> Job:
    job = get_object_or_404(jobs_of(request.user), public_id=public_id)
    check_may_manage(request.user, job)
    return job


@anyone
@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """State of database, storage and worker as JSON; 503 when the site cannot store an answer."""
    health = health_of_site(at=timezone.now())
    response = JsonResponse(health.as_json(), status=200 if health.can_store else 503)
    response["Cache-Control"] = "no-store"
    return response
