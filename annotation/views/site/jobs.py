from __future__ import annotations

from django.db.models.functions import Lower
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from annotation.discussion.selected_questions import outcome_of_job
from annotation.jobs.access import facts_of_result, jobs_of, may_manage, refusals_of
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


@anyone
@require_GET
def healthz(request: HttpRequest) -> HttpResponse:
    """State of database, storage and worker as JSON; 503 when the site cannot store an answer."""
    health = health_of_site(at=timezone.now())
    response = JsonResponse(health.as_json(), status=200 if health.can_store else 503)
    response["Cache-Control"] = "no-store"
    return response
