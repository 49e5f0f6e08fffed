"""Where the indications that readers will see are read, before somebody states that none gives an answer away."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from annotation.views.site.decorators import AuthenticatedRequest, person_required
from readerstudy.design.conflicts import note_study_keys
from readerstudy.design.indications import cases_with_information, shows_indications
from readerstudy.views.design.drafts import step_context
from readerstudy.views.study.access import coordinated_study

PER_PAGE = 50


@person_required
@require_GET
def study_indications(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """All of them, or those in which the rule marks words. Keys stand beside them: for coordinators alone."""
    study = coordinated_study(request.user, slug)
    told = cases_with_information(study) if shows_indications(study) else []
    if told:
        note_study_keys(study, actor=request.user, at=timezone.now())
    with_text = [one for one in told if one.indication]
    marked = [one for one in with_text if one.hint]
    only_marked = "marked" in request.GET
    page = Paginator(marked if only_marked else with_text, PER_PAGE).get_page(request.GET.get("page"))
    context = step_context(
        request,
        study,
        "study-freeze",
        title=_("Indications"),
        page=page,
        only_marked=only_marked,
        n=len(with_text),
        n_marked=len(marked),
        without=[one.case for one in told if not one.indication],
        are_shown=bool(told) or shows_indications(study),
    )
    return render(request, "readerstudy/design/indications.html", context)
