"""Model entries: the list, one with its runs, history and repeatability, and what is changed of it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.vary import vary_on_headers

from annotation.models import QuestionBank, User
from annotation.models.fields import AsRead
from annotation.site.permissions import is_administrator, is_coordinator
from annotation.site.sorted_tables import Columns, sorted_page
from annotation.views.site.decorators import AuthenticatedRequest, asks_for_part, by
from readerstudy.acts.models import changeable_entry, known_entry
from readerstudy.enums import EntryState
from readerstudy.forms.models import ModelForm
from readerstudy.forms.studies import ReasonForm
from readerstudy.model_runs.following import RunProgress
from readerstudy.model_runs.planning import runs_seen_by
from readerstudy.models import SubmissionCall
from readerstudy.predictions.entries import (
    edit_model,
    enter_model,
    has_named_runs,
    history_of,
    knows_scores,
    replace_model,
    withdraw_model,
)
from readerstudy.predictions.listing import entries_known_to, lines_of, runs_known_to
from readerstudy.study.permissions import coordinates_a_study, may_change_model, may_enter_models
from readerstudy.views.access import person_page, stored

PER_PAGE = 50
SORTED_BY: Columns = {"model": AsRead("name"), "version": "version", "state": "state", "who": AsRead("submitter__name")}


@person_page("GET")
def models(request: AuthenticatedRequest) -> HttpResponse:
    """All models for coordinators and administrators; for others those that they entered."""
    check_lists_models(request.user)
    table = sorted_page(request.GET, entries_known_to(request.user), SORTED_BY, PER_PAGE)
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
    from readerstudy.results.comparing_models import targets_of  # loads numpy: not at every start

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


def check_enters_models(person: User) -> None:
    """Raises PermissionDenied."""
    if not may_enter_models(person):
        raise PermissionDenied(_("This page is for people who coordinate studies or submit models."))


def check_lists_models(person: User) -> None:
    """As ``check_enters_models``; administrators look on."""
    if not is_administrator(person):
        check_enters_models(person)


# --- how well a model repeats itself on one bank or study -----------------------------------------
@person_page("GET", "HEAD", fresh=True)
@vary_on_headers("HX-Request")
def model_repeatability(request: AuthenticatedRequest, public_id: str) -> HttpResponse:
    """On the bank or study that the address names, else on the first one with several live runs.

    Computed as a job when it is first asked for; the page looks again until it is there.
    """
    from readerstudy.results.comparing_models import repeatability_for, repeated_targets

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
