"""Prompts by version, and runs in which a model writes questions with them.

What reviewers said of the questions of a prompt: their comments, of which a person ticks what the next version
answers, and the history of its versions.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Count
from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from django.views.decorators.vary import vary_on_headers
from msgspec import Struct

from annotation.acts.files import table_response
from annotation.call_enums import PromptPurpose, ReportSource
from annotation.endpoints.configured_endpoints import endpoints
from annotation.enums import KeySource, Role
from annotation.forms.bank import QuestionSearchForm
from annotation.forms.model_endpoints import GenerationForm, PromptForm
from annotation.generation.generation_plans import (
    begin_generation,
    missing_for,
    plan_generation,
)
from annotation.generation.generation_progress import GenerationProgress
from annotation.generation.report_sources import FoundReport, GenerationRefused
from annotation.model_calls.call_batches import act_named
from annotation.model_calls.kernels.filling import KNOWN
from annotation.model_calls.versions import Sides, next_version, side_by_side
from annotation.models import AnswerKey, CallBatch, Exam, GenerationRun, PromptVersion, QuestionBank
from annotation.models.fields import AsRead
from annotation.outcomes.held_reports import held_shown_to
from annotation.outcomes.prompt_flags import (
    GENERATING,
    MOST_COMMENTS,
    commented_questions,
    drafted_reason,
    flagged_comments,
    prompt_flags,
)
from annotation.outcomes.prompt_line import COLUMNS, MEASURED, prompt_line, rows_of
from annotation.questionbank.answers import note_seen_keys
from annotation.site.permissions import is_coordinator
from annotation.statistics.kernels.issues import first_review_of_paper, later_errors_of_paper
from annotation.tables.writing import Format, write_digested
from annotation.views.site.confirming import flashed, refusals_on, said
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by, role_required


class ComparedPart(Struct, frozen=True):
    """A part of two versions, such as their texts."""

    label: str
    sides: Sides
    is_same: bool


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def prompts(request: AuthenticatedRequest) -> HttpResponse:
    """Every name with its versions, the newest first."""
    versions = PromptVersion.objects.select_related("author").order_by(AsRead("name"), "-number")
    found = list(versions.defer("instruction", "text", "schema"))
    used = _n_batches(found)
    rows = [(one, used.get(one.pk, 0)) for one in found]
    return render(request, "annotation/prompts/list.html", {"rows": rows})


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def prompt(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One version, everything as it is sent."""
    version = get_object_or_404(PromptVersion.objects.select_related("author", "parent"), public_id=public_id)
    holds = KNOWN[PromptPurpose(version.purpose)]
    versions = list(PromptVersion.objects.filter(name=version.name).order_by("-number").defer("text", "instruction"))
    may_write = is_coordinator(request.user)
    beside = [one for one in versions if one.pk in (version.pk, version.parent_id)]
    context = {
        "version": version,
        "versions": [(one, *sorted((one, version), key=lambda each: each.number)) for one in versions],
        "variables": [(name, _(holds[name]) if name in holds else "") for name in version.variables],
        "n_batches": _n_batches([version]).get(version.pk, 0),
        "may_write": may_write,
        "flags": prompt_flags(beside, request.user) if may_write and version.purpose in GENERATING else None,
    }
    return render(request, "annotation/prompts/version.html", context)


@role_required(Role.COORDINATOR, Role.ADMINISTRATOR)
@require_GET
def prompt_difference(request: AuthenticatedRequest, public_id: str, other: str) -> HttpResponse:
    """Two versions side by side: what the first one has and the second one has not, and the reverse."""
    versions = PromptVersion.objects.select_related("author")
    before, after = (get_object_or_404(versions, public_id=one) for one in (public_id, other))
    context = {"before": before, "after": after, "shown": (before, after), "parts": _compared(before, after)}
    return render(request, "annotation/prompts/difference.html", context)


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def prompt_next(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """A new version that begins as a copy of this one, its reason as the comments that were ticked."""
    parent = get_object_or_404(PromptVersion, public_id=public_id)
    form = PromptForm(parent, request.POST or None, reason=_drafted(request, parent))
    if request.method == "POST" and form.is_valid():
        data, who = form.cleaned_data, by(request)
        with refusals_on(form):
            made = next_version(parent, **data, **who)
            return said(request, _("Stored as %(prompt)s.") % {"prompt": made}, "prompt", made.public_id)
    context = {"parent": parent, "form": form}
    return render(request, "annotation/prompts/next.html", context, status=422 if form.errors else 200)


def _drafted(request: AuthenticatedRequest, parent: PromptVersion) -> str:
    """The draft of the reason; empty where nothing is ticked, and for what this person may not know."""
    ticked = [int(one) for one in request.GET.getlist("quote") if one.isdecimal() and len(one) < 19]
    comments = flagged_comments(parent, request.user, only=ticked) if ticked and request.method == "GET" else []
    if not comments:
        return ""
    return drafted_reason(prompt_flags([parent], request.user), [one.text for one in comments])


def _n_batches(versions: list[PromptVersion]) -> dict[int, int]:
    rows = CallBatch.objects.filter(prompt__in=versions).order_by().values_list("prompt").annotate(n=Count("pk"))
    return dict(rows)


def _compared(before: PromptVersion, after: PromptVersion) -> list[ComparedPart]:
    old, new = _texts(before), _texts(after)
    return [
        ComparedPart(label, side_by_side(old[label], new[label]), old[label] == new[label])
        for label in old
        if old[label] or new[label]
    ]


def _texts(version: PromptVersion) -> dict[str, str]:
    return {
        _("Instruction"): version.instruction,
        _("Text"): version.text,
        _("Variables"): ", ".join(version.variables),
        _("Images"): version.get_images_display(),
        _("Schema of the answer"): version.schema,
    }


@role_required(Role.COORDINATOR)
@require_GET
def prompt_comments(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """A comment may name the key: whoever reads it has seen it, and does not review the question any more."""
    version = _generating(public_id)
    comments = flagged_comments(version, request.user)
    questions = commented_questions(comments)
    note_seen_keys(request.user, questions, source=KeySource.REVIEWS, subject=version, at=timezone.now())
    context = {"version": version, "comments": comments, "is_cut": len(comments) == MOST_COMMENTS}
    return render(request, "annotation/prompts/comments.html", context)


@role_required(Role.COORDINATOR)
@require_GET
def prompt_history(request: AuthenticatedRequest, public_id: str) -> HttpResponse | FileResponse:
    """All versions of the name, the newest first, and beside them what the paper counted; as CSV where asked for."""
    version = _generating(public_id)
    versions = PromptVersion.objects.filter(name=version.name).select_related("author", "parent").order_by("-number")
    flags = prompt_flags(list(versions.defer("text", "instruction", "schema")), request.user)
    lines = prompt_line(flags)
    if request.GET.get("form") == Format.CSV:
        name = f"prompt-{version.public_id}"
        return table_response(name, Format.CSV, lambda file: write_digested(file, COLUMNS, rows_of(lines), Format.CSV))
    context = {
        "version": version,
        "flags": flags,
        "lines": lines,
        "measured": MEASURED,
        "paper": first_review_of_paper(),
        "later": later_errors_of_paper(),
    }
    return render(request, "annotation/prompts/history.html", context)


def _generating(public_id: str) -> PromptVersion:
    """A version that makes findings or questions: no other has reviews."""
    version = get_object_or_404(PromptVersion, public_id=public_id)
    if version.purpose not in GENERATING:
        raise Http404
    return version


MOST_LISTED = 100
MOST_CHOSEN = 2_000  # exams of a filtered list
FIRST_ASKED = 20  # exams of a bank, until a person says another number


@role_required(Role.COORDINATOR)
@require_http_methods(["GET", "HEAD", "POST"])
def generation_runs(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The newest runs of a bank. A new one is planned first, which sends nothing, and then started.

    Reports that are held back are shown with what looks like an identifier, which may be masked.
    """
    bank, who = get_object_or_404(QuestionBank, slug=slug), by(request)
    form = GenerationForm(request.POST or None, request.FILES or None, initial=_chosen_exams(request, bank))
    plan, held = None, list[FoundReport]()
    if request.method == "POST" and form.is_valid():
        with refusals_on(form):
            try:
                found = plan_generation(form.wanted(bank), at=who["at"])
                plan = begin_generation(found, **who) if "start" in request.POST else found
            except GenerationRefused as refusal:
                held = list(refusal.held)
                raise
    if plan is not None and plan.run is not None:
        sentence = _("Started: a worker asks the model for the findings of each report.")
        return said(request, sentence, "generation-run", slug, plan.run.public_id)
    runs = GenerationRun.objects.filter(bank=bank).select_related("bullets_batch", "created_by")[:MOST_LISTED]
    context = {"bank": bank, "runs": runs, "form": form, "plan": plan, "has_endpoints": bool(endpoints())}
    if plan is not None:
        context["facts"] = plan.as_json()
        held = plan.found.masked or plan.found.held
    context["shown"] = held_shown_to(request.user, bank, held, at=who["at"]) if held else []
    context |= {"n_held": len(held), "is_masked": plan is not None and bool(plan.found.masked)}
    context["missing"] = [] if bank.archived_at else missing_for(bank, at=who["at"])
    return render(request, "annotation/generation/list.html", context, status=422 if form.errors else 200)


def _chosen_exams(request: AuthenticatedRequest, bank: QuestionBank) -> dict[str, Any]:
    """The exams with a report of a filtered list of questions, where the address names filters."""
    search = QuestionSearchForm(request.GET, bank, request.user, offers_all=False).search()
    if not search.wanted:
        return {"exams": Exam.objects.filter(bank=bank)[:FIRST_ASKED].count()}
    with_report = AnswerKey.objects.filter(report__isnull=False).values("pk")
    exams = search.revisions().filter(pk__in=with_report).order_by("question__exam__pseudonym")
    names = exams.values_list("question__exam__pseudonym", flat=True).distinct()[:MOST_CHOSEN]
    return {"source": ReportSource.CHOSEN, "chosen": "\n".join(names)}


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


@role_required(Role.COORDINATOR)
@require_POST
def generation_run_act(request: AuthenticatedRequest, slug: str, public_id: str, act: str) -> HttpResponse:
    """Pause, resume or stop the calls that are asked at the moment."""
    runs = GenerationRun.objects.select_related("bullets_batch", "questions_batch")
    run = get_object_or_404(runs, bank__slug=slug, public_id=public_id)
    batch = run.questions_batch or run.bullets_batch
    with flashed(request) as say:
        act_named(batch, act, **by(request))
        say(_("Done: the run is %(state)s.") % {"state": batch.get_state_display()})
    return redirect("generation-run", slug, public_id)
