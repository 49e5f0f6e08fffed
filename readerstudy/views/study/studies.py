"""Reader studies as coordinators see them: the list, and the page of one."""

from __future__ import annotations

from django.db.models import Count
from django.db.models.functions import Lower
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotation.enums import Role
from annotation.models import QuestionBank
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import Columns, by_rank, sorted_page
from annotation.views.site.confirming import run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required, role_required
from readerstudy.design.creating import create_study
from readerstudy.design.indications import statement_on
from readerstudy.design.kernels.plan import Plan
from readerstudy.design.kernels.rules import read_rules
from readerstudy.enums import Information, StudyState
from readerstudy.forms.studies import StudyForm
from readerstudy.predictions.listing import runs_known_to
from readerstudy.study.deadlines import study_deadline_text
from readerstudy.study.overview import lines_of, n_newer_wordings
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.unblinding.looks import is_over, looks_before_closing
from readerstudy.views.design.drafts import next_of, steps_of
from readerstudy.views.results.overview import first_results
from readerstudy.views.study.access import listed_studies, overseen_study

PER_PAGE = 25
SORTED_BY: Columns = {
    "study": Lower("name"),
    "state": by_rank("state", StudyState.values()),
    "bank": Lower("bank__name"),
    "made": "created_at",
}


@person_required
@require_GET
def studies(request: AuthenticatedRequest) -> HttpResponse:
    """All studies for coordinators of the site and administrators; for others those that they coordinate."""
    archived = "archived" in request.GET
    rows = listed_studies(request.user).filter(archived_at__isnull=not archived).order_by("-created_at")
    table = sorted_page(request.GET, rows, SORTED_BY, PER_PAGE)
    context = {
        **table,
        "lines": lines_of(table["page"].object_list),
        "archived": archived,
        "may_create": is_coordinator(request.user),
        "has_banks": QuestionBank.objects.filter(archived_at__isnull=True).exists(),
    }
    return render(request, "readerstudy/design/list.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def study_new(request: AuthenticatedRequest) -> HttpResponse:
    """A draft with a name and a bank; everything else is decided step by step."""
    form = StudyForm(request.POST if request.method == "POST" else None, initial={"bank": request.GET.get("bank")})
    if request.method == "POST" and form.is_valid():
        plan = Plan(name=form.cleaned_data["name"], bank=form.cleaned_data["bank"].slug)
        made = run_on_form(form, lambda: create_study(plan, **by(request)), field="name")
        if made is not None:
            return redirect("study-cases", made.slug)
    context = {"form": form, "has_banks": form.fields["bank"].queryset.exists()}  # type: ignore[attr-defined]
    return render(request, "readerstudy/design/new.html", context, status=422 if form.errors else 200)


@person_required
@require_GET
def study_models(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The predictions of models for the cases of one study."""
    found = overseen_study(request.user, slug)
    runs = runs_known_to(request.user).filter(study=found).order_by("entry__name", "entry__version", "number")
    context = {
        "study": found,
        "runs": runs,
        "coordinates": may_coordinate_study(request.user, found),
        "takes_several_files": is_coordinator(request.user) and found.state != StudyState.DRAFT,
    }
    return render(request, "readerstudy/studies/models.html", context)


@person_required
@require_GET
def study(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One study: its state, its design in short, how far its readers are, and what comes next."""
    found = overseen_study(request.user, slug)
    [line] = lines_of([found])
    coordinates = may_coordinate_study(request.user, found)
    arms = list(found.arms.all())
    shows_indications = any(arm.information == Information.INDICATION for arm in arms)
    context = {
        "study": found,
        "line": line,
        "sets": list(found.sets.annotate(n_cases=Count("cases"))),
        "arms": arms,
        "shows_indications": shows_indications,
        "statement": statement_on(found) if shows_indications else None,
        "rules": read_rules(found.rules),
        "deadline": study_deadline_text(found),
        "coordinates": coordinates,
        "n_newer": n_newer_wordings(found),
        "is_draft": found.state == StudyState.DRAFT,
        "steps": steps_of(found, n_cases=line.n_cases),
        "next": next_of(line) if coordinates and not found.archived_at else None,
        "looks": looks_before_closing(found),
        "may_delete": coordinates and found.state == StudyState.DRAFT,
        "shows_results": coordinates and is_over(found),
    }
    if context["shows_results"]:
        context |= first_results(found, request.user)
    return render(request, "readerstudy/design/study.html", context)
