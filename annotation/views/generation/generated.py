"""Runs in which a model wrote questions from reports: the list of a bank, and one run. No word of a report."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET
from django.views.decorators.vary import vary_on_headers

from annotation.enums import Role
from annotation.generation.generation_progress import GenerationProgress
from annotation.models import GenerationRun, QuestionBank
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, role_required

MOST_LISTED = 100


@role_required(Role.COORDINATOR)
@require_GET
def generation_runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The newest runs of a bank."""
    bank = get_object_or_404(QuestionBank, slug=slug)
    runs = GenerationRun.objects.filter(bank=bank).select_related("bullets_batch", "created_by")[:MOST_LISTED]
    return render(request, "annotation/generation/list.html", {"bank": bank, "runs": runs})


@role_required(Role.COORDINATOR)
@require_GET
@vary_on_headers("HX-Request")
def generation_run(request: AuthenticatedRequest, slug: str, public_id: str) -> HttpResponse:
    """What was made of which reports, and what was not made by which rule."""
    runs = GenerationRun.objects.select_related(
        "bank", "bullets_batch__prompt", "questions_batch", "questions_prompt", "bank_import", "created_by"
    )
    run = get_object_or_404(runs, bank__slug=slug, public_id=public_id)
    context = {"bank": run.bank, "run": run, "progress": GenerationProgress(run)}
    template = "_run.html" if asks_for_part(request) else "run.html"
    return render(request, f"annotation/generation/{template}", context)
