"""Model entries: the list, one with its runs, history and repeatability, and what is changed of it; and predictions:
send a file, look at what would happen, store it; one run, named or withdrawn.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from annotation.ingest.uploading import note_report_taken
from annotation.jobs.queueing import JobRefused
from annotation.model_calls.kernels.extraction import RULE
from annotation.models import Job, QuestionBank, Upload, User
from annotation.site.permissions import is_coordinator
from annotation.site.sorted_tables import sorted_page
from annotation.views.site.confirming import flashed, refusals_on
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.models import (
    MODELS_SORTED_BY,
    changeable_entry,
    check_enters_models,
    check_lists_models,
    import_of,
    imports_of,
    known_entry,
    known_run,
    listed_entry,
)
from readerstudy.enums import EntryState
from readerstudy.forms.models import MOST_FILES, ModelForm, PredictionsForm, SeveralPredictionsForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.model_runs.publishing import changed_letters
from readerstudy.models import ModelEntry, SubmissionCall
from readerstudy.predictions import uploads
from readerstudy.predictions.entries import (
    edit_model,
    enter_model,
    has_named_runs,
    history_of,
    knows_scores,
    replace_model,
    withdraw_model,
)
from readerstudy.predictions.kernels.records import PredictionsRefused
from readerstudy.predictions.listing import entries_known_to, failed_of, lines_of, runs_known_to, targets_for
from readerstudy.study.permissions import coordinates_a_study, may_change_model, may_enter_models
from readerstudy.views.access import as_file, person_page, stored

PER_PAGE = 50
SHOWN = 200


@person_page("GET")
def models(request: AuthenticatedRequest) -> HttpResponse:
    """All models for coordinators and administrators; for others those that they entered."""
    check_lists_models(request.user)
    table = sorted_page(request.GET, entries_known_to(request.user), MODELS_SORTED_BY, PER_PAGE)
    context = {
        **table,
        "lines": lines_of(table["page"].object_list, request.user),
        "may_enter": may_enter_models(request.user),
        "may_run": is_coordinator(request.user) or coordinates_a_study(request.user),
        "knows_scores": knows_scores(request.user),
    }
    if is_coordinator(request.user):
        open_banks = set(SubmissionCall.objects.values_list("bank", flat=True))
        banks = QuestionBank.objects.filter(archived_at__isnull=True)
        context["calls"] = [(bank, bank.pk in open_banks) for bank in banks]
    return render(request, "readerstudy/models/list.html", context)


@person_page("GET", "HEAD", "POST")
def model_new(request: AuthenticatedRequest) -> HttpResponse:
    check_enters_models(request.user)
    form = ModelForm(request.POST if request.method == "POST" else None)
    if entry := stored(form, lambda: enter_model(form.cleaned_data, **by(request))):
        messages.success(request, _("The model is entered. Send its predictions next."))
        return redirect("model", entry.public_id)
    return render(request, "readerstudy/models/edit.html", {"form": form}, status=422 if form.errors else 200)


@person_page("GET")
def model(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """What an entry says of its model, its runs, and everything that happened to it."""
    from readerstudy.analysis.comparing_models import targets_of  # loads numpy: not at every start

    entry = known_entry(request.user, public_id)
    runs = list(runs_known_to(request.user).filter(entry=entry).order_by("-study", "bank", "number"))
    context = {
        "entry": entry,
        "runs": runs,
        "made_here": [RunProgress(run) for run in runs_seen_by(request.user).filter(entry=entry)[:PER_PAGE]],
        "is_repeated": bool(targets_of(runs)),
        "history": history_of(entry, {run.public_id for run in runs}),
        "may_change": entry.state == EntryState.LISTED and may_change_model(request.user, entry),
    }
    return render(request, "readerstudy/models/model.html", context)


@person_page("GET", "HEAD", "POST")
def model_edit(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Correct the description of a model; another version of it is a replacement."""
    entry = changeable_entry(request.user, public_id)
    form = ModelForm(request.POST) if request.method == "POST" else ModelForm.of(entry)
    if stored(form, lambda: edit_model(entry, form.cleaned_data, **by(request))):
        messages.success(request, _("Saved. The earlier version is in the history."))
        return redirect("model", public_id)
    context = {"form": form, "entry": known_entry(request.user, public_id)}
    return render(request, "readerstudy/models/edit.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
def model_replace(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Another entry in the place of this one; it begins without predictions."""
    entry = changeable_entry(request.user, public_id)
    form = ModelForm(request.POST) if request.method == "POST" else ModelForm.of(entry)
    if made := stored(form, lambda: replace_model(entry, form.cleaned_data, **by(request))):
        messages.success(request, _("This entry replaces the old one. Send its predictions next."))
        return redirect("model", made.public_id)
    context = {"form": form, "entry": known_entry(request.user, public_id), "replacing": True}
    context["leaves_figures"] = has_named_runs(entry)
    return render(request, "readerstudy/models/edit.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
def model_withdraw(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    entry = changeable_entry(request.user, public_id)
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if stored(form, lambda: withdraw_model(entry, form.cleaned_data["reason"], **by(request))):
        messages.success(request, _("The model is withdrawn. Nothing of it was deleted."))
        return redirect("model", public_id)
    context = {"form": form, "entry": entry, "leaves_figures": has_named_runs(entry)}
    return render(request, "readerstudy/models/withdraw.html", context, status=422 if form.errors else 200)


# --- how well a model repeats itself on one bank or study -----------------------------------------
@person_page("GET", "HEAD", fresh=True)
@vary_on_headers("HX-Request")
def model_repeatability(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """On the bank or study that the address names, else on the first one with several live runs.

    Computed as a job when it is first asked for; the page looks again until it is there.
    """
    from readerstudy.analysis.comparing_models import repeatability_for, repeated_targets

    entry = known_entry(request.user, public_id)
    targets = repeated_targets(entry, request.user)
    asked = request.GET.get("on", "")
    target = next((one for one in targets if one.name == asked or not asked), None)
    if target is None and asked:
        raise Http404
    context: dict[str, Any] = {"entry": entry, "targets": targets, "target": target}
    if target is not None and not target.is_hidden:
        found = repeatability_for(request.user, target, at=timezone.now())
        context |= {"result": found.result, "error": found.error, "computing": not found.result and not found.error}
    is_fragment = asks_for_part(request)
    template = "readerstudy/models/_repeatability.html" if is_fragment else "readerstudy/models/repeatability.html"
    return render(request, template, context)


# --- files of predictions and what comes of them --------------------------------------------------
@person_page("GET", "HEAD", "POST")
def prediction_import_new(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """The form; a good one begins the check, which stores nothing."""
    entry = listed_entry(request.user, public_id)
    targets = targets_for(request.user)
    given = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = PredictionsForm(targets, *given, initial={"target": request.GET.get("target", "")})
    if request.method == "POST" and form.is_valid():
        asked, file = _asked_of(entry, form), form.cleaned_data["file"]
        with refusals_on(form):
            upload = uploads.receive_file(file.chunks(), file.name, asked=asked, **by(request))
            return redirect("prediction-import", upload.public_id)
    context = {"entry": entry, "form": form, "has_targets": bool(targets)}
    return render(request, "readerstudy/models/import_new.html", context, status=422 if form.errors else 200)


@person_page("GET", "HEAD", "POST")
@vary_on_headers("HX-Request")
def predictions_import(request: AuthenticatedRequest) -> HttpResponse:
    """Files of several models: sent at once, then looked at side by side. The address names what was sent."""
    _check_coordinates(request.user)
    if request.method != "POST" and request.GET.getlist("file"):
        return _several(request)
    targets = targets_for(request.user)
    given = (request.POST, request.FILES) if request.method == "POST" else (None, None)
    form = SeveralPredictionsForm(targets, *given, initial={"target": request.GET.get("target", "")})
    if request.method == "POST" and form.is_valid() and (sent := _receive(form, request.user)):
        return redirect(f"{reverse('predictions-import')}?{urlencode([('file', one.public_id) for one in sent])}")
    context = {"form": form, "has_targets": bool(targets)}
    return render(request, "readerstudy/models/imports_new.html", context, status=422 if form.errors else 200)


def _receive(form: SeveralPredictionsForm, person: User) -> list[Upload]:
    """The files with their checks begun; none of them where one belongs to no model, which the form then says."""
    asked = []
    for file in form.cleaned_data["predictions"]:
        try:
            asked.append((file, _asked_of(uploads.entry_of_file(file.name, Path(file.temporary_file_path())), form)))
        except PredictionsRefused as refusal:
            form.add_error("predictions", f"{file.name}: {refusal}")
    if form.errors:
        return []
    now = timezone.now()
    return [uploads.receive_file(file.chunks(), file.name, asked=one, actor=person, at=now) for file, one in asked]


def _asked_of(entry: ModelEntry, form: PredictionsForm) -> uploads.UploadRequest:
    sent = form.cleaned_data
    return uploads.UploadRequest(entry, sent["target"], sent["form"], sent["duplicates"])


def _asked(sent: QueryDict) -> list[str]:
    return list(dict.fromkeys(sent.getlist("file")))[:MOST_FILES]


def _several(request: AuthenticatedRequest) -> HttpResponse:
    found = imports_of(request.user, _asked(request.GET))
    rows = [_row(upload, job) for upload, job in found]
    context = {
        "rows": rows,
        "target": found[0][1].params["target"],
        "running": any(one["running"] for one in rows),
        "has_errors": any(one["result"].get("errors") for one in rows),
        "n_ready": sum(one["may_store"] for one in rows),
        "query": urlencode([("file", upload.public_id) for upload, _job in found]),
    }
    template = "readerstudy/models/_imports.html" if asks_for_part(request) else "readerstudy/models/imports.html"
    return render(request, template, context)


def _row(upload: Upload, job: Job) -> dict[str, Any]:
    """Where the import of one file is."""
    return {
        "upload": upload,
        "job": job,
        "result": job.result or {},
        "is_store": job.kind == uploads.STORE,
        "running": job.is_unfinished,
        "may_store": uploads.may_store(job),
    }


@person_page("POST")
def predictions_import_store(request: AuthenticatedRequest) -> HttpResponse:
    """Store what was checked and found good; the others stay where they are."""
    _check_coordinates(request.user)
    sent = _asked(request.POST)
    for one in sent:
        upload, job = import_of(request.user, one)
        if uploads.may_store(job):
            try:
                uploads.store_checked(upload, **by(request))
            except JobRefused as refusal:
                messages.error(request, f"{job.params['name']}: {refusal}")
    return redirect(f"{reverse('predictions-import')}?{urlencode([('file', one) for one in sent])}")


def _check_coordinates(person: User) -> None:
    if not is_coordinator(person):
        raise PermissionDenied(_("This page is for people who coordinate the site."))


@person_page("GET")
@vary_on_headers("HX-Request")
def prediction_import(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """How far the import of one file is: being checked, checked, being stored, stored."""
    upload, job = import_of(request.user, public_id)
    context = {**_row(upload, job), "asked": job.params, "sees_jobs": is_coordinator(request.user)}
    template = "readerstudy/models/_import.html" if asks_for_part(request) else "readerstudy/models/import.html"
    return render(request, template, context)


@person_page("POST")
def prediction_import_store(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    upload, _job = import_of(request.user, public_id)
    with flashed(request):
        uploads.store_checked(upload, **by(request))
    return redirect("prediction-import", public_id)


@person_page("GET")
def prediction_import_report(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """Everything that was found in the file, to keep."""
    upload, job = import_of(request.user, public_id)
    if job.result is None:
        raise Http404(_("There is no report yet."))
    note_report_taken(upload, **by(request))
    report = JsonResponse(job.result, json_dumps_params={"indent": 1, "ensure_ascii": False})
    return as_file(report, f"predictions-{public_id}.json")


@person_page("GET")
def prediction_run(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """One run: what the file contained, every answer that could not be read, whether it is the main run."""
    run = known_run(request.user, public_id)
    failed = failed_of(run)
    context = {
        "run": run,
        "entry": run.entry,
        "failed": list(failed[:SHOWN]),
        "missing": run.report.get("missing", [])[:SHOWN],
        "unknown": run.report.get("unknown", [])[:SHOWN],
        "form": ReasonForm(),
        "changed": changed_letters(run),
        "read_again": run.entry.runs.filter(report__read_from=run.public_id).first() if run.rule != RULE else None,
        "rule": RULE,
        "may_change": run.entry.state == EntryState.LISTED and may_change_model(request.user, run.entry),
    }
    return render(request, "readerstudy/models/run.html", context)
