"""The step before freezing: what a reader goes through, page by page, without anything being stored."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.conducting.rehearsing import MOST_MAIN
from readerstudy.design.indications import indication_notes
from readerstudy.design.kernels.rules import read_rules
from readerstudy.design.overview import lines_of
from readerstudy.enrolment.consenting import consent_text
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.design.drafts import step_context
from readerstudy.views.study.access import overseen_study


@person_required
@require_GET
def study_dry_run(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Information for readers and asked before their first case, and the way into the cases."""
    study = overseen_study(request.user, slug)
    may_walk = may_coordinate_study(request.user, study)
    [line] = lines_of([study])
    context = step_context(
        request,
        study,
        "study-dry-run",
        line=line,
        consent=consent_text(study),
        rules=read_rules(study.rules),
        n_shown=MOST_MAIN,
        was_done="done" in request.GET,
        may_walk=may_walk,
        notes=indication_notes(study) if may_walk else [],
    )
    return render(request, "readerstudy/design/dry_run.html", context)
