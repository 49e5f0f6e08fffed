"""Reader studies as coordinators see them: the list, the page of one, and its data: tables as files, and readings that
were made elsewhere.
"""

from __future__ import annotations

import io

from django.contrib import messages
from django.db.models import Count
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods
from django.views.decorators.vary import vary_on_headers

from annotation.enums import Role
from annotation.models import QuestionBank
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import sorted_page
from annotation.tables.writing import CONTENT_TYPES, Format, write_codebook
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required
from readerstudy.acts.files import export_offers, table_file
from readerstudy.acts.studies import STUDIES_SORTED_BY, coordinated_study, listed_studies, overseen_study
from readerstudy.design.checking import statement_on
from readerstudy.design.creating import create_study
from readerstudy.design.kernels.documents import read_rules
from readerstudy.design.kernels.plan import Plan
from readerstudy.design.shown import priors_shown
from readerstudy.enums import Information, StudyState
from readerstudy.exports.exporting import (
    StudyTable,
    columns_of,
    may_take_source_ids,
)
from readerstudy.forms.studies import ReadingsForm, StudyForm
from readerstudy.models import ReaderStudy
from readerstudy.predictions.listing import runs_known_to
from readerstudy.predictions.looks import looks_before_closing, may_see_results
from readerstudy.reading.response_import import DeclaredFile, ResponsesImported, hash_of, import_responses
from readerstudy.study.overview import lines_of, n_newer_wordings, next_of_study, study_deadline_text
from readerstudy.study.permissions import may_coordinate_study
from readerstudy.views.access import as_file, person_page, stored
from readerstudy.views.design.drafts import steps_of
from readerstudy.views.results.overview import analyses_of, first_results


@person_page("POST", fresh=True)
def study_export(request: AuthenticatedRequest, slug: str, table: str, form: str) -> FileResponse:
    """One table in one of the formats; written whole before the first byte is sent, so that none is cut short.

    A POST, since taking answers unblinds the study. ``source_ids`` asks for the ids of the imported file as well.
    """
    study = coordinated_study(request.user, slug)
    return table_file(study, table, form, by(request), source_ids="source_ids" in request.POST)


@person_page("GET", fresh=True)
def study_data(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The tables and the stored analyses of a study, and the link to import readings."""
    study = coordinated_study(request.user, slug)
    is_draft = study.state == StudyState.DRAFT
    context = {
        "study": study,
        "exports": [] if is_draft else export_offers(study),
        "offers_own_ids": may_take_source_ids(study),
        "analyses": None if is_draft else analyses_of(study),
    }
    return render(request, "readerstudy/studies/data.html", context)


@person_page("GET")
def study_codebook(request: AuthenticatedRequest, slug: str, table: str) -> HttpResponse:
    """What each column of a table means."""
    study = coordinated_study(request.user, slug)
    if table not in StudyTable.values():
        raise Http404
    text = io.BytesIO()
    write_codebook(text, columns_of(study, StudyTable(table), source_ids=may_take_source_ids(study)))
    codebook = HttpResponse(text.getvalue(), content_type=CONTENT_TYPES[Format.CSV])
    return as_file(codebook, f"{study.slug}-{table}-codebook.csv")


# --- readings of elsewhere: checked first, stored when somebody has looked at that ----------------
STORE = "store"
SHOWN = 200  # refused rows


@person_page("GET", "HEAD", "POST", fresh=True)
@vary_on_headers("HX-Request")
def study_import(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The form, and what the file would do; the result alone for HTMX. Nothing of the file is kept but its rows."""
    study = coordinated_study(request.user, slug)
    form = ReadingsForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    result = _taken(request, study, form) if form.is_valid() else None
    if result is not None and result.stored:
        sentence = ngettext("%(n)s reading is stored.", "%(n)s readings are stored.", result.created)
        messages.success(request, sentence % {"n": result.created})
        return redirect("study-watch", slug)
    is_fragment = asks_for_part(request)
    context = {
        "study": study,
        "form": form,
        "result": result,
        "problems": result.problems[:SHOWN] if result is not None else [],
        "voiding_problems": result.voiding_problems[:SHOWN] if result is not None else [],
        "n_shown": SHOWN,
        "is_draft": study.state == StudyState.DRAFT,
        "is_fragment": is_fragment,
    }
    if is_fragment:  # HTMX shows nothing of a 422
        return render(request, "readerstudy/studies/_import_result.html", context)
    status = 422 if form.errors or (result is not None and result.is_refused) else 200
    return render(request, "readerstudy/studies/import.html", context, status=status)


def _taken(request: AuthenticatedRequest, study: ReaderStudy, form: ReadingsForm) -> ResponsesImported:
    """Check the file; store it where it is the one whose check was looked at."""
    file, voidings = form.cleaned_data["file"], form.cleaned_data["voidings"]
    content: bytes = file.read()
    declared = DeclaredFile(voidings.name, voidings.read()) if voidings else None
    stores = request.POST.get("do") == STORE
    was_seen = form.cleaned_data["seen"] == hash_of(content, declared)
    if stores and not was_seen:
        form.add_error(None, _("This file is not the one that was checked: check the preview again, then save it."))
    return import_responses(
        study, name=file.name, content=content, **by(request), dry_run=not (stores and was_seen), declared=declared
    )


# --- Reader studies as coordinators see them: the list, and the page of one -----------------------
PER_PAGE = 25


@person_page("GET")
def studies(request: AuthenticatedRequest) -> HttpResponse:
    """All studies for coordinators of the site and administrators; for others those that they coordinate."""
    archived = "archived" in request.GET
    rows = listed_studies(request.user).filter(archived_at__isnull=not archived).order_by("-created_at")
    table = sorted_page(request.GET, rows, STUDIES_SORTED_BY, PER_PAGE)
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

    def create() -> ReaderStudy:
        plan = Plan(name=form.cleaned_data["name"], bank=form.cleaned_data["bank"].slug)
        return create_study(plan, **by(request))

    if made := stored(form, create, field="name"):
        return redirect("study-cases", made.slug)
    context = {"form": form, "has_banks": form.fields["bank"].queryset.exists()}  # type: ignore[attr-defined]
    return render(request, "readerstudy/design/new.html", context, status=422 if form.errors else 200)


@person_page("GET")
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


@person_page("GET")
def study(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """One study: its state, its design in short, how far its readers are, and what comes next."""
    found = overseen_study(request.user, slug)
    [line] = lines_of([found])
    coordinates = may_coordinate_study(request.user, found)
    arms = list(found.arms.all())
    shows_results = coordinates and may_see_results(found)
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
        "named": found.coordinators.select_related("user").order_by("granted_at", "pk"),
        "n_newer": n_newer_wordings(found),
        "n_with_prior": priors_shown(found).order_by().values("case").distinct().count(),
        "is_draft": found.state == StudyState.DRAFT,
        "steps": steps_of(found, n_cases=line.n_cases),
        "next": next_of_study(line) if coordinates else None,
        "looks": looks_before_closing(found),
        "may_delete": coordinates and found.state == StudyState.DRAFT,
        "shows_results": shows_results,
    }
    if shows_results:
        context |= first_results(found, request.user)
    return render(request, "readerstudy/design/study.html", context)
