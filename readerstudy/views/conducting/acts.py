"""What a coordinator does with a study: one act for each address, confirmed where it cannot be undone."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST

from annotation.models import User
from annotation.site.permissions import is_coordinator
from annotation.views.site.bin import delete_or_ask
from annotation.views.site.confirming import Confirmation, is_confirmed, is_possible_or_flash, run_on_form
from annotation.views.site.decorators import AuthenticatedRequest, by, person_required
from readerstudy.conducting.lifecycle import archive, bring_back, close_study, open_study
from readerstudy.design.creating import copy_study
from readerstudy.forms.studies import CopyForm
from readerstudy.models import ReaderStudy
from readerstudy.study.deadlines import unfinished
from readerstudy.study.locking import StudyRefused
from readerstudy.views.study.access import confirm_in_study, coordinated_study


class Act(Protocol):
    def __call__(self, study: ReaderStudy, /, *, actor: User, at: datetime) -> object: ...


def _asked_and_done(
    request: AuthenticatedRequest, slug: str, act: Act, done: str, *, title: str = "", sentences: Sequence[str] = ()
) -> HttpResponse:
    """Do it, after asking where there is a title; then the page of the study, where a refusal is read."""
    study = coordinated_study(request.user, slug)
    if title and not is_confirmed(request):
        back = reverse("study", args=[slug])
        asked = Confirmation(title=title, sentences=list(sentences), label=title, back=back, is_danger=False)
        return confirm_in_study(request, study, asked)
    if is_possible_or_flash(request, lambda: act(study, **by(request))):
        messages.success(request, done)
    return redirect("study", slug)


@person_required
@require_POST
def study_open(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    sentences = (
        _("Once the study is open, every invited reader can begin. A submitted answer is final."),
        _("Results stay hidden until the study is closed. To see them before takes a reason, which is recorded."),
    )
    done = _("The study is open: its readers can read now.")
    return _asked_and_done(request, slug, open_study, done, title=_("Open the study"), sentences=sentences)


@person_required
@require_POST
def study_archive(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    sentences = (_("It is removed from the lists; all data are kept, and it can be restored."),)
    done = _("The study is archived.")
    return _asked_and_done(request, slug, archive, done, title=_("Archive the study"), sentences=sentences)


@person_required
@require_POST
def study_bring_back(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    return _asked_and_done(request, slug, bring_back, _("The study is back."))


@person_required
@require_POST
def study_close(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Close, after a page that says how many readers are not done."""
    study = coordinated_study(request.user, slug)
    if not is_confirmed(request):
        return confirm_in_study(request, study, _about_closing(study, unfinished(study).count()))
    agreed = request.POST.get("confirmed_open", "0")
    confirmed = int(agreed) if agreed.isascii() and agreed.isdigit() and len(agreed) < 10 else 0
    try:
        close_study(study, **by(request), confirmed_open=confirmed)
    except StudyRefused as refusal:
        if refusal.code == "not_complete":
            return confirm_in_study(request, study, _about_closing(study, refusal.facts["n_open"]))
        messages.error(request, str(refusal))
    else:
        messages.success(request, _("The study is closed."))
    return redirect("study", slug)


def _about_closing(study: ReaderStudy, n_open: int) -> Confirmation:
    sentences = [_("After closing nobody can answer any more, and a closed study does not open again.")]
    label = _("Close the study")
    if n_open:
        sentence = ngettext("%(n)d reader is not done yet.", "%(n)d readers are not done yet.", n_open)
        sentences.insert(0, sentence % {"n": n_open})
        label = ngettext("Close without %(n)d reader", "Close without %(n)d readers", n_open) % {"n": n_open}
    return Confirmation(
        title=_("Close the study"),
        sentences=sentences,
        label=label,
        back=reverse("study", args=[study.slug]),
        sent={"confirmed_open": n_open},
    )


@person_required
@require_POST
def study_copy(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """A new draft of the same design, under a name of its own."""
    study = coordinated_study(request.user, slug)
    form = CopyForm(request.POST) if is_confirmed(request) else CopyForm.of(study)
    if form.is_valid():
        name = form.cleaned_data["name"]
        copied = run_on_form(form, lambda: copy_study(study, name=name, **by(request)), field="name")
        if copied is not None:
            messages.success(request, _("This is the copy: a draft that can be changed."))
            return redirect("study", copied.slug)
    status = 422 if form.errors else 409
    return render(request, "readerstudy/design/copy.html", {"study": study, "form": form}, status=status)


@person_required
@require_POST
def study_delete(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Only a draft: whatever was frozen stays. Who coordinated only this study has no list of studies any more."""
    then = "studies" if is_coordinator(request.user) else "bin"
    return delete_or_ask(request, coordinated_study(request.user, slug), then)
