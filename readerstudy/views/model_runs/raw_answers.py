"""The raw answers of a run: the list of its calls without what they say, and one call with everything."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from annotation.call_enums import CallOutcome
from annotation.ingest.model_pictures import picture_bytes
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.acts.model_runs import run_of
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.raw_answers import open_call, picture_of_call, readable_calls

PER_PAGE = 50


@person_required
@never_cache
@require_GET
def model_run_calls(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Which calls there are and what became of each. It tells no answer, so that looking through it notes nothing."""
    run = run_of(request.user, public_id)
    asked = request.GET.get("outcome", "")
    outcome = CallOutcome(asked) if asked in CallOutcome.values() else None
    calls = readable_calls(run, request.user, outcome).select_related("revision__question")
    page = numbered_page(request.GET, calls, PER_PAGE)
    context = {"run": run, "found": RunProgress(run), "page": page, "outcome": outcome}
    return render(request, "readerstudy/model_runs/calls.html", context)


@person_required
@never_cache
@require_GET
def model_run_call(request: AuthenticatedRequest, public_id: str, number: int) -> HttpResponse:
    """One call word by word. That it was opened is stored."""
    run = run_of(request.user, public_id)
    opened = open_call(run, number, **by(request))
    return render(request, "readerstudy/model_runs/call.html", {"run": run, "opened": opened, "call": opened.call})


@person_required
@never_cache
@require_GET
def model_run_picture(request: AuthenticatedRequest, public_id: str, number: int, sha256: str) -> HttpResponse:
    """A picture as the model got it with this call."""
    run = run_of(request.user, public_id)
    if not picture_of_call(run, number, sha256, request.user):
        raise Http404
    return HttpResponse(picture_bytes(sha256), content_type="image/png")
