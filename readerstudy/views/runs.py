"""Runs of models: listed, planned, watched, beside each other; and the models on one bank, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.vary import vary_on_headers

from annotation.call_enums import CallOutcome, PromptPurpose
from annotation.endpoints.client import models_listed
from annotation.endpoints.configured_endpoints import EndpointRefused, endpoints
from annotation.ingest.serving import picture_bytes
from annotation.model_calls.versions import prompts_for
from annotation.models import QuestionBank, Revision, User
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import numbered_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.models import bank_compared, check_knows_scores, check_runs_models, run_of
from readerstudy.forms.leaderboard import HandInForm
from readerstudy.forms.models import ExplanationsForm, ModelRunCapForm, ModelRunForm
from readerstudy.leaderboard.access import runs_leaderboards
from readerstudy.model_runs.asked_questions import cautions, open_call, picture_of_call, readable_calls
from readerstudy.model_runs.following import RunProgress, estimate_rows, outlasts_permission, why_unknown
from readerstudy.model_runs.planning import needs_of_runs, plan_run, runs_seen_by, store_run, targets_to_run
from readerstudy.model_runs.publishing import is_plain, target_of_run
from readerstudy.models import ModelRun
from readerstudy.results.comparison_job import (
    TABLE_TYPES,
    TableForm,
    ask_for_comparison,
    banks_compared,
    comparison_under_way,
    newest_comparison,
    result_of,
    tables_of_bank,
    take_comparison,
)
from readerstudy.results.kernels.comparison_tables import band_rows
from readerstudy.views.access import as_file, person_page, stored

if TYPE_CHECKING:
    from readerstudy.results.variants import RunFamily

PER_PAGE = 50


@person_page("GET")
def model_runs(request: AuthenticatedRequest) -> HttpResponse:
    """All runs that this person may watch, newest first."""
    check_runs_models(request.user)
    page = numbered_page(request.GET, runs_seen_by(request.user), PER_PAGE)
    return render(request, "readerstudy/model_runs/list.html", {"page": page})


@person_page("GET", "HEAD", "POST")
@vary_on_headers("HX-Request")
def model_run_new(request: AuthenticatedRequest) -> HttpResponse:
    """Plan a run. Nothing is sent by it; what models the endpoint has, it is asked beside the page."""
    check_runs_models(request.user)
    if request.method == "GET" and asks_for_part(request):
        return render(request, "readerstudy/model_runs/_models_listed.html", _listed(request.GET.get("endpoint", "")))
    targets = targets_to_run(request.user)
    form = ModelRunForm(targets, request.POST if request.method == "POST" else None)
    if plan := stored(form, lambda: store_run(plan_run(form.wanted(), **by(request)), **by(request))):
        messages.success(request, _("The run is planned. Nothing was sent yet."))
        return redirect("model-run", plan.stored_run.batch.public_id)
    context = {"form": form, "has_endpoints": endpoints(), "has_targets": targets}
    context["needs"] = needs_of_runs(targets, timezone.now())
    context["has_prompts"] = prompts_for(PromptPurpose.ANSWER).exists()
    return render(request, "readerstudy/model_runs/new.html", context, status=422 if form.errors else 200)


def _listed(endpoint: str) -> dict[str, Any]:
    try:
        return {"names": models_listed(endpoint, at=timezone.now())}
    except EndpointRefused as refusal:
        return {"why": str(refusal)}


@person_page("GET", fresh=True)
@vary_on_headers("HX-Request")
def model_run(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One run: the plan with its estimate, then how far it is and what it cost."""
    run = run_of(request.user, public_id)
    template = "readerstudy/model_runs/_run.html" if asks_for_part(request) else "readerstudy/model_runs/run.html"
    return render(request, template, _context(run, request.user))


def _context(run: ModelRun, person: User) -> dict[str, Any]:
    found = RunProgress(run)
    estimate = found.estimate
    context: dict[str, Any] = {
        "run": run,
        "batch": run.batch,
        "found": found,
        "is_plain": is_plain(run),
        "shows_results": found.shows_results,
        "cap_form": ModelRunCapForm(initial={"cap": run.batch.cap}),
        "estimate": estimate,
    }
    if found.state == "complete" and found.is_for_benchmark and runs_leaderboards(person):
        context |= {"hand_in_form": HandInForm(run), "submissions": run.submissions.select_related("team__benchmark")}
    if found.state == "planned":
        is_unknown = estimate is None or estimate.cost is None
        context |= {
            "rows": estimate_rows(estimate.as_json() if estimate else {}, run.batch.n_calls, found.currency),
            "cautions": cautions(run),
            "outlasts": estimate is not None and outlasts_permission(run, estimate, timezone.now()),
            "cost_unknown": why_unknown(run, estimate) if is_unknown else "",
        }
    return context


# --- the raw answers of a run ---
@person_page("GET", fresh=True)
def model_run_calls(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Which calls there are and what became of each. It tells no answer, so that looking through it notes nothing."""
    run = run_of(request.user, public_id)
    asked = request.GET.get("outcome", "")
    outcome = CallOutcome(asked) if asked in CallOutcome.values() else None
    calls = readable_calls(run, request.user, outcome).select_related("revision__question")
    page = numbered_page(request.GET, calls, PER_PAGE)
    context = {"run": run, "found": RunProgress(run), "page": page, "outcome": outcome}
    return render(request, "readerstudy/model_runs/calls.html", context)


@person_page("GET", fresh=True)
def model_run_call(request: AuthenticatedRequest, public_id: str, number: int) -> HttpResponse:
    """One call word by word. That it was opened is stored."""
    run = run_of(request.user, public_id)
    opened = open_call(run, number, **by(request))
    return render(request, "readerstudy/model_runs/call.html", {"run": run, "opened": opened, "call": opened.call})


@person_page("GET", fresh=True)
def model_run_picture(request: AuthenticatedRequest, public_id: str, number: int, sha256: str) -> HttpResponse:
    """A picture as the model got it with this call."""
    run = run_of(request.user, public_id)
    if not picture_of_call(run, number, sha256, request.user):
        raise Http404
    return HttpResponse(picture_bytes(sha256), content_type="image/png")


SETTINGS = {
    "endpoint": gettext_lazy("endpoint"),
    "model": gettext_lazy("model"),
    "picture_policy": gettext_lazy("size of the pictures"),
}


@person_page("GET", fresh=True)
@vary_on_headers("HX-Request")
def model_run_variants(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Computed as a job when it is first asked for; the page looks again until it is there.

    The table beside reviewers is read at once, since it depends on who looks.
    """
    from readerstudy.results.variants import (
        family_of,
        image_need,  # loads numpy: not at every start
        tables_for,
    )

    run = run_of(request.user, public_id)
    family = family_of(run)
    context: dict[str, Any] = {"run": run, "family": family, "target": target_of_run(run)}
    if family.has_tables:
        found = tables_for(family, at=timezone.now())
        computing = not found.result and not found.error
        context |= {"result": _shown(found.result, family), "error": found.error, "computing": computing}
    if asks_for_part(request):
        return render(request, "readerstudy/model_runs/_variants.html", context)
    need = image_need(family, request.user)
    context |= {"need": need, "opens_questions": is_coordinator(request.user)}
    if need is not None:
        page = numbered_page(request.GET, need.right_without, PER_PAGE)
        wordings = Revision.objects.in_bulk([one.revision_id for one in page.object_list])
        context |= {"page": page, "listed": [(one, wordings[one.revision_id]) for one in page.object_list]}
    return render(request, "readerstudy/model_runs/variants.html", context)


def _shown(result: dict[str, Any] | None, family: RunFamily) -> dict[str, Any] | None:
    """Each entry with its runs beside their ids."""
    if result is None:
        return None
    runs = {run.batch.public_id: run for run in family.complete}
    named = {
        name: [
            {
                **row,
                "of": runs.get(row["run"]),
                "plain_run": runs.get(row.get("plain")),
                "differ": [SETTINGS.get(one, one) for one in row.get("other_settings", ())],
            }
            for row in result[name]
        ]
        for name in ("variants", "orders", "repeats")
    }
    return {**result, **named}


@person_page("GET", "HEAD", fresh=True)
def models_compare(request: AuthenticatedRequest) -> HttpResponse:
    """Of the bank that is asked for, else of the first one."""
    check_knows_scores(request.user)
    banks = list(banks_compared())
    asked = request.GET.get("bank", "")
    bank = next((one for one in banks if one.slug == asked or not asked), None)
    if bank is None and asked:
        raise Http404
    context: dict[str, Any] = {"banks": banks, "bank": bank, "may_compare": is_coordinator(request.user)}
    if bank is not None:
        context |= _compared(bank)
        if context["may_compare"]:
            context["explanations_form"] = ExplanationsForm(bank, request.user)
    return render(request, "readerstudy/models/compare.html", context)


def _compared(bank: QuestionBank) -> dict[str, Any]:
    from readerstudy.analysis.comparing_models import inputs_now  # loads numpy: not at every start

    comparison = newest_comparison(bank)
    context: dict[str, Any] = {"comparison": comparison, "job": comparison_under_way(bank)}
    if comparison is None:
        return context
    result = result_of(comparison)
    return {
        **context,
        "result": result,
        "is_stale": inputs_now(bank) != comparison.inputs_sha256,
        "bands": band_rows(result),
        "tables": tables_of_bank(result),
        "forms": list(TableForm),
    }


@person_page("POST")
def models_compare_start(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Ask for a comparison; one that waits or runs already is enough."""
    bank = bank_compared(request.user, slug)
    if not is_coordinator(request.user):
        raise PermissionDenied(_("Only coordinators compare models."))
    ask_for_comparison(bank, actor=request.user, at=timezone.now())
    messages.success(request, _("The comparison is running. It appears here when it is done."))
    return redirect(reverse("models-compare") + "?" + urlencode({"bank": bank.slug}))


@person_page("GET", "HEAD", fresh=True)
def models_compare_file(request: AuthenticatedRequest, slug: str, form: str) -> HttpResponse:
    """What the page shows: with full precision as CSV and XLSX, for print as DOCX and LaTeX."""
    bank = bank_compared(request.user, slug)
    comparison = newest_comparison(bank)
    if comparison is None or form not in set(TableForm):
        raise Http404
    file = take_comparison(comparison, TableForm(form), **by(request))
    response = HttpResponse(file, content_type=TABLE_TYPES[TableForm(form)])
    return as_file(response, f"{bank.slug}-models-{comparison.public_id}.{form}")
